"""One search: the words of a request with what each is worth, and the files of the asked roles
that hold them.
"""

import math
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from preread.index import commits, imports, words

DEFINED = (0.0, 1.0, 0.0)
COLUMNS = (
    0.0,
    1.0,
    1.0,
)  # path, definitions, body: a path's words have a length and a rarity of their own
REPORT = 60  # words of a text
TITLE = 1.0  # what a word of a title weighs at least
MAX_LOOKED_UP = 120  # words of a request
MAX_TERMS = 40  # of these, the rarest
MAX_HOLDERS = 8_000  # files: a word that more of them hold tells none from the others
SHOWS = re.compile(  # folders of examples, of documents' code, of what others wrote
    r"(?:^|/)(?:docs?|documentation|guides?|tutorials?|examples?|samples?|demos?|playgrounds?|notebooks?|bench|benches"
    r"|benchmarks?|fixtures?|test[-_]?data|third[-_]party|vendor|external)/"
)
K1, B = 1.2, 0.75  # of BM25, for paths; SQLite's are the same


@dataclass(slots=True)
class Held:
    """What one file holds of the words: BM25, how many by their weights, and by how few files hold
    each.
    """

    said: float = 0.0
    words: float = 0.0
    rarity: float = 0.0


class Term(NamedTuple):
    """One word to search for, what it is worth, and the files' rows with how much it fills each, 0
    to K1 + 1.
    """

    word: str
    weight: float
    rows: Mapping[int, float]


class _Stems(dict[str, tuple[str, ...]]):
    def __init__(self, wanted: Set[str]) -> None:
        self._wanted = wanted

    def __missing__(self, identifier: str) -> tuple[str, ...]:
        found = words.stems(identifier) | {whole_stem(identifier)}
        self[identifier] = tuple(sorted(found & self._wanted))
        return self[identifier]


@dataclass
class Asked:
    """A request's words, looked up once for all kinds of files."""

    connection: sqlite3.Connection
    weights: Mapping[str, float]  # of each word, the likeliest first
    text: str = ""  # what was asked, as it was written
    scope: str = ""  # what ranked paths begin with: a folder and its slash
    read: Callable[[str], str | None] = lambda _: None  # a file's text, by its path

    def __post_init__(self) -> None:
        self._defined: dict[str, dict[int, float]] = {}
        self._names: dict[int, frozenset[str]] = {}
        self.blocks: dict[
            str, list[dict[str, int]]
        ] = {}  # of the files read: how often each stem is in each block

    @property
    def is_report(self) -> bool:
        """Whether it is as long as what people report, and so are most of its words about
        something else.
        """
        return len(self.text.split()) >= REPORT

    @cached_property
    def files(self) -> dict[int, tuple[str, str]]:
        """The path and the role of every file, by its row."""
        return {
            row: (path, role)
            for row, path, role in self.connection.execute("SELECT id, path, role FROM files")
        }

    @cached_property
    def terms(self) -> list[Term]:
        looked_up = list(self.weights)[:MAX_LOOKED_UP]
        found = [Term(word, self.weights[word], self._rows(word)) for word in looked_up]
        known = [term for term in found if term.rows]
        return sorted(known, key=lambda term: len(term.rows) / term.weight)[:MAX_TERMS]

    @cached_property
    def rarities(self) -> dict[str, float]:
        """How rare each known word is among the project's files: 0 for what every file contains."""
        total = len(self.files)
        return {term.word: rarity(total, len(term.rows)) for term in self.terms}

    @cached_property
    def rows(self) -> dict[str, int]:
        return {path: row for row, (path, _) in self.files.items()}

    @cached_property
    def stems(self) -> dict[str, float]:
        """What each word's stem is worth."""
        found: dict[str, float] = {}
        for word, weight in self.weights.items():
            stem = words.stem(word)
            found[stem] = max(weight, found.get(stem, 0.0))
        return found

    @cached_property
    def stems_in(self) -> dict[str, tuple[str, ...]]:
        """The request's stems that an identifier has."""
        return _Stems(self.stems.keys())

    def defined(self, word: str) -> dict[int, float]:
        """The files with a definition whose name has this word."""
        if word not in self._defined:
            self._defined[word] = self._rows(word, DEFINED, "defs : ")
        return self._defined[word]

    def names_of(self, row: int) -> frozenset[str]:
        """What a file defines, in lower case, without marks at the ends."""
        if row not in self._names:
            (names,) = self.connection.execute(
                "SELECT names FROM files WHERE id = ?", (row,)
            ).fetchone()
            self._names[row] = frozenset(name.strip("_$") for name in names.lower().split("\n"))
        return self._names[row]

    @cached_property
    def messages(self) -> dict[str, list[int]]:
        """The rows of the past commits whose messages have each of the words looked up."""
        sql = "SELECT rowid FROM messages WHERE messages MATCH ?"
        known = self.commits
        found = {}
        for word in list(self.weights)[:MAX_LOOKED_UP]:
            rows = [row for (row,) in self.connection.execute(sql, (quoted(word),)) if row in known]
            if rows:
                found[word] = rows
        return dict(
            sorted(found.items(), key=lambda item: len(item[1]) / self.weights[item[0]])[:MAX_TERMS]
        )

    def _rows(
        self, word: str, columns: tuple[float, ...] = COLUMNS, within: str = ""
    ) -> dict[int, float]:
        match = within + quoted(word)
        if (
            len(self.files) > MAX_HOLDERS
        ):  # to count them costs a fifth of what it costs to weigh them
            sql = "SELECT count(*) FROM words WHERE words MATCH ?"
            if self.connection.execute(sql, (match,)).fetchone()[0] > MAX_HOLDERS:
                return {}
        sql = "SELECT rowid, bm25(words, ?, ?, ?) FROM words WHERE words MATCH ?"
        rows = self.connection.execute(sql, (*columns, match)).fetchall()
        total = len(self.files)
        rarity = max(
            math.log((total - len(rows) + 0.5) / (len(rows) + 0.5)), 1e-6
        )  # what SQLite multiplies by
        return {row: -score / rarity for row, score in rows}

    @cached_property
    def commits(self) -> dict[int, commits.PastCommit]:
        return commits.commits(self.connection)


class Search:
    """What signals look at: the asked words among the files of some roles."""

    def __init__(self, asked: Asked, roles: Sequence[str], sources: Sequence[str] = ()) -> None:
        self.asked, self.sources = (
            asked,
            sources,
        )  # the best sources, when this search is for something else
        found = asked.files.items()
        self.paths = {
            row: path
            for row, (path, role) in found
            if role in roles and path.startswith(asked.scope)
        }
        self.rows = {path: row for row, path in self.paths.items()}
        self.aside = frozenset(
            path for path, role in asked.files.values() if role in roles and _is_aside(path, role)
        )
        report = asked.is_report and "source" in roles
        self.kind = (
            "tests" if "test" in roles else "reports" if report else "files"
        )  # whose weights count
        self.fused: list[
            str
        ] = []  # the best by the signals that need no other files, for those that do

    @property
    def terms(self) -> list[Term]:
        return self.asked.terms

    @cached_property
    def past(self) -> dict[int, list[str]]:
        """Which of the files each past commit changed, by its row, if any."""
        found = {
            row: [path for path in of.paths if path in self.rows]
            for row, of in self.asked.commits.items()
        }
        return {row: paths for row, paths in found.items() if paths}

    @cached_property
    def held(self) -> dict[str, Held]:
        """What each file that holds any of the words holds of them."""
        found: dict[str, Held] = {}
        for term in self.terms:
            rows = [(self.paths[row], fill) for row, fill in term.rows.items() if row in self.paths]
            rare = rarity(len(self.paths), len(rows)) * term.weight
            for path, fill in rows:
                if (held := found.get(path)) is None:
                    held = found[path] = Held()
                held.said += rare * fill
                held.words += term.weight
                held.rarity += rare
        return found

    def in_path(self, wanted: Set[str]) -> dict[str, list[str]]:
        """The files that have each of these stems in their path."""
        found: dict[str, list[str]] = {stem: [] for stem in sorted(wanted)}
        for path, stems in self.path_stems.items():
            for stem in stems & wanted:
                found[stem].append(path)
        return found

    @cached_property
    def path_stems(self) -> dict[str, frozenset[str]]:
        return {path: words.stems(path) for path in self.paths.values()}

    @cached_property
    def name_stems(self) -> dict[str, frozenset[str]]:
        return {path: words.stems(words.stem_of(path)) for path in self.paths.values()}

    @cached_property
    def owns(self) -> dict[str, str]:
        """What each file is called as a module, in lower case."""
        return {path: imports.own(path).lower() for path in self.paths.values()}


def _is_aside(path: str, role: str) -> bool:
    return role == "support" or (role == "source" and SHOWS.search(path) is not None)


def whole_stem(word: str) -> str:
    """The stem of an identifier that is not split, as words of a request are looked up."""
    return words.stem(word.strip("_$").lower())


def rarity(total: int, held: int) -> float:
    return math.log(1 + (total - held + 0.5) / (held + 0.5))


def quoted(word: str) -> str:
    return '"' + word.replace('"', "") + '"'
