"""Lines: which parts of a chosen file a request is about, by the words they hold, their names, and
their neighbours.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import NamedTuple

from preread.index import words
from preread.ranking.query import Query
from preread.syntax import Outline

MAX_SPANS, MAX_PARTS = 5, 7  # of a file: parts that touch are one span
MAX_LINES = 120  # of all spans of a file, and so of each
PART = 40  # a longer definition is cut into pieces of about so many lines
GAP = 2  # lines between two parts that are one span nevertheless
K1, B = 1.2, 0.5  # of BM25, with lines as the measure of length
NAME, HOME = (
    1.0,
    0.5,
)  # a word in a part's own name, in that of its class: beside one that fills the part's text
FLOOR = 0.2  # of the best part's score: what is below is not cited
BESIDE = 0.15  # the share in the score of the better one of the parts next to it
QUOTED = 2.0  # a quoted text of the request that stands in a part
MAX_QUOTED = 40  # texts, and places, of a request
FUNCTIONS = frozenset({"function", "method", "component", "test"})
PROSE = frozenset({"test", "heading"})  # their names are sentences
ASIDE = frozenset({"constant", "type"})  # inside a function they are its own affair
PHRASE = re.compile(r"""["'`“]([^"'`“”]{4,80})["'`”]""")
PLACE = re.compile(r"""(?<![\w./-])([\w./-]{0,200}\w\.\w{1,12})(?::|#L|["']?,? line )(\d{1,6})\b""")
NONE: AbstractSet[str] = frozenset()
LEADING = (
    "@",
    "#",
    "//",
    "/*",
    "*",
    "--",
)  # how the lines begin that belong to the definition below


class Span(NamedTuple):
    """Lines of a file that matter, both ends included, and the definitions they belong to: none
    outside of all.
    """

    start: int
    end: int
    symbols: tuple[str, ...]


class _Definition(NamedTuple):
    name: str
    kind: str
    start: int
    end: int
    container: str

    @property
    def full_name(self) -> str:
        return (
            f"{self.container}.{self.name}"
            if self.container and self.kind not in PROSE
            else self.name
        )


@dataclass(eq=False)
class _Part:
    """A run of lines of one definition, or of none, and how often each wanted stem stands in it."""

    start: int
    end: int
    of: _Definition | None
    counts: dict[str, int] = field(default_factory=dict)
    score: float = 0.0

    @property
    def length(self) -> int:
        return self.end - self.start + 1


class Wanted:
    """What a request looks for inside files, prepared once for all of them."""

    def __init__(self, query: Query, text: str = "") -> None:
        self._weights: dict[str, float] = {}
        for word, weight in query.weights.items():
            stem = words.stem(word)
            self._weights[stem] = max(weight, self._weights.get(stem, 0.0))
        # What every word with such a stem holds: a stem is the word's beginning, but for the `y` of
        # `queries`.
        held = {
            stem[:-1] if stem.endswith("y") and len(stem) > 1 else stem for stem in self._weights
        }
        self._beginnings = [
            one for one in held if not any(other != one and other in one for other in held)
        ]
        self._phrases = list(
            dict.fromkeys(m[1] for m in PHRASE.finditer(text) if not m[1].isalnum())
        )[:MAX_QUOTED]
        self._places = list(dict.fromkeys((m[1], int(m[2])) for m in PLACE.finditer(text)))[
            :MAX_QUOTED
        ]
        self._known: dict[str, AbstractSet[str]] = {}
        self._names: dict[str, AbstractSet[str]] = {}

    def spans(self, path: str, text: str, outline: Outline) -> list[Span]:
        """The lines of a file that matter most, in their order; none where nothing has a wanted
        word.
        """
        looked = _Looked(text, outline)
        self._count_words(looked)
        self._score_words(looked)
        self._score_quotes(looked)
        _score_neighbours(looked)
        best = max((part.score for part in looked.parts), default=0.0)
        for place, number in self._places:
            one, other = (
                f"/{place}",
                f"/{path}",
            )  # a trace often has the whole path, a person the last of it
            if (one.endswith(other) or other.endswith(one)) and (
                part := looked.part_at(number)
            ) is not None:
                part.score += 2 * best + 1
        return _merged(_chosen(looked.parts))

    def _count_words(self, looked: "_Looked") -> None:
        known = self._known
        for number in {n for beginning in self._beginnings for n in looked.lines_with(beginning)}:
            if (part := looked.part_at(number)) is not None:
                counts = part.counts
                for identifier in looked.identifiers(number):
                    held = known.get(identifier)
                    for stem in self._held(identifier) if held is None else held:
                        counts[stem] = counts.get(stem, 0) + 1

    def _held(self, identifier: str) -> AbstractSet[str]:
        """The wanted stems among an identifier's parts, and the identifier itself when it is
        wanted.
        """
        lowered = identifier.lower()
        found = NONE
        for beginning in self._beginnings:  # most have none, and are not looked at closer
            if beginning in lowered:
                found = (
                    words.stems(identifier) | {words.stem(lowered.strip("_$"))}
                ) & self._weights.keys()
                break
        self._known[identifier] = found
        return found

    def _score_words(self, looked: "_Looked") -> None:
        """BM25 of the wanted stems over the file's own parts: a word that all of them hold tells
        none from another.
        """
        parts = looked.parts
        held = Counter(stem for part in parts for stem in part.counts)
        worth = {stem: self._weights[stem] * _rarity(len(parts), n) for stem, n in held.items()}
        average = sum(part.length for part in parts) / max(len(parts), 1)
        for part in parts:
            norm = K1 * (1 - B + B * part.length / average)
            part.score = sum(
                worth[stem] * n * (K1 + 1) / (n + norm) for stem, n in part.counts.items()
            )
            if part.of is not None:
                for weight, names in ((NAME, part.of.name), (HOME, part.of.container)):
                    part.score += weight * sum(worth.get(stem, 0.0) for stem in self._named(names))

    def _named(self, names: str) -> AbstractSet[str]:
        """The wanted stems in a name that may be a sentence."""
        if names not in self._names:
            identifiers = words.IDENTIFIER.findall(names)
            self._names[names] = {
                stem for one in identifiers for stem in self._known.get(one) or self._held(one)
            }
        return self._names[names]

    def _score_quotes(self, looked: "_Looked") -> None:
        for phrase in self._phrases:
            found = {
                part
                for n in looked.lines_with(phrase.lower())
                if (part := looked.part_at(n)) is not None
            }
            for part in found:
                part.score += QUOTED * _rarity(len(looked.parts), len(found))


class _Looked:
    """A file as its lines are looked for: in parts, and searched without reading line by line."""

    def __init__(self, text: str, outline: Outline) -> None:
        self._lines = text.split("\n")
        self._lowered = text.lower()
        same = len(self._lowered) == len(text)  # a few letters are longer in lower case
        lengths = map(len, self._lines if same else self._lowered.split("\n"))
        self._begins = [0, *accumulate(map((1).__add__, lengths))][:-1]
        self.parts = _parts(self._lines, outline)
        self._starts = [part.start for part in self.parts]

    def lines_with(self, needle: str) -> Iterator[int]:
        """The numbers of the lines that hold a text in lower case."""
        at = self._lowered.find(needle)
        while at >= 0:
            number = bisect_right(self._begins, at)
            yield number
            at = (
                self._lowered.find(needle, self._begins[number])
                if number < len(self._begins)
                else -1
            )

    def identifiers(self, number: int) -> list[str]:
        return words.IDENTIFIER.findall(self._lines[number - 1])

    def part_at(self, number: int) -> _Part | None:
        place = bisect_right(self._starts, number) - 1
        return self.parts[place] if place >= 0 and number <= self.parts[place].end else None


def _rarity(total: int, held: int) -> float:
    return math.log(1 + (total - held + 0.5) / (held + 0.5))


def _score_neighbours(looked: _Looked) -> None:
    scores = [0.0, *(part.score for part in looked.parts), 0.0]
    for place, part in enumerate(looked.parts):
        part.score += BESIDE * max(scores[place], scores[place + 2])


def firsts(definitions: Iterable[tuple[int, int, str]]) -> list[Span]:
    """The first of these definitions, as many as the bounds of a file allow: for a request that
    has no words.
    """
    found: list[Span] = []
    for start, whole_end, name in definitions:
        end = min(whole_end, start + MAX_LINES - 1)
        room = MAX_LINES - sum(span.end - span.start + 1 for span in found)
        if (
            len(found) < MAX_SPANS
            and end - start < room
            and all(end < s.start or s.end < start for s in found)
        ):
            found.append(Span(start, end, (name,)))
    return sorted(found)


def _chosen(parts: Iterable[_Part]) -> list[_Part]:
    """The best parts, as many as the bounds of a file allow."""
    chosen: list[_Part] = []
    lines = 0
    for part in sorted(parts, key=lambda part: (-part.score, part.start)):
        best = chosen[0] if chosen else part
        if part.score <= FLOOR * best.score or len(chosen) == MAX_PARTS:
            break
        if lines + part.length <= MAX_LINES and len(_merged([*chosen, part])) <= MAX_SPANS:
            chosen.append(part)
            lines += part.length
    return chosen


def _merged(parts: Iterable[_Part]) -> list[Span]:
    spans: list[Span] = []
    for part in sorted(parts, key=lambda part: part.start):
        names = (part.of.full_name,) if part.of is not None else ()
        last = spans[-1] if spans else None
        if (
            last is not None
            and part.start <= last.end + GAP + 1
            and part.end - last.start < MAX_LINES
        ):
            spans[-1] = Span(last.start, part.end, tuple(dict.fromkeys((*last.symbols, *names))))
        else:
            spans.append(Span(part.start, part.end, names))
    return spans


# -- parts


def _parts(lines: Sequence[str], outline: Outline) -> list[_Part]:
    """The file's lines by the innermost definition, long runs cut into pieces. Blank lines at the
    ends are in none.
    """
    parts: list[_Part] = []
    start = 1
    for of, run in groupby(_owners(lines, outline)[1 : len(lines) + 1]):
        after = start + len(list(run))
        parts += _pieces(lines, start, after - 1, of)
        start = after
    return parts


def _owners(lines: Sequence[str], outline: Outline) -> list[_Definition | None]:
    """The innermost definition of each line, by its number."""
    symbols = [
        s for s in outline.symbols if s.kind != "heading"
    ] or outline.symbols  # a document has headings only
    found = [_Definition(s.name, s.kind, s.start, s.end, s.container) for s in symbols]
    found += [_Definition(t.name, "test", t.start, t.end, t.group) for t in outline.tests]
    owners: list[_Definition | None] = [None] * (len(lines) + 2)
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        outer = owners[one.start] if one.start <= len(lines) else None
        if outer is not None and outer.kind in FUNCTIONS and one.start > outer.start:
            whole = outer.end - outer.start < PART
            if whole or one.kind in ASIDE:
                continue
        start = one.start
        while (
            start > 1
            and owners[start - 1] is outer
            and lines[start - 2].lstrip().startswith(LEADING)
        ):
            start -= 1
        end = min(one.end, len(lines))
        owners[start : end + 1] = [one] * (end + 1 - start)
    return owners


def _pieces(lines: Sequence[str], start: int, end: int, of: _Definition | None) -> Iterator[_Part]:
    while start <= end and not lines[start - 1].strip():
        start += 1
    while end >= start and not lines[end - 1].strip():
        end -= 1
    count = math.ceil((end - start + 1) / PART) if end - start >= 1.5 * PART else 1
    size = (end - start + 1) / count
    for number in range(1, count):
        cut = _cut(lines, round(end + 1 - (count - number) * size))
        yield from _pieces(lines, start, cut - 1, of)
        start = cut
    if start <= end:
        yield _Part(start, end, of)


def _cut(lines: Sequence[str], near: int) -> int:
    """The line that is best to begin a piece with: after a blank one, else the least indented."""

    def cost(number: int) -> tuple[bool, int, int]:
        line = lines[number - 1]
        return bool(lines[number - 2].strip()), len(line) - len(line.lstrip()), abs(number - near)

    return min(range(near - PART // 5, near + PART // 5 + 1), key=cost)
