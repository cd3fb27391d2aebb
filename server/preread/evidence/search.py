"""One search: the words of a request with what each is worth, and the files of the asked roles that hold them."""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from preread.evidence import past, words

COLUMNS = (0.0, 1.0, 1.0)  # path, definitions, body: a path's words have a length and a rarity of their own
MOST_LOOKED_UP = 120  # words of a request
MOST_TERMS = 40  # of these, the rarest
K1, B = 1.2, 0.75  # of BM25, for paths; SQLite's are the same


class Term(NamedTuple):
    """One word to search for, what it is worth, and the files' rows with how much it fills each, 0 to K1 + 1."""

    word: str
    weight: float
    rows: Mapping[int, float]


@dataclass
class Asked:
    """A request's words, looked up once for all kinds of files."""

    connection: sqlite3.Connection
    weights: Mapping[str, float]  # of each word, the likeliest first

    @cached_property
    def files(self) -> dict[int, tuple[str, str]]:
        """The path and the role of every file, by its row."""
        return {row: (path, role) for row, path, role in self.connection.execute("SELECT id, path, role FROM files")}

    @cached_property
    def terms(self) -> list[Term]:
        looked_up = list(self.weights)[:MOST_LOOKED_UP]
        found = [Term(word, self.weights[word], self._rows(word)) for word in looked_up]
        known = [term for term in found if term.rows]
        return sorted(known, key=lambda term: len(term.rows) / term.weight)[:MOST_TERMS]

    def _rows(self, word: str) -> dict[int, float]:
        sql = "SELECT rowid, bm25(words, ?, ?, ?) FROM words WHERE words MATCH ?"
        rows = self.connection.execute(sql, (*COLUMNS, quoted(word))).fetchall()
        total = len(self.files)
        rarity = max(math.log((total - len(rows) + 0.5) / (len(rows) + 0.5)), 1e-6)  # what SQLite multiplies by
        return {row: -score / rarity for row, score in rows}

    @cached_property
    def commits(self) -> dict[int, past.Past]:
        return past.commits(self.connection)


class Search:
    """What signals look at: the asked words among the files of some roles."""

    def __init__(self, asked: Asked, roles: Sequence[str], sources: Sequence[str] = ()) -> None:
        self.asked, self.sources = asked, sources  # the best sources, when this search is for something else
        self.paths = {row: path for row, (path, role) in asked.files.items() if role in roles}
        self.rows = {path: row for row, path in self.paths.items()}
        self.helpers = frozenset(p for p, role in asked.files.values() if role == "support" and "test" in roles)
        self.fused: list[str] = []  # the best by the signals that need no other files, for those that do

    @property
    def terms(self) -> list[Term]:
        return self.asked.terms

    @cached_property
    def rarity(self) -> dict[str, float]:
        """What meeting each word says, by how few of these files hold it."""
        total = len(self.paths)
        held = {term.word: len(term.rows.keys() & self.paths.keys()) for term in self.terms}
        return {word: rarity(total, n) for word, n in held.items()}

    @cached_property
    def said(self) -> dict[str, float]:
        """BM25 of the words in what each file says and defines."""
        found: dict[str, float] = {}
        for term in self.terms:
            worth = term.weight * self.rarity[term.word]
            for row, filled in term.rows.items():
                if (path := self.paths.get(row)) is not None:
                    found[path] = found.get(path, 0.0) + worth * filled
        return found

    @cached_property
    def path_stems(self) -> dict[str, frozenset[str]]:
        return {path: words.stems(path) for path in self.paths.values()}


def rarity(total: int, held: int) -> float:
    return math.log(1 + (total - held + 0.5) / (held + 0.5))


def quoted(word: str) -> str:
    return '"' + word.replace('"', "") + '"'
