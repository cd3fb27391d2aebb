"""Find the lines of a ranked file that a request is about, by their words, names and neighbours."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from preread.index import words
from preread.ranking.parts import Part, split
from preread.ranking.query import Query, StemsIn, stem_weights
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


class Span(NamedTuple):
    """Lines of a file, both ends included, and the definitions they belong to, if any."""

    start: int
    end: int
    symbols: tuple[str, ...]


class SpanFinder:
    """Finds the spans of files that match a request; prepared once for all files."""

    def __init__(self, query: Query, text: str = "") -> None:
        self._weights = stem_weights(query.weights)
        self._stems_in = StemsIn(self._weights)
        phrases = (m[1].lower() for m in PHRASE.finditer(text) if not m[1].isalnum())
        places = ((m[1], int(m[2])) for m in PLACE.finditer(text))
        self._phrases = [*dict.fromkeys(phrases)][:MAX_QUOTED]
        self._places = [*dict.fromkeys(places)][:MAX_QUOTED]

    def spans(self, path: str, text: str, outline: Outline) -> list[Span]:
        """The best lines of a file, in order; none if nothing in it matches."""
        parts = split(text.split("\n"), outline)
        self._score_words(parts)
        self._score_quotes(parts)
        _score_neighbours(parts)
        self._score_places(parts, path)
        return _merge(_choose(parts))

    def _stems(self, text: str) -> list[str]:
        names = words.IDENTIFIER.findall(text)
        return [stem for name in names for stem in self._stems_in[name]]

    def _score_words(self, parts: Sequence[Part]) -> None:
        """BM25 of the request's stems over the parts of this file; names count in addition."""
        counts = [Counter(self._stems(part.text)) for part in parts]
        in_parts = Counter(stem for of in counts for stem in of)
        worth = {stem: self._weights[stem] * rarity(len(parts), n) for stem, n in in_parts.items()}
        average = sum(part.length for part in parts) / max(len(parts), 1)
        for part, own in zip(parts, counts, strict=True):
            norm = K1 * (1 - B + B * part.length / average)
            part.score = sum(worth[stem] * n * (K1 + 1) / (n + norm) for stem, n in own.items())
            if part.of is not None:
                for weight, name in ((NAME, part.of.name), (CONTAINER, part.of.container)):
                    part.score += weight * sum(worth.get(s, 0.0) for s in {*self._stems(name)})

    def _score_quotes(self, parts: Sequence[Part]) -> None:
        lowered = [(part, part.text.lower()) for part in parts] if self._phrases else []
        for phrase in self._phrases:
            found = [part for part, text in lowered if phrase in text]
            for part in found:
                part.score += QUOTE * rarity(len(parts), len(found))

    def _score_places(self, parts: Sequence[Part], path: str) -> None:
        """What a `file:line` of the request names comes first."""
        best = max((part.score for part in parts), default=0.0)
        for place, number in self._places:
            # Either may be the longer one: traces have absolute paths, people write the end.
            one, other = f"/{place}", f"/{path}"
            if one.endswith(other) or other.endswith(one):
                for part in parts:
                    if part.start <= number <= part.end:
                        part.score += 2 * best + 1


def _score_neighbours(parts: Sequence[Part]) -> None:
    scores = [0.0, *(part.score for part in parts), 0.0]
    for place, part in enumerate(parts):
        part.score += NEIGHBOUR * max(scores[place], scores[place + 2])


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
