"""Finds entities and relations in documents with a headless child, which must quote the text."""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, cast, get_args

from preread.agents import answers, run
from preread.agents.answers import Names
from preread.agents.budget import Budget
from preread.errors import PrereadError
from preread.gates import fence
from preread.gates.feature_names import PROJECT
from preread.infra import assets, atomic, db
from preread.infra.reading import plain_bytes
from preread.literature.extraction import Paper, joined
from preread.literature.model import Entity, EntityKind, Relation, RelationKind
from preread.services import Services

KIND = "reader"
CHARACTERS = 100_000  # of text for one run
ENTITIES = frozenset(get_args(EntityKind)) - {"DOCUMENT"}
RELATIONS = frozenset({"defines", "extends", "contradicts"})
CONFIDENCE = 0.8  # an estimate: the quote is checked, its interpretation is not


class Piece(NamedTuple):
    """Parts of a document for one run: their numbers and texts."""

    paper: Paper
    parts: dict[int, str]


class Read(NamedTuple):
    """What the child found in all documents, and how much was dropped."""

    entities: list[Entity]
    relations: list[Relation]
    dropped: int
    model: str
    cost_usd: float


def read(services: Services, papers: Sequence[Paper]) -> Read:
    """Have the child read documents; earlier results are cached.

    Raises E_AGENT, E_TIMEOUT, E_MONEY and Cancelled.
    """
    settings = services.settings
    budget = Budget(settings.max_usd, time.monotonic() + settings.child_seconds("full"))
    pieces = [piece for paper in papers for piece in _pieces(paper)]
    found = Read([], [], 0, "", 0.0)
    for number, piece in enumerate(pieces):
        services.progress.say(f"the model reads {piece.paper.path}", number, len(pieces))
        names, model = _names(services, budget, piece)
        entities, relations, dropped = verified(piece, names)
        found = Read(
            [*found.entities, *entities],
            [*found.relations, *relations],
            found.dropped + dropped,
            model,
            round(budget.used, 6),
        )
    return found


def _pieces(paper: Paper) -> Iterator[Piece]:
    parts: dict[int, str] = {}
    for number, part in enumerate(paper.document.parts, 1):
        text = "\n".join((part.title, *part.lines))[:CHARACTERS]
        if parts and sum(map(len, parts.values())) + len(text) > CHARACTERS:
            yield Piece(paper, parts)
            parts = {}
        parts[number] = text
    if any(text.strip() for text in parts.values()):
        yield Piece(paper, parts)


def _names(services: Services, budget: Budget, piece: Piece) -> tuple[Names, str]:
    """The child's answer about a piece, possibly cached, and its model."""
    instructions = assets.text(assets.folder("prompts") / "reader.md").strip()
    text = "\n\n".join(piece.parts.values())
    key = json.dumps([instructions, services.settings.model, text])
    name = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    place = db.place(services.layout).folder / "literature" / f"{name}.names.json"
    try:
        kept = json.loads(plain_bytes(place) or b"")
        return Names.model_validate(kept["names"]), str(kept["model"])
    except (ValueError, KeyError, TypeError):
        pass
    prompt = "\n\n".join((instructions, fence.block(text), answers.request(Names)))
    share = budget.reserve(1)
    settings = services.settings.model_copy(update={"max_usd": share})
    ended = run.run(
        replace(services, settings=settings),
        KIND,
        services.layout.root,
        prompt,
        seconds=budget.seconds,
        feature=PROJECT,
        form=Names,
    )
    budget.settle(share, ended.outcome.cost_usd)
    try:
        names = answers.read(Names, ended.text)
    except ValueError as error:
        raise PrereadError(
            "E_AGENT", f"The {KIND} agent failed: its answer cannot be used: {error}.",
            "Call again, or leave `by` out: rules need no model.", {"kind": KIND},
        ) from error  # fmt: skip
    value = {"names": names.model_dump(mode="json"), "model": ended.outcome.model}
    atomic.write(place, json.dumps(value, ensure_ascii=False).encode())
    return names, ended.outcome.model


def verified(piece: Piece, names: Names) -> tuple[list[Entity], list[Relation], int]:
    """The entities and relations whose quotes are in the text, and how many others there were."""
    texts = {number: plain(text) for number, text in piece.parts.items()}
    entities, relations = [], []
    for one in names.entities:
        place = _place_of(piece.paper, texts, one.quote, (one.name,))
        if place and one.kind in ENTITIES:
            entities.append(
                Entity(
                    kind=cast("EntityKind", one.kind),
                    name=plain(one.name),
                    confidence=CONFIDENCE,
                    rule="model",
                    sources=(place.source,),
                    lines=(place.line,),
                )
            )
    for link in names.relations:
        place = _place_of(piece.paper, texts, link.quote, (link.source or link.target, link.target))
        if place and link.kind in RELATIONS:
            relations.append(
                Relation(
                    source=plain(link.source) or piece.paper.title,
                    kind=cast("RelationKind", link.kind),
                    target=plain(link.target),
                    confidence=CONFIDENCE,
                    rule="model",
                    sources=(place.source,),
                    lines=(place.line,),
                    quote=plain(link.quote),
                )
            )
    said = len(names.entities) + len(names.relations)
    return entities, relations, said - len(entities) - len(relations)


def plain(text: str) -> str:
    """A text with all white space collapsed to single spaces."""
    return " ".join(text.split())


class _Place(NamedTuple):
    """The part that contains a quote, and the line that it begins on."""

    source: str
    line: int | None


def _place_of(
    paper: Paper, texts: dict[int, str], quote: str, names: Iterable[str]
) -> _Place | None:
    """Where the quote is, if it contains the names."""
    words = plain(quote)
    if not words or not all(plain(name) and plain(name) in words for name in names):
        return None
    part = next((part for part, text in texts.items() if words in text), None)
    if part is None:
        return None
    text, line_at = joined(paper.document.parts[part - 1].lines)
    at = text.find(words)  # a quote may begin in the part's title
    return _Place(paper.cite(part), line_at(at) if at >= 0 else None)
