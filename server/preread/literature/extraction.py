"""Entities and relations of documents, by rules."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from preread import passages
from preread.documents.model import Document
from preread.documents.references import Reference, references
from preread.literature.model import Entity, EntityKind, Relation
from preread.literature.rules import ENTITIES, RELATIONS
from preread.sources import Ref

MAX_SOURCES = 20  # of one entity
THEORIES = 0.9  # confidence of a term of the schema that is there word for word


class Paper(NamedTuple):
    """A document at its path."""

    path: str
    document: Document

    def cite(self, part: int) -> str:
        return str(Ref("doc", self.path, part))

    @property
    def title(self) -> str:
        return self.document.about.get("title") or self.path


def entities(
    papers: Iterable[Paper],
    theories: Iterable[str],
    threshold: float,
    check: Callable[[], None],
) -> list[Entity]:
    """What the documents name, once each, the surest rule first. `theories` are given terms."""
    found: dict[tuple[EntityKind, str], Entity] = {}
    terms = list(theories)
    for paper in papers:
        check()
        for one in (*_authors(paper), *_cited(paper), *_named(paper, terms)):
            if one.confidence >= threshold:
                _add(found, one)
    return sorted(found.values(), key=lambda one: (-len(one.sources), one.kind, one.name))


def _add(found: dict[tuple[EntityKind, str], Entity], one: Entity) -> None:
    key = (one.kind, one.name.casefold())
    known = found.get(key)
    if known is None:
        found[key] = one
        return
    sources = tuple(dict.fromkeys((*known.sources, *one.sources)))[:MAX_SOURCES]
    best = max(known, one, key=lambda it: it.confidence)
    found[key] = known.model_copy(
        update={"sources": sources, "confidence": best.confidence, "rule": best.rule}
    )


def _authors(paper: Paper) -> Iterator[Entity]:
    given = paper.document.about.get("authors", "").replace(" and ", ";")
    for name in given.split(";" if ";" in given else ","):
        if len(name.split()) > 1:
            yield _entity("PERSON", name.strip(), 0.95, "metadata", paper.cite(1))


def _cited(paper: Paper) -> Iterator[Entity]:
    for one in references(paper.document):
        if one.title:
            yield _entity("WORK", one.title, 0.9, "reference", paper.cite(one.part))


def _named(paper: Paper, terms: list[str]) -> Iterator[Entity]:
    for number, part in enumerate(paper.document.parts, 1):
        text = " ".join(" ".join(part.lines).split())
        source = paper.cite(number)
        for rule in ENTITIES:
            for match in rule.pattern.finditer(text):
                yield _entity(rule.kind, match[1].strip(), rule.confidence, rule.name, source)
        folded = text.casefold()
        for term in terms:
            if term.casefold() in folded:
                yield _entity("THEORY", term, THEORIES, "schema", source)


def _entity(kind: EntityKind, name: str, confidence: float, rule: str, source: str) -> Entity:
    return Entity(kind=kind, name=name, confidence=confidence, rule=rule, sources=(source,))


def relations(
    papers: Iterable[Paper], known: Iterable[Entity], check: Callable[[], None]
) -> list[Relation]:
    """What documents cite, define, extend, contradict; and which entities each mentions."""
    every = list(papers)
    titles = {paper.title.casefold(): paper.title for paper in every}
    found: list[Relation] = []
    for paper in every:
        check()
        found += [
            _relation(paper.title, "cites", _known(one, titles), 0.9, "reference", paper, one.part)
            for one in references(paper.document)
            if one.title
        ]
        found += _said(paper)
    paths = {paper.path: paper.title for paper in every}
    for entity in known:
        by = dict.fromkeys(source[4:].rpartition("#")[0].strip("<>") for source in entity.sources)
        found += [
            Relation(source=paths[path], kind="mentions", target=entity.name,
                     confidence=entity.confidence, rule=entity.rule, sources=entity.sources)
            for path in by
            if path in paths and entity.kind != "WORK"
        ]  # fmt: skip
    return list({(one.source, one.kind, one.target): one for one in reversed(found)}.values())[::-1]


def _known(one: Reference, titles: dict[str, str]) -> str:
    """The title as the cited document writes it, if it is one of these."""
    return titles.get(one.title.casefold(), one.title)


def _said(paper: Paper) -> Iterator[Relation]:
    for number, part in enumerate(paper.document.parts, 1):
        for sentence in passages.sentences(part.lines):
            for rule in RELATIONS:
                for match in rule.pattern.finditer(sentence):
                    *source, target = match.groups()
                    yield _relation(
                        source[0] if source else paper.title, rule.kind, target,
                        rule.confidence, rule.name, paper, number, sentence,
                    )  # fmt: skip


def _relation(
    source: str, kind: str, target: str, confidence: float, rule: str, paper: Paper, part: int,
    quote: str = "",
) -> Relation:  # fmt: skip
    return Relation.model_validate(
        {"source": source, "kind": kind, "target": target, "confidence": confidence, "rule": rule,
         "sources": (paper.cite(part),), "quote": quote}
    )  # fmt: skip
