"""Precision and recall of the rules that find entities and relations, on sentences/: figures for README.md.

python bench/entities.py                    both halves, per rule and per kind
python bench/entities.py --misses tune      what was missed and what was wrong, to improve rules by
python bench/entities.py --write            the counts become the confidences
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from preread.documents.model import Document, Part
from preread.literature import extraction, measured, rules
from preread.literature.extraction import Paper
from preread.literature.model import Entity, EntityKind
from preread.services import Progress

FOLDER = Path(__file__).parent / "sentences"
HALVES = ("tune", "held_out")
MARKED = re.compile(r"\[\[([A-Z_]+) (.+?)\]\]")
THRESHOLD = 0.8


class Item(NamedTuple):
    """An entity in one sentence, or a relation of one; `part` 0 is what metadata says of authors."""

    title: str
    part: int
    kind: str
    name: str


class Labelled(NamedTuple):
    """A document, and what is in it."""

    paper: Paper
    entities: set[Item]
    relations: list[tuple[Item, str]]  # with the source


def labelled(half: str) -> list[Labelled]:
    text = (FOLDER / f"{half}.txt").read_text(encoding="utf-8")
    return [_document(block) for block in re.split(r"^# ", text, flags=re.MULTILINE)[1:]]


def _document(block: str) -> Labelled:
    title, *lines = filter(None, block.split("\n"))
    sentences: list[str] = []
    works: list[str] = []
    authors = ""
    entities: set[Item] = set()
    relations = []
    for line in lines:
        kind, _, rest = line.partition(": ")
        if line.startswith("-> "):
            source, _, target = rest.partition("|")
            relations.append((Item(title, len(sentences), kind[3:], plain(target)), plain(source)))
        elif kind == "authors":
            authors = rest
            entities |= {Item(title, 0, *_of(match)) for match in MARKED.finditer(rest)}
        elif kind == "ref":
            works.append(rest)
        else:
            sentences.append(line)
            entities |= {
                Item(title, len(sentences), *_of(match)) for match in MARKED.finditer(line)
            }
    last = len(sentences) + 1
    entities |= {Item(title, last, *_of(one)) for ref in works for one in MARKED.finditer(ref)}
    parts = [Part((unmarked(one),)) for one in sentences]
    parts += [Part(("References", *map(unmarked, works)))] if works else []
    about = {"title": title, "authors": unmarked(authors)}
    return Labelled(Paper(title, Document(tuple(parts), about)), entities, relations)


def _of(match: re.Match[str]) -> tuple[str, str]:
    return match[1], plain(match[2])


def unmarked(text: str) -> str:
    return MARKED.sub(r"\2", text)


def plain(name: str) -> str:
    """A name as it is compared: without an article, backticks, the brackets of a call, or case."""
    return re.sub(r"^(?:an?|the|our) |`|\(\)$", "", name.strip().casefold())


def without_marks(paper: Paper) -> Paper:
    """The same as a PDF has it: code is not marked."""
    parts = (Part(tuple(line.replace("`", "") for line in it.lines)) for it in paper.document.parts)
    return Paper(paper.path, Document(tuple(parts), paper.document.about))


def found(paper: Paper, terms: list[tuple[EntityKind, str]]) -> set[tuple[Item, str]]:
    """What the rules name in a document, with the rule."""
    return {
        (Item(paper.path, _part(one), one.kind, plain(one.name)), one.rule)
        for one in extraction.named(paper, terms, Progress().tick)
    }


def _part(entity: Entity) -> int:
    return 0 if entity.rule == "metadata" else int(entity.sources[0].rpartition("#p")[2])


def related(one: Labelled) -> Iterator[tuple[Item, str, str]]:
    """The relations that the rules see in a document, with their source and the rule."""
    for part, _ in enumerate(one.paper.document.parts, 1):
        for it in extraction.stated_in_part(one.paper, part):
            source = "" if it.source == one.paper.title else plain(it.source)
            yield Item(one.paper.path, part, it.kind, plain(it.target)), source, it.rule


def is_right(item: Item, source: str, wanted: list[tuple[Item, str]]) -> tuple[Item, str] | None:
    """The label that a relation agrees with: one of both names is within the other."""
    for label in wanted:
        sure, begin = label
        if sure[:3] == item[:3] and _agree(item.name, sure.name) and _agree(source, begin):
            return label
    return None


def _agree(name: str, other: str) -> bool:
    return name in other or other in name


class Counts(NamedTuple):
    """Of each rule and kind: what was right, what was found; and what there is."""

    right: Counter[str]
    found: Counter[str]
    there: Counter[str]


def by_rule(half: str) -> Counts:
    """Each rule's, with and without marks of code; the theories of the half are the vocabulary."""
    documents, counts = labelled(half), Counts(Counter(), Counter(), Counter())
    terms: list[tuple[EntityKind, str]] = [
        ("THEORY", one.name) for it in documents for one in it.entities if one.kind == "THEORY"
    ]
    for one in documents:
        items = found(one.paper, terms) | found(without_marks(one.paper), terms)
        counts.found.update(rule for _, rule in items)
        counts.right.update(rule for item, rule in items if item in one.entities)
        links = list(related(one))
        counts.found.update(rule for *_, rule in links)
        counts.right.update(
            rule for item, begin, rule in links if is_right(item, begin, one.relations)
        )
    return counts


def judged() -> Counts:
    """The counts of a random sample of what the rules found in public manuals, each judged by hand."""
    counts = Counts(Counter(), Counter(), Counter())
    for line in (FOLDER / "judged.txt").read_text(encoding="utf-8").splitlines():
        rule, verdict, _ = line.split(" | ", 2)
        counts.found[rule] += 1
        counts.right[rule] += verdict == "right"
    return counts


def confident() -> dict[str, tuple[int, int]]:
    """What confidences are computed from: the half that was held out and the sample, together."""
    both = (by_rule("held_out"), judged())
    return {
        name: (sum(one.right[name] for one in both), sum(one.found[name] for one in both))
        for name in rules.NAMES
    }


def by_kind(
    half: str, threshold: float, *, is_marked: bool = True, is_shown: bool = False
) -> Counts:
    """Each kind's, by rules of this confidence, without a vocabulary."""
    counts = Counts(Counter(), Counter(), Counter())
    for one in labelled(half):
        paper = one.paper if is_marked else without_marks(one.paper)
        sure = {it for it in found(paper, []) if measured.confidence(it[1]) >= threshold}
        items = {item for item, _ in sure}
        links = [it for it in related(one) if measured.confidence(it[2]) >= threshold]
        labels = [is_right(*it[:2], one.relations) for it in links]
        counts.found.update(it.kind for it in (*items, *(item for item, *_ in links)))
        counts.right.update(
            it.kind for it in (*items & one.entities, *{it[0] for it in labels if it})
        )
        counts.there.update(it.kind for it in (*one.entities, *(it for it, _ in one.relations)))
        if is_shown:
            _show(one, sure, links)
    return counts


def _show(one: Labelled, items: set[tuple[Item, str]], links: list[tuple[Item, str, str]]) -> None:
    for item, rule in sorted(items):
        if item not in one.entities:
            print("wrong ", rule, *item)
    for item in sorted(one.entities - {item for item, _ in items}):
        print("missed", *item)
    agreed = [is_right(it[0], it[1], one.relations) for it in links]
    for link, label in zip(links, agreed, strict=True):
        if label is None:
            print("wrong ", *link)
    for label in one.relations:
        if label not in agreed:
            print("missed", *label)


def table(half: str) -> None:
    here, manuals = by_rule(half), judged()
    print(f"\n{half}\n| rule | right of found here | in manuals | confidence |")
    for rule in rules.NAMES:
        pairs = " | ".join(f"{it.right[rule]} of {it.found[rule]}" for it in (here, manuals))
        print(f"| `{rule}` | {pairs} | {measured.confidence(rule):.2f} |")
    print(f"\n| kind | labels | precision and recall at {THRESHOLD} | of all rules |")
    for is_marked in (True, False):
        sure, every = (by_kind(half, bound, is_marked=is_marked) for bound in (THRESHOLD, 0.0))
        for kind in sorted(sure.there):
            if is_marked or kind in rules.CODE:
                name = kind if is_marked else f"{kind}, not marked as code"
                print(
                    f"| {name} | {sure.there[kind]} | {_figures(sure, kind)} | {_figures(every, kind)} |"
                )


def _figures(counts: Counts, kind: str) -> str:
    right, seen = counts.right[kind], counts.found[kind]
    share = f"{right / seen:.2f} ({right} of {seen})" if seen else "– (0 of 0)"
    return f"{share}, {right / counts.there[kind]:.2f}"


def write() -> None:
    """Note the counts that confidences are computed from."""
    place = Path(measured.__file__)
    text = place.read_text(encoding="utf-8")
    rows = "".join(f'    "{name}": {pair},\n' for name, pair in confident().items())
    place.write_text(
        re.sub(r"(?sm)(COUNTS.*? = \{\n).*?(^\})", rf"\g<1>{rows}\g<2>", text), encoding="utf-8"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--misses", choices=HALVES)
    parser.add_argument("--unmarked", action="store_true", help="misses without marks of code")
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.write:
        write()
    if given.misses:
        by_kind(given.misses, 0.0, is_marked=not given.unmarked, is_shown=True)
    for name in (given.half,) if given.half else HALVES:
        table(name)
