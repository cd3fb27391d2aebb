"""Relevance: the measure of how much a name, a text or a span of lines is about the request.

Each word of the request weighs by where it comes from (the feature's name most) and by how few
files contain it. A text that contains the few weightiest words is fully relevant.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property

from preread.evidence.files import FileView
from preread.index import words
from preread.ranking.query import Query

FULL = 3  # words: a text that contains the weightiest ones of the request is fully relevant
RELATED = 0.5  # relevance of a text that is about the feature
SATURATION = 1.0  # BM25's k1: how quickly further occurrences stop counting
NAME, CONTAINER, BODY, PATH, SPELLED = 2.0, 0.8, 0.9, 0.35, 1.0
TEST_PATH = 1.5


class Relevance:
    """Scores texts against one request."""

    def __init__(self, query: Query, rarity: Mapping[str, float]) -> None:
        weights: dict[str, float] = {}
        for word, weight in query.weights.items():
            stem = words.stem(word)
            weights[stem] = max(weights.get(stem, 0.0), weight * rarity.get(word, 0.0))
        best = sorted(weights.values(), reverse=True)[:FULL]
        self.full = sum(best) or 1.0
        self.weights = {stem: weight for stem, weight in weights.items() if weight > 0}
        self.feature = frozenset(words.stem(word) for word in query.feature)
        self.compounds = frozenset(name for name in query.whole if len(name) > 5)
        self.spelled = query.spelled
        self._known: dict[str, frozenset[str]] = {}

    @cached_property
    def _worth_a_look(self) -> re.Pattern[str]:
        """Matches every text with one of the stems: a cheap first test. A stem may differ from
        its words in its last letter.
        """
        beginnings = {stem[: max(2, len(stem) - 1)] for stem in self.weights} | self.compounds
        return re.compile("|".join(map(re.escape, sorted(beginnings))) or r"(?!)", re.IGNORECASE)

    def stems_in(self, text: str) -> frozenset[str]:
        """The stems of the request that a name or a sentence contains."""
        if not self._worth_a_look.search(text):
            return frozenset()
        return frozenset().union(*map(self._of_identifier, words.IDENTIFIER.findall(text)))

    def _of_identifier(self, identifier: str) -> frozenset[str]:
        known = self._known.get(identifier)
        if known is None:
            lowered = identifier.lower().strip("_$")
            found = words.stems(identifier) | {words.stem(lowered)}
            if any(name in lowered for name in self.compounds):
                found |= self.feature
            known = self._known[identifier] = frozenset(found & self.weights.keys())
        return known

    def of(self, *texts: str) -> float:
        """How much these texts together are about the request, 0 to 1."""
        held = frozenset().union(*map(self.stems_in, texts))
        return min(1.0, math.fsum(self.weights[stem] for stem in held) / self.full)

    def has_feature(self, *texts: str) -> bool:
        """Whether these texts together contain every word of the feature's name."""
        held = frozenset().union(*map(self.stems_in, texts))
        return bool(self.feature) and self.feature <= held

    def bodies(self, file: FileView) -> Callable[[int, int], float]:
        """A function that says how much lines of a file are about the request, by how often they
        have its stems; saturated.
        """
        look, of = self._worth_a_look.search, self._of_identifier
        found = [
            (number, stem)
            for number, line in enumerate(file.lines, 1)
            if look(line)
            for identifier in words.IDENTIFIER.findall(line)
            for stem in of(identifier)
        ]
        lines = [number for number, _ in found]

        def between(start: int, end: int) -> float:
            inside = found[bisect_left(lines, start) : bisect_right(lines, end)]
            counts = Counter(stem for _, stem in inside)
            parts = (self.weights[stem] * n / (n + SATURATION) for stem, n in counts.items())
            return min(1.0, math.fsum(parts) / self.full)

        return between

    def definition(self, file: FileView, name: str, container: str, body: float) -> float:
        """The score of a definition, which includes its file's rank."""
        spelled = SPELLED * (name in self.spelled)
        own = self._own(name, container, body) + spelled + PATH * self.of(file.path)
        return math.sqrt(file.score) * own

    def test(self, file: FileView, name: str, group: str, body: float) -> float:
        """The score of a test; its file's name weighs more than for a definition."""
        own = self._own(name, group, body) + TEST_PATH * self.of(file.path)
        return math.sqrt(file.score) * own

    def _own(self, name: str, container: str, body: float) -> float:
        return NAME * self.of(name) + CONTAINER * self.of(container) + BODY * body
