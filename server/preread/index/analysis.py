"""A cache of expensive analyses in the derived database: outlines, details and `git log` output.

Outlines and details live in the row of their file, which is deleted when the file's text changes. A
log is keyed by everything its output depends on. Whatever cannot be read or written is computed
again: the database only saves time.
"""

import hashlib
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property

from preread import syntax
from preread.index import reader
from preread.index.serialization import Whole, pack, unpack
from preread.infra import sqlite
from preread.project.read import data_at
from preread.project.tree import Tree
from preread.syntax import Details, Outline

MAX_BYTES = 6_000_000  # of a log
MAX_LOGS = 100  # a build needs two
# Milliseconds to wait for other writers: beyond that, computing again is faster.
BUSY_TIMEOUT = 1_000
CORRUPT = (sqlite3.Error, zlib.error, ValueError, TypeError, LookupError)


class AnalysisCache:
    """The cached analyses, for one build; `store` writes the ones that were missing."""

    def __init__(self, tree: Tree, connection: sqlite3.Connection) -> None:
        self._tree, self._connection = tree, connection
        # By column of the table `files`: compressed analyses, each with its path and digest.
        self._analyses: dict[str, list[tuple[bytes, str, str]]] = defaultdict(list)
        self._logs: list[tuple[str, str, bytes]] = []

    def text(self, path: str) -> str | None:
        return self._tree.text(path)

    def outline(self, path: str) -> Outline:
        """The outline of a file's current text."""
        known = self._tree.outlines
        if path not in known:
            text = self._tree.text(path) or ""
            known[path] = self._analysis(Outline, "outline", path, text, syntax.outline)
        return known[path]

    def details(self, path: str, text: str) -> Details:
        """The details of a file with this text."""
        return self._analysis(Details, "details", path, text, syntax.details)

    def _analysis(
        self,
        kind: type[Whole],
        column: str,
        path: str,
        text: str,
        analyse: Callable[[str, str], Whole],
    ) -> Whole:
        digest = reader.digest_of(text)
        # The column is one of two constants.
        sql = f"SELECT {column} FROM files WHERE path = ? AND digest = ?"  # noqa: S608
        try:
            if (packed := self._cached(sql, path, digest)) is not None:
                return unpack(kind, packed.decode())
        except CORRUPT:
            pass
        found = analyse(path, text)
        self._analyses[column].append((zlib.compress(pack(found).encode(), 1), path, digest))
        return found

    def log(self, *arguments: str) -> bytes:
        """The output of `git log`, at most MAX_BYTES; empty where there is no history."""
        if self._state is None:
            return b""
        head, state = self._state
        inputs = repr((state, arguments)).encode("utf-8", "surrogateescape")
        key = hashlib.sha256(inputs).hexdigest()
        output = self._cached("SELECT output FROM logs WHERE key = ?", key)
        if output is None:
            done = self._tree.git("log", *arguments, must=True)
            output = done.out[:MAX_BYTES]
            if done.status == 0 and not done.timed_out:
                self._logs.append((key, head, zlib.compress(output, 1)))
        return output

    def _cached(self, sql: str, *values: str) -> bytes | None:
        try:
            row = self._connection.execute(sql, values).fetchone()
            return zlib.decompress(row[0])
        except CORRUPT:  # or missing
            return None

    @cached_property
    def _state(self) -> tuple[str, list[bytes]] | None:
        """HEAD, and what else every log of this repository depends on; None without a commit.

        Commits never change, but a shallow clone or a graft removes or adds parents.
        """
        if not self._tree.is_git:
            return None
        places = ("--git-path", "shallow", "--git-path", "info/grafts")
        done = self._tree.git("rev-parse", "HEAD", "--show-prefix", *places)
        if done.status != 0:
            return None
        head, *paths = done.out.decode("utf-8", "surrogateescape").split("\n")
        cuts = [data_at(str(self._tree.root / path)) or b"" for path in paths if path]
        return head, [done.out, *cuts, self._tree.git("config", "--list", "-z").out]

    def store(self) -> None:
        """Write the new results for the next build; does nothing if the database cannot be
        written.
        """
        if not self._analyses and not self._logs:
            return
        try:
            self._connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT}")
            with sqlite.transaction(self._connection):
                self._write()
        except sqlite3.Error:
            return

    def _write(self) -> None:
        for column, found in self._analyses.items():
            sql = f"UPDATE files SET {column} = ? WHERE path = ? AND digest = ?"  # noqa: S608
            self._connection.executemany(sql, found)
        if self._logs:
            self._connection.execute("DELETE FROM logs WHERE head != ?", (self._logs[0][1],))
            self._connection.executemany(
                "INSERT OR REPLACE INTO logs (key, head, output) VALUES (?, ?, ?)", self._logs
            )
            newest = "SELECT rowid FROM logs ORDER BY rowid DESC LIMIT ?"
            oldest = f"DELETE FROM logs WHERE rowid NOT IN ({newest})"  # noqa: S608 - a constant
            self._connection.execute(oldest, (MAX_LOGS,))
