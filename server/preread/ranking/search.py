"""Look up the weighted words of a request in the index, and search the files of some roles."""

import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from preread.index import commits, imports, words
from preread.ranking.query import StemsIn, stem_weights

DEFINED = (0.0, 1.0, 0.0)
# Weights of path, definitions and body. Paths are scored separately, with their own lengths and
# rarities.
COLUMNS = (0.0, 1.0, 1.0)
MIN_REPORT = 60  # words that make a text a report
MIN_TITLE_WEIGHT = 1.0  # the least weight of a word of a title
MAX_LOOKED_UP = 120  # words of a request that are looked up
MAX_TERMS = 40  # of these, the rarest
MAX_HOLDERS = 8_000  # files: a word found in more of them does not discriminate
EXAMPLE_FOLDER = re.compile(  # folders of examples, documentation and third-party code
    r"(?:^|/)(?:docs?|documentation|guides?|tutorials?|examples?|samples?|demos?|playgrounds?|notebooks?|bench|benches"
    r"|benchmarks?|fixtures?|test[-_]?data|third[-_]party|vendor|external)/"
)
# Folders of what once changed the database: names of the feature, but not where it is.
MIGRATION_FOLDER = re.compile(r"(?:^|/)(?:\w*migrations?|migrate|alembic/versions)/")
# In a path, the code of a language that another file has English texts for.
LANGUAGE = re.compile(r"(?<![^/])(?!en\b|en_)[a-z]{2,3}(?:[-_]\w+)?(?=[/.])")
ENGLISH = ("en", "en-US", "en_US")
# Factors on the score of test helpers among tests; among sources of examples, migrations and
# translations.
DEMOTION, MIGRATION_DEMOTION, TRANSLATION_DEMOTION = 0.8, 0.4, 0.1
K1, B = 1.2, 0.75  # BM25 for paths; SQLite uses the same values


@dataclass(slots=True)
class Match:
    """How well one file matches the words: by BM25, by the sum of their weights, and by the sum of
    their weighted rarities.
    """

    bm25: float = 0.0
    words: float = 0.0
    rarity: float = 0.0


class Term(NamedTuple):
    """One search word, its weight, and the rows of its files with its BM25 frequency factor, 0 to
    K1 + 1.
    """

    word: str
    weight: float
    rows: Mapping[int, float]


@dataclass
class Lookup:
    """The words of a request, looked up once in the index for all kinds of files."""

    connection: sqlite3.Connection
    weights: Mapping[str, float]  # of each word, the likeliest first
    text: str = ""  # the request as it was written
    scope: str = ""  # what ranked paths begin with: a folder and its slash
    read: Callable[[str], str | None] = lambda _: None  # a file's text, by its path
    meaning: float = 0.0  # how much it counts what names mean, from 0 to 1

    def __post_init__(self) -> None:
        self._defined: dict[str, dict[int, float]] = {}
        self._names: dict[int, frozenset[str]] = {}
        self.blocks: dict[str, list[Counter[str]]] = {}  # by path: the stems of each block

    @property
    def is_report(self) -> bool:
        """Whether the request is as long as an issue report, most of whose words are irrelevant."""
        return len(self.text.split()) >= MIN_REPORT

    @cached_property
    def files(self) -> dict[int, tuple[str, str]]:
        """The path and role of every file, by row."""
        rows = self.connection.execute("SELECT id, path, role FROM files ORDER BY path")
        return {row: (path, role) for row, path, role in rows}

    @cached_property
    def terms(self) -> list[Term]:
        looked_up = list(self.weights)[:MAX_LOOKED_UP]
        found = [Term(word, self.weights[word], self._rows(word)) for word in looked_up]
        known = [term for term in found if term.rows]
        return sorted(known, key=lambda term: len(term.rows) / term.weight)[:MAX_TERMS]

    @cached_property
    def rarities(self) -> dict[str, float]:
        """How rare each known word is among the project's files: 0 if every file contains it."""
        total = len(self.files)
        return {term.word: rarity(total, len(term.rows)) for term in self.terms}

    @cached_property
    def rows(self) -> dict[str, int]:
        return {path: row for row, (path, _) in self.files.items()}

    @cached_property
    def stems(self) -> dict[str, float]:
        """The weight of each word's stem."""
        return stem_weights(self.weights)

    @cached_property
    def stems_in(self) -> StemsIn:
        return StemsIn(self.stems)

    def defined(self, word: str) -> dict[int, float]:
        """The files with a definition whose name has this word."""
        if word not in self._defined:
            self._defined[word] = self._rows(word, DEFINED, "defs : ")
        return self._defined[word]

    def names_of(self, row: int) -> frozenset[str]:
        """The names a file defines, in lower case, without `_` and `$` at the ends."""
        if row not in self._names:
            names = (name.lower().strip("_$") for name in self.definitions(row))
            self._names[row] = frozenset(names)
        return self._names[row]

    def definitions(self, row: int) -> list[str]:
        """The names a file defines, as written."""
        sql = "SELECT names FROM files WHERE id = ?"
        names: str = self.connection.execute(sql, (row,)).fetchone()[0]
        return names.split("\n")

    @cached_property
    def messages(self) -> dict[str, list[int]]:
        """For each word, the rows of the commits whose messages contain it, newest first.

        Sums over them must not depend on the order in which the index read the commits.
        """
        sql = "SELECT rowid FROM messages WHERE messages MATCH ?"
        known = self.commits
        found = {}
        for word in list(self.weights)[:MAX_LOOKED_UP]:
            rows = [row for (row,) in self.connection.execute(sql, (quoted(word),)) if row in known]
            if rows:
                found[word] = sorted(rows, key=lambda row: known[row].place)
        return dict(
            sorted(found.items(), key=lambda item: len(item[1]) / self.weights[item[0]])[:MAX_TERMS]
        )

    def rows_with(self, match: str, limit: int = -1) -> list[int]:
        """The rows of the files that match an expression of the full-text index."""
        sql = "SELECT rowid FROM words WHERE words MATCH ? LIMIT ?"
        return [row for (row,) in self.connection.execute(sql, (match, limit))]

    def _rows(
        self, word: str, columns: tuple[float, ...] = COLUMNS, within: str = ""
    ) -> dict[int, float]:
        match = within + quoted(word)
        if len(self.files) > MAX_HOLDERS:  # counting takes a fifth of the time of scoring
            sql = "SELECT count(*) FROM words WHERE words MATCH ?"
            if self.connection.execute(sql, (match,)).fetchone()[0] > MAX_HOLDERS:
                return {}
        sql = "SELECT rowid, bm25(words, ?, ?, ?) FROM words WHERE words MATCH ?"
        rows = self.connection.execute(sql, (*columns, match)).fetchall()
        total = len(self.files)
        # The IDF that SQLite multiplied in.
        rarity = max(math.log((total - len(rows) + 0.5) / (len(rows) + 0.5)), 1e-6)
        return {row: -score / rarity for row, score in rows}

    @cached_property
    def commits(self) -> dict[int, commits.PastCommit]:
        return commits.commits(self.connection)


class Search:
    """What signals work on: the words of a request among the files of some roles."""

    def __init__(self, lookup: Lookup, roles: Sequence[str], sources: Sequence[str] = ()) -> None:
        self.lookup = lookup
        self.sources = sources  # the best sources, when tests are searched
        found = lookup.files.items()
        self.paths = {
            row: path
            for row, (path, role) in found
            if role in roles and path.startswith(lookup.scope)
        }
        self.rows = {path: row for row, path in self.paths.items()}
        self.demoted = {
            path: factor
            for path, role in lookup.files.values()
            if role in roles and (factor := _demotion(path, role, lookup)) < 1
        }
        report = lookup.is_report and "source" in roles
        # The key of the weights.
        self.kind = "tests" if "test" in roles else "reports" if report else "files"
        # Best first; the second pass starts from what the first one found.
        self.fused: list[str] = []

    @property
    def terms(self) -> list[Term]:
        return self.lookup.terms

    @cached_property
    def past(self) -> dict[int, list[str]]:
        """The files that each commit changed, by row; without commits that changed none of them."""
        found = {
            row: [path for path in of.paths if path in self.rows]
            for row, of in self.lookup.commits.items()
        }
        return {row: paths for row, paths in found.items() if paths}

    @cached_property
    def matches(self) -> dict[str, Match]:
        """The match of each file that contains any of the words."""
        found: dict[str, Match] = defaultdict(Match)
        for term in self.terms:
            paths = self.paths_of(term.rows)
            rare = rarity(len(self.paths), len(paths)) * term.weight
            for path in paths:
                match = found[path]
                match.bm25 += rare * term.rows[self.rows[path]]
                match.words += term.weight
                match.rarity += rare
        return found

    @property
    def best(self) -> Sequence[str]:
        """The best sources: what tests are searched for, else what the first pass found."""
        return self.sources or self.fused

    def paths_of(self, rows: Iterable[int]) -> list[str]:
        """The paths of those rows that are searched."""
        return [self.paths[row] for row in rows if row in self.paths]

    @cached_property
    def path_stems(self) -> dict[str, frozenset[str]]:
        return {path: words.stems(path) for path in self.paths.values()}

    @cached_property
    def name_stems(self) -> dict[str, frozenset[str]]:
        return {path: words.stems(words.stem_of(path)) for path in self.paths.values()}

    @cached_property
    def by_module(self) -> dict[str, list[tuple[str, str]]]:
        """The files by the last part of their module's name: path and whole name in lower case."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for path in self.paths.values():
            own = imports.own(path).lower()
            found[own.rpartition("/")[2]].append((path, own))
        return found


def _demotion(path: str, role: str, lookup: Lookup) -> float:
    """What a file's score is multiplied by, unless it is asked for."""
    if role == "support" or (role == "source" and EXAMPLE_FOLDER.search(path)):
        return DEMOTION
    if role == "source" and _is_translation(path, lookup.rows):
        return TRANSLATION_DEMOTION
    is_past = role == "source" and MIGRATION_FOLDER.search(path)
    return MIGRATION_DEMOTION if is_past and words.stem("migration") not in lookup.stems else 1


def _is_translation(path: str, known: Container[str]) -> bool:
    """Whether another file has the same texts in English: `lang/de/shop.php`."""
    return any(
        f"{path[: code.start()]}{english}{path[code.end() :]}" in known
        for code in LANGUAGE.finditer(path)
        for english in ENGLISH
    )


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def rarity(total: int, containing: int) -> float:
    return math.log(1 + (total - containing + 0.5) / (containing + 0.5))


def quoted(word: str) -> str:
    return '"' + word.replace('"', "") + '"'
