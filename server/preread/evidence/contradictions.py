"""Contradictions: one name with two values, and documented names that stand nowhere."""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import digests, phrases, prose
from preread.evidence.items import Item
from preread.evidence.nearness import nearness
from preread.evidence.passages import Passage
from preread.evidence.view import FileView, View
from preread.index import words
from preread.models import Finding
from preread.sources import Ref
from preread.syntax import enclosing

NUMBER = re.compile(r"(?<![\w.#/-])(\d[\d_,]*(?:\.\d+)?)(?![\w.]*\.\w)")
UNITS = frozenset(
    {"s", "ms", "sec", "second", "minut", "hour", "day", "default", "def", "in", "of", "the"}
)
# Seconds, milliseconds, minutes, hours, days; per cent; kibibytes.
_FACTORS = (1000, 60, 3600, 86400, 100, 1024, 60_000)
SCALES = (1.0, *_FACTORS, *(1 / factor for factor in _FACTORS))
NEWS = re.compile(r"(?i)change|history|news|release|migrat|upgrad|whatsnew|roadmap|todo|adr")
NAME_IN_DOC = re.compile(
    r"`{1,2}([A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)`{1,2}"
)
LISTED = re.compile(
    r"\s*(?:\||#{1,6}\s|[-*+]\s)\s*[*\[(]*(`{1,2}[\w-]+`{1,2})"
)  # a row, a heading, an item
OPTIONS = re.compile(
    r"(?i)\b(?:options?|settings?|config\w*|flags?|switch(?:es)?|variables?|preferences?)\b"
)
IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")
COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]")  # a name that is no word
LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'")
MOST_PAIRS = 8


class _Value(NamedTuple):
    name: str
    number: float
    file: FileView
    line: int


def documents_against_code(view: View) -> Iterator[Finding]:
    """The same name with two values: one in the documents, one in the code; and documented names that are nowhere."""
    docs = [doc for doc in view.docs if not NEWS.search(doc.path)]
    for value in _values(view):
        yield from _disagreement(view, docs, value)
    yield from _documented_only(view, docs)


def _values(view: View) -> Iterator[_Value]:
    """Names of the feature with one number each: constants, fields, defaults."""
    for file in view.sources[:6]:
        for member in file.details.members:
            if member.kind in {"constant", "field"} and view.is_hot(file, member.line):
                value = member.value.rpartition("=")[2].strip()
                numbers = _numbers(value)
                if len(numbers) == 1 and re.fullmatch(r"[\d_.,]+\w{0,2}", value):
                    yield _Value(member.name, numbers[0], file, member.line)


def _numbers(text: str) -> list[float]:
    found = []
    for raw in NUMBER.findall(text):
        try:
            found.append(float(raw.replace("_", "").replace(",", "")))
        except ValueError:
            continue
    return found


def _disagreement(view: View, docs: list[FileView], value: _Value) -> Iterator[Finding]:
    named = words.stems(value.name) - UNITS
    name = re.escape(value.name)
    is_word = (
        value.name.isalpha() and value.name.islower()
    )  # plain English, unless it is written as code
    spelled = re.compile(
        rf"`{name}`|(?<!\w){name}\s?[=:]\s?\d" if is_word else rf"(?<!\w){name}(?!\w)"
    )
    by_name = any(spelled.search(doc.text) for doc in docs)
    for doc in docs:
        for number, line in enumerate(doc.lines, 1):
            literal = spelled.search(line)
            prose = not view.whole_project and not re.search(r"[<>{}=;]", line)
            in_words = prose and (
                not by_name
                and len(named) >= 2
                and not NAME_IN_DOC.search(line)
                and named <= words.stems_of(line)
            )
            if not literal and not (
                in_words and (view.relevance(doc.path) >= 1 or view.relevance(line) >= 1)
            ):
                continue
            rest = line.replace(value.name, "")
            numbers = _numbers(rest)
            if (
                not numbers
                or len(numbers) > 3
                or any(_same(value.number, other) for other in numbers)
            ):
                continue
            yield Finding(
                rule="documents_against_code",
                kind="disagreement",
                text=f"{code(value.name)}: documents say {phrases.quote_line(doc, number, 90)}; "
                f"code has {phrases.quote_line(value.file, value.line, 70)}",
                sources=(doc.cite(number), value.file.cite(value.line)),
                reason="one name, two values",
                score=1.0 if literal else 0.8,
            )
            return


def _same(code: float, said: float) -> bool:
    return any(abs(code * scale - said) <= 1e-9 * max(1.0, abs(said)) for scale in SCALES)


def _documented_only(view: View, docs: list[FileView]) -> Iterator[Finding]:
    """Options that a document of the feature lists and that stand in no file but documents."""
    n = 0
    roles = ("source", "test", "support", "config", "data", "generated")
    globs = _source_globs(view)
    for doc in docs:
        for number, line in enumerate(doc.lines, 1):
            listed = LISTED.match(line)
            for name in (
                NAME_IN_DOC.findall(listed[1]) if listed and _lists_options(doc, number) else ()
            ):
                about = view.relevance(doc.path) >= 1 or view.relevance(line, name) >= 1
                if (
                    len(name) < 6
                    or not about
                    or n >= 4
                    or view.candidates(name, roles)
                    or not globs
                ):
                    continue
                paths = {p for glob in globs for p in view.services.tree.matching(glob)}
                if view.holds(name, paths):
                    continue
                n += 1
                yield Finding(
                    rule="documents_against_code",
                    kind="disagreement",
                    text=f"{code(name)} is documented and stands nowhere in the code",
                    sources=(
                        doc.cite(number),
                        *(str(Ref("absent", glob, name=name)) for glob in globs),
                    ),
                    reason="a documented name that no source holds",
                    score=0.9,
                )


def _lists_options(doc: FileView, number: int) -> bool:
    """Whether a line stands in a table, a list or a section of options."""
    first = number
    while first > 1 and doc.lines[first - 2].strip():
        first -= 1
    section = enclosing(doc.outline, number)
    above = next((line for line in reversed(doc.lines[: first - 1]) if line.strip()), "")
    return any(
        map(
            OPTIONS.search,
            (
                section.name if section else "",
                above,
                *doc.lines[first - 1 : min(first + 1, number)],
            ),
        )
    )


def side_by_side(view: View) -> Iterator[Finding]:
    """What documents say of a name, beside what the code does with it: whether they agree is for a reader to see."""
    done: dict[str, list[tuple[float, Passage, Item]]] = {}
    for passage, item in digests.items(view):
        for name in set(IDENTIFIER.findall(LITERAL.sub("", item.text))):
            done.setdefault(name, []).append((item.likely, passage, item))
    found = [
        pair
        for doc in view.docs
        if not prose.OTHER_DOCS.search(doc.path)
        for pair in _pairs(view, doc, done)
    ]
    told: set[str] = set()
    for score, text, said, does, sources in sorted(found, key=lambda pair: -pair[0]):
        if said not in told and does not in told and len(told) < 2 * MOST_PAIRS:
            told |= {said, does}
            yield Finding(
                rule="side_by_side",
                kind="document",
                text=text,
                sources=sources,
                reason="one name, in the documents and in the code",
                score=min(1.0, score),
            )


def _pairs(
    view: View, doc: FileView, done: dict[str, list[tuple[float, Passage, Item]]]
) -> Iterator[tuple[float, str, str, str, tuple[str, ...]]]:
    """Sentences of a document with the likeliest piece of code that has one of their names."""
    measure = nearness(view)
    for sentence in prose.sentences(doc):
        names = set(filter(COMPOUND.search, prose.names_in(sentence)))
        held = [
            (likely / math.sqrt(len(done[n])), p, i)
            for n in names & done.keys()
            for likely, p, i in done[n]
        ]
        section = enclosing(doc.outline, sentence.start)
        heading = section.name if section else ""
        limits = min(3, len(prose.LIMITS.findall(sentence.text)))
        if not held or not limits or not prose.stands_alone(sentence.text):
            continue
        if not measure.named_in(sentence.text, sentence.of, heading, doc.path):
            continue
        _, passage, item = max(held, key=lambda one: one[0])
        strong = prose.STRONG.search(sentence.text) is not None
        score = (
            0.1 + 0.3 * strong + 0.1 * limits + 0.3 * passage.near + 0.2 * measure.of(sentence.text)
        )
        said = prose.said_of(sentence, prose.MOST_SAID)
        within = (
            code(passage.symbol.name)
            if phrases.provable(passage.symbol.name)
            else passage.symbol.name
        )
        sources = (*prose.cites(doc, sentence), passage.file.cite(passage.start, passage.end))
        yield score, f"documents: {said}; {within}: {item.text}", sentence.text, item.text, sources


def _source_globs(view: View) -> list[str]:
    """Globs of the files in which the feature's code is written: its languages' suffixes, at most two."""
    suffixes = [f.path.rpartition(".")[2] for f in view.sources[:4] if "." in f.path]
    return [f"**/*.{suffix}" for suffix in dict.fromkeys(suffixes)][:2]
