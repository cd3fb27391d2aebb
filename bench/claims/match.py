"""When a built fact says what a hand-written one says: it cites the same place and has its words.

The same place: lines of one file that overlap (a test is the lines it stands on, a whole file only overlaps a whole
file), the same commit, or the absence of the same text. Its words: at least half of the hand-written fact's content
words (`by words`); or a quarter of them, and one of its backticked texts of four characters or more as a whole word,
blanks folded (`by code`): that a function is named says nothing yet about its trap. Content words are the parts of
names and words, three letters or more, lower case, without the words of STOP. What only cites the same place (`place
only`) is not found: a span of a whole function overlaps all that is said about it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from preread import dossier, sources
from preread.project.tree import Tree
from preread.sources import Ref

STOP = frozenset(
    """
    the and are but for nor not its their this that these those with without from into onto than then them they there
    here when where which while who whom whose what why how also only just all any both each few more most other some
    such one two has have had was were been being does did can cannot could would should may might must will shall is
    out over under again once still even ever never yet too very own same per via
    """.split()
)

PART = re.compile(r"[A-Z]{3,}(?![a-z])|[A-Z][a-z]{2,}|[a-z]{3,}|\d{3,}")  # of a name in any case


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
    words = frozenset(part.lower() for part in PART.findall(text)) - STOP
    return Said(" ".join(text.split()), tuple(place(ref, tree) for ref in refs), code, words)


def holds(text: str, code: str) -> bool:
    """Whether a backticked text stands in a fact, not inside a longer word."""
    return re.search(rf"(?<!\w){re.escape(code)}(?!\w)", text) is not None


def agreement(gold: Said, built: Said) -> str:
    """`words`, `code`, `place` or nothing: how far a built fact says what a hand-written one does."""
    if not any(mine.meets(other) for mine in gold.places for other in built.places):
        return ""
    share = len(gold.words & built.words) / max(len(gold.words), 1)
    if share >= 1 / 2:
        return "words"
    return (
        "code" if share >= 1 / 4 and any(holds(built.text, code) for code in gold.code) else "place"
    )
