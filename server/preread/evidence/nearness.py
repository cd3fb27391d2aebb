"""Nearness: how much a text is about the feature, when rare words tell more than common ones."""

import math
import re
from collections.abc import Iterable
from functools import cached_property

from preread.evidence.view import View
from preread.index import words

SEPARATORS = re.compile(r"[\W_]+")

ENOUGH = 0.49  # of what the name's words tell
NAMED, RARE = (
    0.4,
    1.6,
)  # of it in all that is looked at; what a word tells that stands in a fifth of the files


class Nearness:
    """One request's words with how much each tells: a word that stands in few files tells most."""

    def __init__(self, view: View) -> None:
        self._view = view

    @cached_property
    def own(self) -> dict[str, float]:
        """Stems of the feature's name."""
        return self._rarity(self._view.query.feature)

    @cached_property
    def also(self) -> dict[str, float]:
        """Stems of the description that are not in the name."""
        found = self._rarity(self._view.query.description)
        return {stem: worth for stem, worth in found.items() if stem not in self.own}

    def _rarity(self, said: Iterable[str]) -> dict[str, float]:
        (total,) = self._view.connection.execute("SELECT count(*) FROM files").fetchone()
        mentions = self._view.mentions_of
        return {
            words.stem(word): max(0.2, math.log((total + 1) / (mentions(word) + 0.5)))
            for word in said
        }

    def of(self, text: str) -> float:
        """What share of the feature's words a text holds, the description's counting less; 1 for a whole project."""
        if self._view.whole_project:
            return 1.0
        compact = SEPARATORS.sub("", text).lower()
        if not any(beginning in compact for beginning in self._beginnings):
            return 0.0
        held = words.stems_of(text)
        return min(1.0, share(self.own, held) + 0.5 * share(self.also, held))

    def named_in(self, *texts: str) -> bool:
        """Whether texts hold the feature's name, at least the rarer of two words."""
        held = frozenset().union(*map(words.stems_of, texts))
        return self._view.whole_project or share(self.own, held) >= ENOUGH

    def is_about(self, name: str, text: str = "") -> bool:
        """Whether a name holds a rare word of the description, or it and a text the feature's name, or most of it."""
        held = words.stems_of(name)
        rare = any(worth >= RARE for stem, worth in self.also.items() if stem in held)
        return (
            rare
            or self._view.whole_project
            or share(self.own, held | words.stems_of(text)) >= NAMED
        )

    @cached_property
    def _beginnings(self) -> tuple[str, ...]:
        """What a text with one of the words holds when nothing stands between its letters."""
        return tuple({stem[: max(len(stem) - 1, 1)] for stem in (*self.own, *self.also)})


def share(wanted: dict[str, float], stems: Iterable[str]) -> float:
    """How much of what is wanted is among these stems, 0 to 1."""
    held = frozenset(stems)
    return sum(worth for stem, worth in wanted.items() if stem in held) / (
        sum(wanted.values()) or 1.0
    )


def nearness(view: View) -> Nearness:
    """The measure of one request, which is made once."""
    found: Nearness = view.memo.setdefault("nearness", Nearness(view))
    return found
