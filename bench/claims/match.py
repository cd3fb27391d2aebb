"""When a built fact says what a hand-written one says: it cites the same place and has its words.

The same place: lines of one file that overlap (a test is the lines it stands on, a whole file only overlaps a whole
file), the same commit, or the absence of the same text. Its words: a backticked text of four characters or more that
both have, blanks folded (`by code`), or at least half of the hand-written fact's content words (`by words`). Content
words are the runs of letters, digits and underscores, three or more, lower case, without the words of STOP.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from preread import dossier, sources
from preread.sources import Ref
from preread.tree import Tree

STOP = frozenset(
    """
    the and are but for nor not its their this that these those with without from into onto than then them they there
    here when where which while who whom whose what why how also only just all any both each few more most other some
    such one two has have had was were been being does did can cannot could would should may might must will shall is
    out over under again once still even ever never yet too very own same per via
    """.split()
)


@dataclass(frozen=True)
class Place:
    """Where a source points: what it is of, and the lines of it."""

    key: tuple[str, str]
    start: int = 0
    end: int = 0

    def meets(self, other: "Place") -> bool:
        if self.key[0] == other.key[0] == "commit":
            return self.key[1].startswith(other.key[1]) or other.key[1].startswith(self.key[1])
        return self.key == other.key and self.start <= other.end and other.start <= self.end


@dataclass(frozen=True)
class Said:
    """A fact of either side, ready to be compared."""

    text: str
    places: tuple[Place, ...]
    code: frozenset[str]
    words: frozenset[str]


def place(ref: Ref, tree: Tree) -> Place:
    if ref.kind == "lines":
        return Place(("file", ref.path), ref.start, ref.end)
    if ref.kind == "test":
        for test in tree.outline(ref.path).tests:
            if ref.name in {test.name, f"{test.group}::{test.name}", f"{test.group} > {test.name}"}:
                return Place(("file", ref.path), test.start, test.end)
    return Place((ref.kind, ref.path if ref.kind == "path" else ref.name))


def said(text: str, cited: Iterable[str], tree: Tree) -> Said:
    refs = [ref for ref in map(sources.parse, cited) if ref is not None]
    code = frozenset(" ".join(quote.split()) for quote in dossier.quotes(text))
    words = frozenset(word for word in re.findall(r"\w{3,}", text.lower()) if word not in STOP)
    return Said(text, tuple(place(ref, tree) for ref in refs), code, words)


def agreement(gold: Said, built: Said) -> str:
    """`words`, `code`, or nothing: how far a built fact says what a hand-written one does."""
    if not any(mine.meets(other) for mine in gold.places for other in built.places):
        return ""
    if 2 * len(gold.words & built.words) >= len(gold.words):
        return "words"
    return "code" if gold.code & built.code else ""
