"""What our SQLite databases share: transactions, batches, time limits, repair of damaged files."""

import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from preread.errors import PrereadError

T = TypeVar("T")
LOCK_SECONDS = 30.0  # how long to wait for other processes
MAX_VALUES = 8_000  # of one statement
STEPS = 10_000  # of SQLite's virtual machine between two checks: about 0.1 ms
# What a damaged database makes SQLite or the reader of a row raise.
DAMAGE = (
    sqlite3.DatabaseError, ValueError, TypeError, LookupError, AttributeError, zlib.error
)  # fmt: skip


def has_schema(connection: sqlite3.Connection, schema: str) -> bool:
    """Whether a schema's statements are stored unchanged.

    One flipped bit can rename a column, or turn a statement into invalid text.
    """
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(schema)
        return _statements(connection) >= _statements(fresh)


def _statements(connection: sqlite3.Connection) -> set[bytes]:
    return {sql for (sql,) in connection.execute("SELECT CAST(sql AS BLOB) FROM sqlite_master")}


def is_sound(connection: sqlite3.Connection) -> bool:
    """Whether SQLite finds no damage in the pages and the full-text tables.

    Raises sqlite3.DatabaseError for damage in the latter, which the pragma checks only since 3.44.
    """
    if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        return False
    virtual = "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE % USING fts5 %'"
    for (table,) in connection.execute(virtual).fetchall():
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")  # noqa: S608 - from the schema
    return True


def healing(
    connect: Callable[[], sqlite3.Connection],
    work: Callable[[sqlite3.Connection], T],
    heal: Callable[[bool], object],
) -> T:
    """Run `work` on a connection; if the database is damaged, run it again after `heal`.

    `heal` is told whether the damage is certain. Damaged rows can hold anything, even invalid text
    or JSON.
    """
    try:
        with closing(connect()) as connection:
            return work(connection)
    except DAMAGE as error:
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, sqlite3.OperationalError) and code not in {None, sqlite3.SQLITE_ERROR}:
            raise  # locked or not permitted, which does not mean damaged
        heal(code is None or code & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
    with closing(connect()) as connection:
        return work(connection)


@contextmanager
def operational_errors(path: Path, hint: str) -> Iterator[None]:
    """Raise E_WRITE for a database that is locked or cannot be written; not for errors in SQL."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) == sqlite3.SQLITE_ERROR:
            raise
        raise PrereadError("E_WRITE", f"{path} cannot be used: {error}.", hint) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one transaction, which excludes other writers."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has already rolled it back
            connection.execute("ROLLBACK")
        raise


@contextmanager
def stoppable(connection: sqlite3.Connection, check: Callable[[], None]) -> Iterator[None]:
    """Call `check` now and then while queries run; what it raises ends the query and is raised."""
    raised: list[Exception] = []

    def is_over() -> bool:
        try:
            check()
        except Exception as error:  # raised again below
            raised.append(error)
        return bool(raised)

    connection.set_progress_handler(is_over, STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        raise raised[0] if raised else error from None
    finally:
        connection.set_progress_handler(None, 0)


def insert(connection: sqlite3.Connection, into: str, rows: Sequence[Sequence[object]]) -> None:
    """Insert rows in batches; `into` is a table's name with its columns in round brackets."""
    if not rows:
        return
    max_values = min(MAX_VALUES, connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER))
    size = max_values // len(rows[0])
    marks = f"({', '.join('?' * len(rows[0]))})"
    for begin in range(0, len(rows), size):
        batch = rows[begin : begin + size]
        # `into` comes from the code, never from outside.
        sql = f"INSERT INTO {into} VALUES {', '.join([marks] * len(batch))}"  # noqa: S608
        connection.execute(sql, [value for row in batch for value in row])
