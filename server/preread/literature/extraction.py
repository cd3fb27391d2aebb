"""Entities and relations of documents, by rules."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, combinations
from typing import NamedTuple

from preread import passages
from preread.documents.model import Document
from preread.documents.references import Reference, references, text_of
from preread.dossier.sources import Ref
from preread.literature.measured import confidence
from preread.literature.measures import Tell
from preread.literature.model import Entity, EntityKind, Relation, RelationKind
from preread.literature.rules import CODE, ENTITIES, RELATIONS, EntityRule

MAX_SOURCES = 20  # of one entity
MAX_TOGETHER = 8  # entities of one sentence; more would connect everything to everything
Vocabulary = Sequence[tuple[EntityKind, str]]  # terms from a schema
PRONOUNS = frozenset({"it", "that", "this", "which"})


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
    papers: Iterable[Paper], terms: Vocabulary, threshold: float, tell: Tell
) -> list[Entity]:
    """The documents' entities, each once, by the most confident rule; also those in `terms`."""

    def every() -> Iterator[Entity]:
        for paper in papers:
            yield from named(paper, terms, tell)

    return merged(every(), threshold)


def merged(entities: Iterable[Entity], threshold: float) -> list[Entity]:
    """Each name of a kind once, most frequent first, with the rule of highest confidence."""
    found: dict[tuple[EntityKind, str], Entity] = {}
    for one in entities:
        if one.confidence >= threshold:
            key = (one.kind, one.name.casefold())
            found[key] = _joined(found[key], one) if key in found else one
    return sorted(found.values(), key=lambda one: (-len(one.sources), one.kind, one.name))


def _joined(known: Entity, one: Entity) -> Entity:
    places = dict(zip(known.sources, known.lines, strict=True))
    for source, line in zip(one.sources, one.lines, strict=True):
        places[source] = places.get(source) or line
    kept = tuple(places)[:MAX_SOURCES]
    best = max(known, one, key=lambda it: it.confidence)
    return known.model_copy(
        update={"sources": kept, "lines": tuple(map(places.get, kept)),
                "confidence": best.confidence, "rule": best.rule}
    )  # fmt: skip


def named(paper: Paper, terms: Vocabulary, tell: Tell) -> Iterator[Entity]:
    """Each match of an entity rule, with its place."""
    yield from _authors(paper)
    yield from _cited(paper)
    yield from _in_text(paper, terms, tell)


def _authors(paper: Paper) -> Iterator[Entity]:
    given = paper.document.about.get("authors", "").replace(" and ", ";")
    for name in map(str.strip, given.split(";" if ";" in given else ",")):
        words = name.split()
        if len(words) > 1 and words[0][0].isupper() and words[-1][0].isupper():
            yield _entity("PERSON", name, "metadata", paper.cite(1), None)


def _cited(paper: Paper) -> Iterator[Entity]:
    for one in references(paper.document):
        if one.title:
            yield _entity("WORK", one.title, "reference", paper.cite(one.part), one.line)


def _in_text(paper: Paper, terms: Vocabulary, tell: Tell) -> Iterator[Entity]:
    given = [(kind, term, _word(term, re.IGNORECASE), "schema") for kind, term in terms]
    given += [("PERSON", it.name, _word(it.name), "author") for it in _authors(paper)]
    parts = text_of(paper.document)
    for number, lines in enumerate(parts, 1):
        tell(f"{paper.path}: what it names", number, len(parts))
        text, line_at = joined(lines)
        source = paper.cite(number)
        for rule, name, at in _matches(text):
            yield _entity(rule.kind, name, rule.name, source, line_at(at))
        for kind, name, pattern, rule_name in given:
            if match := pattern.search(text):
                yield _entity(kind, name, rule_name, source, line_at(match.start()))


def joined(lines: Sequence[str]) -> tuple[str, Callable[[int], int]]:
    """Lines joined by single blanks, and a function from an offset to its line."""
    plain = [" ".join(line.split()) for line in lines]
    numbers = [number for number, line in enumerate(plain, 1) if line]
    begins = list(accumulate((len(plain[number - 1]) + 1 for number in numbers), initial=0))
    text = " ".join(filter(None, plain))
    return text, lambda at: numbers[bisect_right(begins, at) - 1]


def _word(term: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(term)}(?!\w)", flags)


def _matches(text: str) -> Iterator[tuple[EntityRule, str, int]]:
    """The matches of each rule in a text, with offsets; code is matched by only one rule."""
    taken: set[int] = set()
    for rule in ENTITIES:
        for match in rule.pattern.finditer(text):
            places = range(*match.span(1))
            if rule.kind in CODE:
                if not taken.isdisjoint(places):
                    continue
                taken.update(places)
            yield rule, match[1].strip(), match.start(1)


def _entity(kind: EntityKind, name: str, rule: str, source: str, line: int | None) -> Entity:
    return Entity(
        kind=kind, name=name, confidence=confidence(rule), rule=rule, sources=(source,),
        lines=(line,),
    )  # fmt: skip


def relations(
    papers: Iterable[Paper], known: Iterable[Entity], stated: Iterable[Relation], tell: Tell
) -> list[Relation]:
    """The relations of documents: cited works, mentions, co-mentions, sentences' statements."""
    every = list(papers)
    titles = {paper.title.casefold(): paper.title for paper in every}
    found: list[Relation] = []
    for paper in every:
        found += [
            _relation(
                paper.title,
                "cites",
                _known(one, titles),
                "reference",
                paper.cite(one.part),
                one.line,
            )
            for one in references(paper.document)
            if one.title
        ]
    found += stated
    paths = {paper.path: paper for paper in every}
    named = [one for one in known if one.kind != "WORK"]
    places: dict[str, dict[int, list[Entity]]] = {}
    for entity in named:
        for source in entity.sources:
            path, _, part = source[4:].rpartition("#p")
            of_path = places.setdefault(path.strip("<>"), {})
            of_path.setdefault(int(part), []).append(entity)
    for path, parts in places.items():
        if path in paths:
            found += _mentions(paths[path], parts, tell)
    return list({(one.source, one.kind, one.target): one for one in reversed(found)}.values())[::-1]


def _mentions(paper: Paper, parts: dict[int, list[Entity]], tell: Tell) -> Iterator[Relation]:
    """What a document mentions, and the pairs of entities that one sentence names."""
    for entity in dict.fromkeys(one for named in parts.values() for one in named):
        yield Relation(
            source=paper.title, kind="mentions", target=entity.name, **entity.provenance()
        )
    for number, (part, named) in enumerate(parts.items(), 1):
        tell(f"{paper.path}: what it mentions together", number, len(parts))
        if len(named) > 1:
            yield from _together(paper, part, named)


def _together(paper: Paper, part: int, named: list[Entity]) -> Iterator[Relation]:
    words = [(one, _word(one.name)) for one in named]
    for line, sentence in passages.sentences(paper.document.parts[part - 1]):
        there = [one for one, pattern in words if pattern.search(sentence)]
        for one, other in combinations(there[:MAX_TOGETHER], 2):
            if one.name != other.name:
                yield Relation(
                    source=one.name, kind="mentioned_with", target=other.name, rule=one.rule,
                    confidence=round(one.confidence * other.confidence, 2),
                    sources=(paper.cite(part),), lines=(line,), quote=sentence,
                )  # fmt: skip


def stated_relations(papers: Iterable[Paper], tell: Tell) -> Iterator[Relation]:
    """The relations that sentences of the documents state."""
    for paper in papers:
        count = len(paper.document.parts)
        for part in range(1, count + 1):
            tell(f"{paper.path}: what it says", part, count)
            yield from stated_in_part(paper, part)


def _known(one: Reference, titles: dict[str, str]) -> str:
    """The title of a cited work, spelled as in its own document if that is loaded."""
    return titles.get(one.title.casefold(), one.title)


def stated_in_part(paper: Paper, part: int) -> Iterator[Relation]:
    """The relations that sentences of one part state."""
    for line, sentence in passages.sentences(paper.document.parts[part - 1]):
        for rule in RELATIONS:
            for match in rule.pattern.finditer(sentence):
                *source, target = match.groups()
                begin = source[0] if source and source[0].lower() not in PRONOUNS else paper.title
                yield _relation(
                    begin, rule.kind, target, rule.name, paper.cite(part), line, sentence
                )


def _relation(
    source: str, kind: RelationKind, target: str, rule: str, cited: str, line: int,
    quote: str = "",
) -> Relation:  # fmt: skip
    return Relation(
        source=source, kind=kind, target=target, confidence=confidence(rule), rule=rule,
        sources=(cited,), lines=(line,), quote=quote,
    )  # fmt: skip
