"""What the operations on working memory share."""

import json
import time
from collections import Counter
from itertools import combinations

from pydantic import Field

from preread.gates import attention
from preread.gates.attention import Event
from preread.infra import atomic
from preread.layout import Layout
from preread.models import Model
from preread.services import Services

# In how many pieces of work something has to occur to count as recurring.
OFTEN_NOTED, OFTEN_TOGETHER = 2, 3
MAX_PROPOSED = 10


class Item(Model):
    """Something that has attention."""

    what: str = Field(description="A file, a feature, or a note.")
    score: float
    kinds: tuple[str, ...] = Field(description="wrote, read, given, noted.")
    last: float = Field(description="When that last happened, in epoch seconds.")


class Change(Model):
    """A place where the work changed."""

    rule: str
    why: str
    at: float


class Proposal(Model):
    """Something that recurs, as a fact that could be kept."""

    text: str
    sources: tuple[str, ...] = ()
    why: str


def note(layout: Layout, kind: str, what: str) -> None:
    """Add an event by hand. Raises E_WRITE."""
    row = {"at": round(time.time(), 3), "kind": kind, "what": what}
    atomic.append(layout.working_memory, json.dumps(row).encode())


def events(services: Services) -> list[Event]:
    return attention.gather(str(services.layout.root))


def items(found: list[Event]) -> list[Item]:
    """What has attention now, the highest score first."""
    kinds: dict[str, dict[str, float]] = {}
    for event in found:
        if event.kind in attention.WEIGHTS:
            kinds.setdefault(event.what, {})[event.kind] = event.at
    return [
        Item(
            what=what,
            score=round(score, 3),
            kinds=tuple(kinds[what]),
            last=max(kinds[what].values()),
        )
        for what, score in attention.scores(found, time.time()).items()
    ]


def changes(found: list[Event]) -> list[Change]:
    """The places where the work changed, oldest first."""
    return [Change(rule=one.rule, why=one.why, at=one.at) for one in attention.boundaries(found)]


def pieces(found: list[Event]) -> list[list[Event]]:
    """The events of each piece of work, split where the work changed."""
    ends = [one.place for one in attention.boundaries(found)]
    return [
        found[start:end]
        for start, end in zip([0, *ends], [*ends, len(found)], strict=True)
        if start < end
    ]


def proposals(found: list[Event]) -> list[Proposal]:
    """What recurs in several pieces of work: notes, and files that are written together."""
    work = pieces(found)
    notes: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for piece in work:
        noted = {one.what for one in piece if one.kind == "noted" and " " in one.what}
        notes.update(noted)
        written = sorted({one.what for one in piece if one.kind == "wrote"})
        pairs.update(combinations(written[:50], 2))
    proposed = [
        Proposal(text=text, why=f"noted in {count} pieces of work")
        for text, count in notes.most_common()
        if count >= OFTEN_NOTED
    ]
    proposed += [
        Proposal(
            text=f"`{one}` and `{other}` change together",
            sources=(one, other),
            why=f"both written in {count} of {len(work)} pieces of work",
        )
        for (one, other), count in pairs.most_common()
        if count >= OFTEN_TOGETHER
    ]
    return proposed[:MAX_PROPOSED]
