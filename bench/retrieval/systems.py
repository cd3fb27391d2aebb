"""What is compared: one shape for all, and the baselines that need nothing but the standard
library.
"""

import math
import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import NamedTuple, Protocol

from kinds import ASIDE, OTHER, SOURCE, TEST, kind_of
from repositories import File, State

DEPTH = 50  # of a ranking; no measure looks further
KINDS = {SOURCE: (SOURCE, ASIDE), TEST: (TEST,)}


class Task(NamedTuple):
    """The words that are asked with: a commit's subject, and its body where the kind of question
    has one.
    """

    subject: str
    body: str = ""
    report: bool = False  # an issue of a tracker, not what was done

    @property
    def text(self) -> str:
        return f"{self.subject}\n{self.body}".strip()


class Ranking(NamedTuple):
    """Paths, best first; sources and tests apart."""

    sources: list[str]
    tests: list[str]


class System(Protocol):
    """One way to rank. It is made anew for each repository, and told of every tree before it is
    asked about it.
    """

    def update(self, state: State) -> None: ...

    def rank(self, task: Task) -> Ranking: ...

    def size(self) -> int:
        """Bytes of the index on disk; 0 where it is kept in memory."""
        ...

    def close(self) -> None: ...


_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_a-zA-Z]+")
STOP = frozenset(
    "a an and are as at be but by for from if in into is it its no not of on or so than that the "
    "their then there these"
    " this to was we when which will with you".split()
)


def tokens(text: str) -> Counter[str]:
    """Lower-case words, identifiers both whole and in parts, without the commonest words of
    English.
    """
    found: Counter[str] = Counter()
    for word, n in Counter(_WORD.findall(text)).items():
        parts = [part.lower() for part in _PART.findall(word)]
        for token in parts if len(parts) == 1 else (*parts, word.lower()):
            if token not in STOP:
                found[token] += n
    return found


def candidates(state: State) -> list[File]:
    return [file for file in state.files if kind_of(file.path) != OTHER]


class _InMemory:
    """Word counts by blob: a tree that differs in one file costs that file."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Counter[str]] = {}
        self._files: dict[str, Counter[str]] = {}

    def update(self, state: State) -> None:
        known: dict[tuple[str, str], Counter[str]] = {}
        for file in candidates(state):
            key = (file.blob, file.path)
            counts = self._known.get(key)
            known[key] = (
                counts if counts is not None else tokens(f"{file.path}\n{state.text(file.path)}")
            )
        self._known = known
        self._files = {path: counts for (_, path), counts in known.items()}

    def rank(self, task: Task) -> Ranking:
        wanted = sorted(tokens(task.text))
        return Ranking(self._ranked(wanted, SOURCE), self._ranked(wanted, TEST))

    def _ranked(self, wanted: list[str], kind: str) -> list[str]:
        files = {
            path: counts for path, counts in self._files.items() if kind_of(path) in KINDS[kind]
        }
        scores = self.scores(wanted, files)
        return sorted(
            (path for path in scores if scores[path] > 0), key=lambda path: (-scores[path], path)
        )[:DEPTH]

    def scores(self, wanted: list[str], files: dict[str, Counter[str]]) -> dict[str, float]:
        raise NotImplementedError

    def size(self) -> int:
        return 0

    def close(self) -> None:
        self._known, self._files = {}, {}


class KeywordCount(_InMemory):
    """How many of the words a file holds, then how often: what a patient `grep -c` for each of
    them gives.
    """

    def scores(self, wanted: list[str], files: dict[str, Counter[str]]) -> dict[str, float]:
        found = {}
        for path, counts in files.items():
            held = [counts[word] for word in wanted if word in counts]
            found[path] = len(held) + sum(held) / (1 + sum(held))
        return found


class Bm25(_InMemory):
    """Okapi BM25 over path and text of whole files, words split as `tokens` says; k1 1.2, b 0.75."""

    k1, b = 1.2, 0.75

    def update(self, state: State) -> None:
        super().update(state)
        self._lengths = {path: sum(counts.values()) for path, counts in self._files.items()}

    def scores(self, wanted: list[str], files: dict[str, Counter[str]]) -> dict[str, float]:
        total = len(files)
        average = sum(self._lengths[path] for path in files) / max(total, 1) or 1.0
        holders = {word: sum(word in counts for counts in files.values()) for word in wanted}
        idf = {
            word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in holders.items() if n
        }
        found = {}
        for path, counts in files.items():
            norm = self.k1 * (1 - self.b + self.b * self._lengths[path] / average)
            found[path] = sum(
                weight * counts[word] * (self.k1 + 1) / (counts[word] + norm)
                for word, weight in idf.items()
                if word in counts
            )
        return found


class Fts5:
    """SQLite's full-text search as it comes: porter stemmer, path and text, its own bm25()."""

    def __init__(self, place: Path) -> None:
        self._place = place
        place.unlink(missing_ok=True)
        self._db = sqlite3.connect(place, isolation_level=None)
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA journal_mode = MEMORY")
        for kind in KINDS:  # a table each, so that neither's words are rare because of the other
            self._db.execute(
                f"CREATE VIRTUAL TABLE {kind} USING fts5 (path, body, tokenize = 'porter "
                f"unicode61')"
            )
        self._rows: dict[File, int] = {}
        self._next = 1

    def update(self, state: State) -> None:
        files = candidates(state)
        self._db.execute("BEGIN")
        for file in self._rows.keys() - set(files):
            self._db.execute(
                f"DELETE FROM {self._table(file.path)} WHERE rowid = ?", (self._rows.pop(file),)
            )
        for file in files:
            if file not in self._rows:
                self._rows[file] = self._next
                values = (self._next, file.path, state.text(file.path))
                self._db.execute(
                    f"INSERT INTO {self._table(file.path)} (rowid, path, body) VALUES (?, ?, ?)",
                    values,
                )
                self._next += 1
        self._db.execute("COMMIT")

    @staticmethod
    def _table(path: str) -> str:
        return next(table for table, kinds in KINDS.items() if kind_of(path) in kinds)

    def rank(self, task: Task) -> Ranking:
        words = dict.fromkeys(word for word in _WORD.findall(task.text.lower()) if word not in STOP)
        match = " OR ".join(f'"{word}"' for word in words)
        sql = "SELECT path FROM {0} WHERE {0} MATCH ? ORDER BY bm25({0}), path LIMIT ?"
        found = (
            [path for (path,) in self._db.execute(sql.format(table), (match, DEPTH))]
            if match
            else []
            for table in (SOURCE, TEST)
        )
        return Ranking(*found)

    def size(self) -> int:
        return self._place.stat().st_size

    def close(self) -> None:
        self._db.close()
        self._place.unlink(missing_ok=True)
