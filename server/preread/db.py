"""The derived database: opened with its schema, healed by starting again when it is not one."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from preread import atomic
from preread.errors import PrereadError
from preread.layout import Layout

T = TypeVar("T")
VERSION = 1
SCHEMA = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
    trusted INTEGER NOT NULL, digest TEXT NOT NULL, role TEXT NOT NULL, outline TEXT NOT NULL
);
CREATE INDEX files_role ON files (role);
CREATE VIRTUAL TABLE words USING fts5 (path, defs, body, tokenize = "porter unicode61 tokenchars '_'");
CREATE TABLE sources_of_facts (path TEXT PRIMARY KEY, digest TEXT NOT NULL);
CREATE TABLE facts (
    id TEXT NOT NULL, feature TEXT NOT NULL, path TEXT NOT NULL, line INTEGER NOT NULL, kind TEXT NOT NULL,
    section TEXT NOT NULL, text TEXT NOT NULL, sources TEXT NOT NULL, state TEXT NOT NULL, confidence REAL NOT NULL
);
CREATE INDEX facts_path ON facts (path);
CREATE VIRTUAL TABLE fact_words USING fts5 (text, section, feature, tokenize = "porter unicode61");
CREATE TABLE held (key TEXT PRIMARY KEY, signature TEXT NOT NULL);
"""


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")  # derived: a lost page costs a rebuild, not a fact
        if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
            return connection
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            old = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            if old:
                raise sqlite3.DatabaseError("another schema")
            for statement in SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _start_again(layout: Layout) -> None:
    """Set a broken database aside under a lock, unless another process has just done so."""
    with FileLock(layout.lock("db"), timeout=30):
        with suppress(sqlite3.DatabaseError), closing(_open(layout.db)) as connection:
            if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok":
                return
        for suffix in ("", "-wal", "-shm"):
            atomic.remove(layout.db.with_name(layout.db.name + suffix))


def use(layout: Layout, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` on a connection in autocommit mode; a corrupt file is replaced by an empty one and `work` runs again.

    Raises E_WRITE when the database cannot be written or stays locked for 30 s.
    """
    atomic.make_folder(layout.lock("db").parent)
    for attempt in (1, 2):
        try:
            with closing(_open(layout.db)) as connection:
                return work(connection)
        except sqlite3.OperationalError as error:
            raise PrereadError(
                "E_WRITE",
                f"{layout.db} cannot be used: {error}.",
                "It is derived and may be deleted; make room or mend the permissions, then call again.",
            ) from error
        except sqlite3.DatabaseError:
            if attempt == 2:
                raise
            _start_again(layout)
    raise AssertionError("unreachable")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of the block or none of it, alone among writers."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
