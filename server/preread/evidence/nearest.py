"""Named places, and the ones nearest to a feature that the project lacks."""

import difflib
from collections.abc import Iterator
from typing import NamedTuple

from preread.dossier.sources import Ref
from preread.evidence import quoting
from preread.evidence.files import FileView
from preread.evidence.view import View
from preread.index import words
from preread.syntax import Symbol

CLOSE = 0.85  # of difflib's ratio: `carrt` and `cart`, but not `invoice` and `voice`
INDEXED = ("source", "test", "support", "doc")
EVERYWHERE = "**"  # the glob of every file


class Place(NamedTuple):
    """A name with its line; without a name, the whole file, which only `source` tells."""

    file: FileView
    name: str = ""
    line: int = 0
    qualified: str = ""  # with its class

    @property
    def text(self) -> str:
        name = self.qualified or self.name
        return quoting.anchored(name, self.line, self.file.path)

    @classmethod
    def of(cls, file: FileView, symbol: Symbol) -> "Place":
        """The place of a definition."""
        return cls(file, symbol.name, symbol.start, quoting.qualified(symbol))

    @property
    def source(self) -> str:
        return self.file.cite(self.line) if self.name else str(Ref("path", self.file.path))


def is_quotable(file: FileView) -> bool:
    """Whether a path can be written in a fact: a backtick would open a quote."""
    return "`" not in file.path


def is_on(file: FileView, name: str, line: int) -> bool:
    """Whether a name can be quoted from its line."""
    return bool(name) and name == name.strip() and " ".join(name.split()) in file.line(line)


def absent_words(view: View) -> list[str]:
    """The words of the feature's name that no file of the project contains."""
    return [word for word in view.query.feature if _is_absent(view, word)]


def _is_absent(view: View, word: str) -> bool:
    """Whether no indexed file contains a form of the word, and no file at all the word itself."""
    tree = view.services.tree
    if not quoting.is_provable(word) or view.candidates(word, INDEXED):
        return False
    paths = tree.matching(EVERYWHERE)
    spellings = (word, word.capitalize(), word.upper())
    # Without any file, nothing proves an absence.
    return bool(paths) and all(tree.containing(one, paths) is None for one in spellings)


def mention(view: View) -> tuple[str, str] | None:
    """The first line that mentions the feature, quoted, and its source."""
    for file in (*view.sources, *view.tests, *view.docs):
        if number := _first_mention(view, file):
            quoted = quoting.whole(quoting.unmarked(file.line(number)))
            return (quoted, file.cite(number)) if quoted else None
    return _mention_in_data(view)


def _mention_in_data(view: View) -> tuple[str, str] | None:
    """A word of the feature's name in a file that is not indexed, with its line."""
    tree = view.services.tree
    paths = tree.matching(EVERYWHERE)
    for word in filter(quoting.is_provable, view.query.feature):
        path = tree.containing(word, paths) or ""
        lines = (tree.lines(path) if "`" not in path else None) or []
        if number := next((n for n, line in enumerate(lines, 1) if word in line), 0):
            return quoting.anchored(word, number, path), str(Ref("lines", path, number, number))
    return None


def mentioned_in(view: View, file: FileView) -> str:
    """The first line of a file that mentions the feature, as a source; empty if none does."""
    number = _first_mention(view, file)
    return file.cite(number) if number else ""


def _first_mention(view: View, file: FileView) -> int:
    feature, stems_in = view.relevance.feature, view.relevance.stems_in
    return next((n for n, text in enumerate(file.lines, 1) if feature & stems_in(text)), 0)


def places(view: View) -> Iterator[Place]:
    """Definitions named by the feature's other words, else those with similar spelling."""
    named = [one for one in view.definitions if view.relevance.of(one.symbol.name)]
    best = sorted(
        named, key=lambda one: (-view.relevance.of(one.symbol.name), len(one.symbol.name))
    )
    found = [Place.of(one.file, one.symbol) for one in best]
    found = found or list(_alike(view))
    shown = [one for one in found if is_quotable(one.file) and is_on(one.file, one.name, one.line)]
    yield from list({one.name: one for one in reversed(shown)}.values())[::-1]


def _alike(view: View) -> Iterator[Place]:
    rows = view.connection.execute(
        "SELECT path, names FROM files WHERE role = 'source' ORDER BY path"
    )
    homes = {name: path for path, names in rows for name in names.split("\n") if name}
    longest_first = sorted(homes, key=lambda name: -len(name))  # so the shortest name stays
    parts = {part: name for name in longest_first for part in words.parts(name)}
    for word in view.query.feature:
        for part in difflib.get_close_matches(word, parts, n=2, cutoff=CLOSE):
            file = view.any_file(homes[parts[part]])
            for symbol in file.outline.symbols:
                if symbol.name == parts[part]:
                    yield Place.of(file, symbol)
                    break
