"""Writes nodes and edges. Each edge belongs to an origin, and is replaced together with it."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from preread.graph.model import CONFIDENCE, EdgeKind, NodeKind
from preread.infra import sqlite
from preread.roles import role_of

INSERT = """INSERT INTO nodes (key, kind, name, path, line, state, confidence)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"""
ANY = f"{INSERT} key = excluded.key RETURNING id"
BEST = f"""{INSERT} kind = excluded.kind, name = excluded.name, path = excluded.path,
    line = excluded.line, state = excluded.state, confidence = excluded.confidence RETURNING id"""
# Origins per transaction. Each transaction rewrites pages all over the index, and other processes
# wait meanwhile: half a second where code is parsed.
TOGETHER = 100


class Key(NamedTuple):
    """A node's identity, and what is known about it where it is mentioned."""

    id: str
    kind: NodeKind
    name: str
    path: str = ""
    line: int = 0
    state: str = "computed"
    confidence: float = 0.95


def file_node(path: str) -> Key:
    """The node of a file, or of a document."""
    kind: NodeKind = "document" if role_of(path) == "doc" else "file"
    return Key(f"{kind}:{path}", kind, path, path)


def node_of_test(path: str, name: str, line: int = 0) -> Key:
    return Key(f"test:{path}::{name}", "test", name, path, line)


class Writer:
    """One update of the graph, on a connection that nothing else uses for writing."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._ids: dict[str, int] = {}
        self._touched: set[int] = set()  # nodes that lost an edge
        self._origin = 0
        self._edges: list[tuple[object, ...]] = []

    def digests(self, prefix: str) -> dict[str, str]:
        """The origins with a prefix, each with the digest of its inputs."""
        sql = "SELECT name, digest FROM origins WHERE name >= ? AND name < ?"
        rows = self.connection.execute(sql, (prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)))
        return {name.removeprefix(prefix): digest for name, digest in rows}

    def each(
        self, names: Sequence[str], write: Callable[[str], None], say: Callable[[float], None]
    ) -> None:
        """Call `write`, which adds an origin, for each name, in few transactions.

        `say` gets the finished share before each transaction.
        """
        for begin in range(0, len(names), TOGETHER):
            say(begin / len(names))
            with sqlite.transaction(self.connection):
                for name in names[begin : begin + TOGETHER]:
                    write(name)

    @contextmanager
    def origin(self, name: str, digest: str) -> Iterator[None]:
        """Replace everything from an origin by what the block adds."""
        is_part = self.connection.in_transaction
        with nullcontext() if is_part else sqlite.transaction(self.connection):
            self.forget(name)
            sql = "INSERT INTO origins (name, digest) VALUES (?, ?)"
            self._origin = self.connection.execute(sql, (name, digest)).lastrowid or 0
            yield
            sql = "INSERT OR IGNORE INTO edges VALUES (?, ?, ?, ?, ?, ?, ?)"
            self.connection.executemany(sql, self._edges)
            self._edges.clear()

    def forget(self, name: str) -> None:
        """Delete an origin and its edges."""
        found = self.connection.execute("SELECT id FROM origins WHERE name = ?", (name,)).fetchone()
        if found is None:
            return
        for ends in self.connection.execute(
            "SELECT source, target FROM edges WHERE origin = ?", found
        ):
            self._touched.update(ends)
        self.connection.execute("DELETE FROM edges WHERE origin = ?", found)
        self.connection.execute("DELETE FROM origins WHERE id = ?", found)

    def outdate(self, names: Iterable[str]) -> None:
        """Mark these origins as outdated, so that they are rebuilt."""
        sql = "UPDATE origins SET digest = '' WHERE name = ?"
        self.connection.executemany(sql, [(name,) for name in names])

    def note(self, prefix: str, digests: Mapping[str, str]) -> None:
        """Make these the only origins with a prefix; they have no edges."""
        known = self.digests(prefix)
        gone = [(prefix + name,) for name in known.keys() - digests.keys()]
        new = [(prefix + name, digest) for name, digest in digests.items() - known.items()]
        if gone or new:
            with sqlite.transaction(self.connection):
                self.connection.executemany("DELETE FROM origins WHERE name = ?", gone)
                sql = "INSERT OR REPLACE INTO origins (name, digest) VALUES (?, ?)"
                self.connection.executemany(sql, new)

    def clean(self) -> None:
        """Delete the nodes that have lost their last edge."""
        lonely = """DELETE FROM nodes WHERE id = ? AND NOT EXISTS
            (SELECT 1 FROM edges WHERE source = nodes.id) AND NOT EXISTS
            (SELECT 1 FROM edges WHERE target = nodes.id)"""
        if self._touched:
            with sqlite.transaction(self.connection):
                self.connection.executemany(lonely, [(id_,) for id_ in self._touched])
        self._touched.clear()
        self._ids.clear()

    def node(self, key: Key, *, known_best: bool = False) -> int:
        """A node's row id; adds it if new. With `known_best`, `key` overwrites older details."""
        row = self._ids.get(key.id)
        if row is None or known_best:
            values = (key.id, key.kind, key.name, key.path, key.line, key.state, key.confidence)
            sql = BEST if known_best else ANY
            [row] = self.connection.execute(sql, values).fetchone()
            self._ids[key.id] = row
        return int(row)

    def edge(
        self,
        source: int,
        kind: EdgeKind,
        target: int,
        cited: str,
        state: str = "computed",
        confidence: float | None = None,
    ) -> None:
        """Add an edge; loops are ignored."""
        if source != target:
            sure = CONFIDENCE[kind] if confidence is None else confidence
            self._edges.append((source, kind, target, self._origin, cited, state, round(sure, 2)))
