"""The derived database: made whole before it is in place, replaced when it is none of this schema."""

import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from preread.errors import PrereadError
from preread.infra import atomic
from preread.layout import Layout

T = TypeVar("T")
PATIENCE = 30.0  # seconds to wait for other processes
MOST_VALUES = 8_000  # of one statement
SCHEMA = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
    trusted INTEGER NOT NULL, digest TEXT NOT NULL, way TEXT NOT NULL, role TEXT NOT NULL,
    names TEXT NOT NULL, defines INTEGER NOT NULL, outline BLOB, details BLOB
);
CREATE INDEX files_role ON files (role);
CREATE INDEX files_known ON files (path, size, mtime, trusted, digest, way, role);
CREATE TABLE chosen (choice TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (path, defs, body, tokenize = "porter unicode61 tokenchars '_'");
CREATE TABLE logs (key TEXT PRIMARY KEY, head TEXT NOT NULL, output BLOB NOT NULL);
CREATE TABLE commits (
    id INTEGER PRIMARY KEY, sha TEXT NOT NULL UNIQUE, changes TEXT NOT NULL, place INTEGER, paths TEXT NOT NULL
);
CREATE VIRTUAL TABLE messages USING fts5 (text, tokenize = "porter unicode61 tokenchars '_'");
CREATE TABLE past (state TEXT NOT NULL);
CREATE TABLE links (file INTEGER NOT NULL, tail TEXT NOT NULL, whole TEXT NOT NULL, own INTEGER NOT NULL);
CREATE INDEX links_file ON links (file);
CREATE INDEX links_tail ON links (tail, own);
CREATE TRIGGER links_gone AFTER DELETE ON files BEGIN DELETE FROM links WHERE file = old.id; END;
CREATE TABLE sources_of_facts (path TEXT PRIMARY KEY, digest TEXT NOT NULL);
CREATE TABLE facts (
    id TEXT NOT NULL, feature TEXT NOT NULL, path TEXT NOT NULL, line INTEGER NOT NULL, kind TEXT NOT NULL,
    section TEXT NOT NULL, text TEXT NOT NULL, sources TEXT NOT NULL, state TEXT NOT NULL,
    confidence REAL NOT NULL
);
CREATE INDEX facts_path ON facts (path);
CREATE VIRTUAL TABLE fact_words USING fts5 (text, section, feature, tokenize = "porter unicode61");
CREATE TABLE held (key TEXT PRIMARY KEY, signature TEXT NOT NULL);
"""
VERSION = zlib.crc32(SCHEMA.encode()) & 0x7FFFFFFF  # no number to forget when the schema changes


def _open(path: Path) -> sqlite3.Connection:
    """Raises sqlite3.DatabaseError for a file that is no database of this schema."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute(
            "PRAGMA synchronous = OFF"
        )  # derived: a lost page costs a rebuild, not a fact
        if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            raise sqlite3.DatabaseError("another schema")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_sound(path: Path) -> bool:
    try:
        with closing(_open(path)) as connection:
            return bool(connection.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok")
    except sqlite3.OperationalError:
        raise  # locked or not ours to open says nothing about its content
    except sqlite3.DatabaseError:
        return False


def _start_again(layout: Layout) -> None:
    """Put an empty database in place, unless another process has just done so.

    It is made beside: to switch a database to WAL fails while another process has it open.
    """
    from filelock import FileLock

    with atomic.write_errors(layout.db), FileLock(layout.lock("_db"), timeout=PATIENCE):
        if layout.db.exists() and _is_sound(layout.db):
            return
        fresh = layout.db.with_name(f"{layout.db.name}.new")
        for path in (fresh, *_journals(fresh)):
            atomic.remove(path)
        with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
        for path in _journals(layout.db):
            atomic.remove(path)
        atomic.replace(fresh, layout.db)


def _journals(path: Path) -> tuple[Path, ...]:
    return tuple(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))


def use(layout: Layout, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` on a connection in autocommit mode; on a corrupt file it runs again, on an empty database.

    Raises E_WRITE when the database cannot be written or stays locked; a mistake in SQL as it is.
    """
    atomic.make_folder(layout.lock("_db").parent)
    try:
        if not layout.db.exists():
            _start_again(layout)
        try:
            with closing(_open(layout.db)) as connection:
                return work(connection)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            _start_again(layout)
            with closing(_open(layout.db)) as connection:
                return work(connection)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            raise
        raise PrereadError(
            "E_WRITE",
            f"{layout.db} cannot be used: {error}.",
            "It is derived and may be deleted; make room or mend the permissions, then call again.",
        ) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of the block or none of it, alone among writers."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has rolled back already
            connection.execute("ROLLBACK")
        raise


def insert(connection: sqlite3.Connection, into: str, rows: Sequence[Sequence[object]]) -> None:
    """Insert rows, many of them by one statement; `into` is a table's name and its columns in brackets."""
    if not rows:
        return
    most = min(MOST_VALUES, connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)) // len(
        rows[0]
    )
    marks = f"({', '.join('?' * len(rows[0]))})"
    for begin in range(0, len(rows), most):
        part = rows[begin : begin + most]
        sql = f"INSERT INTO {into} VALUES {', '.join([marks] * len(part))}"  # noqa: S608 - names of ours, question marks
        connection.execute(sql, [value for row in part for value in row])
