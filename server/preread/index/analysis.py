"""A cache of expensive analyses in the derived database: outlines, details and `git log` output.

Outlines and details live in the row of their file, which is deleted when the file's text changes. A
log is keyed by everything its output depends on. Whatever cannot be read or written is computed
again: the database only saves time.
"""

import hashlib
import sqlite3
import zlib
from functools import cached_property
from typing import NamedTuple

from preread import syntax
from preread.index import reader
from preread.index.serialization import pack, unpack
from preread.infra import sqlite
from preread.project.read import data_at
from preread.project.tree import Tree
from preread.syntax import Details, Outline

ANALYSIS = "2:"  # raise it when the same text yields different details
MAX_BYTES = 6_000_000  # of a log
MAX_LOGS = 100  # a build needs two
BUSY_TIMEOUT = (
    1_000  # milliseconds to wait for other writers: beyond that, computing again is faster
)
CORRUPT = (sqlite3.Error, zlib.error, ValueError, TypeError, LookupError)


class _State(NamedTuple):
    """What every log of this repository depends on besides its arguments: commits and git
    settings.
    """

    head: str
    rest: tuple[object, ...]


class AnalysisCache:
    """The cached analyses, for one build; `store` writes the ones that were missing."""

    def __init__(self, tree: Tree, connection: sqlite3.Connection) -> None:
        self._tree, self._connection = tree, connection
        self._outlines: list[tuple[bytes, str, str]] = []
        self._details: list[tuple[bytes, str, str]] = []
        self._logs: list[tuple[str, str, bytes]] = []

    def outline(self, path: str) -> Outline:
        """The outline of a file's current text."""
        known = self._tree.outlines
        if path in known:
            return known[path]
        digest = reader.digest_of(self._tree.text(path) or "")
        sql = "SELECT outline FROM files WHERE path = ? AND digest = ?"
        try:
            if packed := self._cached(sql, path, digest):
                known[path] = unpack(Outline, zlib.decompress(packed).decode())
                return known[path]
        except CORRUPT:
            pass
        found = self._tree.outline(path)
        self._outlines.append((_compressed(found), path, digest))
        return found

    def text(self, path: str) -> str | None:
        return self._tree.text(path)

    def details(self, path: str, text: str) -> Details:
        """The details of a file with this text."""
        digest = reader.digest_of(text)
        sql = "SELECT details FROM files WHERE path = ? AND digest = ?"
        packed = self._cached(sql, path, digest)
        try:
            if packed.startswith(ANALYSIS.encode()):
                return unpack(Details, zlib.decompress(packed[len(ANALYSIS) :]).decode())
        except CORRUPT:
            pass
        found = syntax.details(path, text)
        self._details.append((ANALYSIS.encode() + _compressed(found), path, digest))
        return found

    def log(self, *arguments: str) -> bytes:
        """The output of `git log`, at most MAX_BYTES; empty where there is no history."""
        if (state := self._state) is None:
            return b""
        key = self._key(state, arguments)
        try:
            if packed := self._cached("SELECT output FROM logs WHERE key = ?", key):
                return zlib.decompress(packed)
        except CORRUPT:
            pass
        done = self._tree.git("log", *arguments, must=True)
        output = done.out[:MAX_BYTES]
        if done.status == 0 and not done.timed_out:
            self._logs.append((key, state.head, zlib.compress(output, 1)))
        return output

    def _cached(self, sql: str, *values: str) -> bytes:
        try:
            row = self._connection.execute(sql, values).fetchone()
        except sqlite3.Error:
            return b""
        return row[0] if row is not None and isinstance(row[0], bytes) else b""

    @cached_property
    def _state(self) -> _State | None:
        """None without a commit. Commits never change, but a shallow clone or a graft removes or
        adds parents.
        """
        if not self._tree.is_git:
            return None
        places = ("--git-path", "shallow", "--git-path", "info/grafts")
        done = self._tree.git("rev-parse", "HEAD", "--show-prefix", *places)
        if done.status != 0:
            return None
        head, *paths = done.out.decode("utf-8", "surrogateescape").split("\n")
        cuts = [self._content(path) for path in paths if path]
        settings = self._tree.git("config", "--list", "-z")
        return _State(head, (done.out, *cuts, settings.status, settings.out))

    def _content(self, path: str) -> bytes:
        return data_at(str(self._tree.root / path)) or b""

    def _key(self, state: _State, arguments: tuple[str, ...]) -> str:
        """The hash of commits, settings and arguments; for patches also of the attributes, which
        decide what counts as text.
        """
        paths = arguments[arguments.index("--") :]
        attributes = (
            self._tree.git("check-attr", "-a", "-z", *paths).out if "--patch" in arguments else b""
        )
        return hashlib.sha256(
            repr((state, arguments, attributes)).encode("utf-8", "surrogateescape")
        ).hexdigest()

    def store(self) -> None:
        """Write the new results for the next build; does nothing if the database cannot be
        written.
        """
        if not self._outlines and not self._details and not self._logs:
            return
        try:
            self._connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT}")
            with sqlite.transaction(self._connection):
                self._write()
        except sqlite3.Error:
            return

    def _write(self) -> None:
        self._connection.executemany(
            "UPDATE files SET outline = ? WHERE path = ? AND digest = ?", self._outlines
        )
        self._connection.executemany(
            "UPDATE files SET details = ? WHERE path = ? AND digest = ?", self._details
        )
        if self._logs:
            self._connection.execute("DELETE FROM logs WHERE head != ?", (self._logs[0][1],))
            self._connection.executemany(
                "INSERT OR REPLACE INTO logs (key, head, output) VALUES (?, ?, ?)", self._logs
            )
            newest = "SELECT rowid FROM logs ORDER BY rowid DESC LIMIT ?"
            oldest = f"DELETE FROM logs WHERE rowid NOT IN ({newest})"  # noqa: S608 - a constant
            self._connection.execute(oldest, (MAX_LOGS,))


def _compressed(record: Outline | Details) -> bytes:
    return zlib.compress(pack(record).encode(), 1)
