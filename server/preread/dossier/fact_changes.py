"""What changed between two versions of a dossier: facts added, removed, moved or changed."""

import difflib
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from pydantic import Field

from preread.dossier import fact_text, sources
from preread.models import Model

ALIKE = 0.6  # two texts on the same lines with at least this similarity are one changed fact
Kind = Literal["added", "removed", "moved", "changed"]


class Known(Model):
    """A fact at a point in time."""

    id: str
    file: str
    text: str
    sources: tuple[str, ...]


class Change(Model):
    """A change of one fact."""

    kind: Kind
    now: Known | None = Field(None, description="None if it was removed.")
    was: Known | None = Field(None, description="None if it was added.")
    why: str = ""


Facts = dict[tuple[str, str], Known]  # by file and id


def compare(before: Facts, after: Facts) -> list[Change]:
    """The differences between two versions, in the order of `after`."""
    found = [
        Change(kind="moved", now=after[key], was=one)
        for key, one in before.items()
        if key in after and {*after[key].sources} != {*one.sources}
    ]
    old = [one for key, one in before.items() if key not in after]
    new = [one for key, one in after.items() if key not in before]
    for kind, is_pair in _PAIRS:
        for was in list(old):
            now = next((one for one in new if is_pair(was, one)), None)
            if now is not None:
                old.remove(was)
                new.remove(now)
                found.append(Change(kind=kind, now=now, was=was))
    found += [Change(kind="added", now=one) for one in new]
    return [*found, *(Change(kind="removed", was=one) for one in old)]


def _has_moved(was: Known, now: Known) -> bool:
    """Whether only the places in a fact's text differ, or its file."""
    return fact_text.without_places(was.text) == fact_text.without_places(now.text)


def _has_changed(was: Known, now: Known) -> bool:
    if was.file != now.file or not _paths(was) & _paths(now):
        return False
    return _are_alike(was.text, now.text)


@lru_cache(maxsize=4_096)  # a refresh asks twice: for the history of the facts, and for its reply
def _are_alike(was: str, now: str) -> bool:
    matcher = difflib.SequenceMatcher(None, was, now, autojunk=False)
    return matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE


def _paths(one: Known) -> set[str]:
    refs = (sources.parse(source) for source in one.sources)
    return {ref.path or ref.name for ref in refs if ref is not None}


_PAIRS: tuple[tuple[Kind, Callable[[Known, Known], bool]], ...] = (
    ("moved", _has_moved),
    ("changed", _has_changed),
)
