"""Find the lines of a ranked file that a request is about, by their words, names and neighbours."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import NamedTuple

from preread.index import words
from preread.ranking.parts import Part, split
from preread.ranking.query import Query
from preread.ranking.search import rarity
from preread.syntax import Outline

MAX_SPANS, MAX_PARTS = 5, 7  # of a file: adjacent parts merge into one span
MAX_LINES = 120  # of all spans of a file together
GAP = 2  # lines between two parts that may still merge into one span
K1, B = 1.2, 0.5  # BM25, with lengths in lines
NAME, CONTAINER = 1.0, 0.5  # weights of a word in a part's own name, in its class's name
MIN_SHARE = 0.2  # of the best part's score: parts below are not cited
NEIGHBOUR = 0.15  # a part's share in the score of its better neighbour
QUOTE = 2.0  # the weight of a quote of the request found in a part
MAX_QUOTED = 40  # quotes, and `file:line` references, of a request
PHRASE = re.compile(r"""["'`“]([^"'`“”]{4,80})["'`”]""")
PLACE = re.compile(r"""(?<![\w./-])([\w./-]{0,200}\w\.\w{1,12})(?::|#L|["']?,? line )(\d{1,6})\b""")
NO_STEMS: AbstractSet[str] = frozenset()


class Span(NamedTuple):
    """Lines of a file, both ends included, and the definitions they belong to, if any."""

    start: int
    end: int
    symbols: tuple[str, ...]


class SpanFinder:
    """Finds the spans of files that match a request; prepared once for all files."""

    def __init__(self, query: Query, text: str = "") -> None:
        self._weights: dict[str, float] = {}
        for word, weight in query.weights.items():
            stem = words.stem(word)
            self._weights[stem] = max(weight, self._weights.get(stem, 0.0))
        self._prefixes = _prefixes(self._weights)
        phrases = dict.fromkeys(m[1] for m in PHRASE.finditer(text) if not m[1].isalnum())
        places = dict.fromkeys((m[1], int(m[2])) for m in PLACE.finditer(text))
        self._phrases, self._places = [*phrases][:MAX_QUOTED], [*places][:MAX_QUOTED]
        self._by_identifier: dict[str, AbstractSet[str]] = {}
        self._by_name: dict[str, AbstractSet[str]] = {}

    def spans(self, path: str, text: str, outline: Outline) -> list[Span]:
        """The best lines of a file, in order; none if nothing in it matches."""
        file = _SearchedFile(text, outline)
        self._count_words(file)
        self._score_words(file)
        self._score_quotes(file)
        _score_neighbours(file)
        best = max((part.score for part in file.parts), default=0.0)
        for place, number in self._places:
            # Either may be the longer one: traces have absolute paths, people write the end.
            one, other = f"/{place}", f"/{path}"
            if (one.endswith(other) or other.endswith(one)) and (
                part := file.part_at(number)
            ) is not None:
                part.score += 2 * best + 1
        return _merge(_choose(file.parts))

    def _count_words(self, file: "_SearchedFile") -> None:
        known = self._by_identifier
        for number in {n for prefix in self._prefixes for n in file.lines_with(prefix)}:
            if (part := file.part_at(number)) is not None:
                counts = part.counts
                for identifier in file.identifiers(number):
                    stems = known.get(identifier)
                    for stem in self._stems_in(identifier) if stems is None else stems:
                        counts[stem] = counts.get(stem, 0) + 1

    def _stems_in(self, identifier: str) -> AbstractSet[str]:
        """The request's stems in an identifier: of its parts and of the whole."""
        lowered = identifier.lower()
        found = NO_STEMS
        for prefix in self._prefixes:  # a cheap test that rules out most identifiers
            if prefix in lowered:
                found = (
                    words.stems(identifier) | {words.stem(lowered.strip("_$"))}
                ) & self._weights.keys()
                break
        self._by_identifier[identifier] = found
        return found

    def _score_words(self, file: "_SearchedFile") -> None:
        """BM25 of the request's stems over the parts of this file."""
        parts = file.parts
        in_parts = Counter(stem for part in parts for stem in part.counts)
        worth = {stem: self._weights[stem] * rarity(len(parts), n) for stem, n in in_parts.items()}
        average = sum(part.length for part in parts) / max(len(parts), 1)
        for part in parts:
            norm = K1 * (1 - B + B * part.length / average)
            part.score = sum(
                worth[stem] * n * (K1 + 1) / (n + norm) for stem, n in part.counts.items()
            )
            if part.of is not None:
                for weight, names in ((NAME, part.of.name), (CONTAINER, part.of.container)):
                    part.score += weight * sum(
                        worth.get(stem, 0.0) for stem in self._stems_in_name(names)
                    )

    def _stems_in_name(self, names: str) -> AbstractSet[str]:
        """The request's stems in a name, which may be a sentence."""
        if names not in self._by_name:
            identifiers = words.IDENTIFIER.findall(names)
            self._by_name[names] = {
                stem
                for one in identifiers
                for stem in self._by_identifier.get(one) or self._stems_in(one)
            }
        return self._by_name[names]

    def _score_quotes(self, file: "_SearchedFile") -> None:
        for phrase in self._phrases:
            found = {
                part
                for n in file.lines_with(phrase.lower())
                if (part := file.part_at(n)) is not None
            }
            for part in found:
                part.score += QUOTE * rarity(len(file.parts), len(found))


class _SearchedFile:
    """A file split into parts, with a text search that maps offsets to lines."""

    def __init__(self, text: str, outline: Outline) -> None:
        self._lines = text.split("\n")
        self._lowered = text.lower()
        same = len(self._lowered) == len(text)  # a few letters change length in lower case
        lengths = map(len, self._lines if same else self._lowered.split("\n"))
        self._offsets = [0, *accumulate(map((1).__add__, lengths))][:-1]
        self.parts = split(self._lines, outline)
        self._starts = [part.start for part in self.parts]

    def lines_with(self, needle: str) -> Iterator[int]:
        """The numbers of the lines that contain a lower-case text, ignoring case."""
        at = self._lowered.find(needle)
        while at >= 0:
            number = bisect_right(self._offsets, at)
            yield number
            at = (
                self._lowered.find(needle, self._offsets[number])
                if number < len(self._offsets)
                else -1
            )

    def identifiers(self, number: int) -> list[str]:
        return words.IDENTIFIER.findall(self._lines[number - 1])

    def part_at(self, number: int) -> Part | None:
        place = bisect_right(self._starts, number) - 1
        return self.parts[place] if place >= 0 and number <= self.parts[place].end else None


def _score_neighbours(file: _SearchedFile) -> None:
    scores = [0.0, *(part.score for part in file.parts), 0.0]
    for place, part in enumerate(file.parts):
        part.score += NEIGHBOUR * max(scores[place], scores[place + 2])


def _prefixes(stems: Iterable[str]) -> list[str]:
    """The texts of which every word with one of these stems contains one.

    A word starts with its stem, except that a final `y` may have been `i`: `queries`.
    """
    starts = {stem[:-1] if stem.endswith("y") and len(stem) > 1 else stem for stem in stems}
    return [one for one in starts if not any(one != other and other in one for other in starts)]


def first_spans(definitions: Iterable[tuple[int, int, str]]) -> list[Span]:
    """The first definitions within the limits of a file: for requests without words."""
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


def _choose(parts: Iterable[Part]) -> list[Part]:
    """The best parts within the limits of a file."""
    chosen: list[Part] = []
    lines = 0
    for part in sorted(parts, key=lambda part: (-part.score, part.start)):
        best = chosen[0] if chosen else part
        if part.score <= MIN_SHARE * best.score or len(chosen) == MAX_PARTS:
            break
        if lines + part.length <= MAX_LINES and len(_merge([*chosen, part])) <= MAX_SPANS:
            chosen.append(part)
            lines += part.length
    return chosen


def _merge(parts: Iterable[Part]) -> list[Span]:
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
