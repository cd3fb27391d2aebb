"""The history of tests, kept in `.project/.state/test-history.db`: what each report said, once for each content.

It is not derived: reports are overwritten by the next run. A report is folded in by one transaction, so that a killed
process leaves all of it or none, and the next one folds it again. Without it, or after a loss, history begins anew.
"""

import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from typing import NamedTuple, TypeVar

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.db import transaction
from preread.layout import Layout
from preread.reports.results import Line

T = TypeVar("T")
PATIENCE = 30.0  # seconds to wait for other processes
SCHEMA = """
CREATE TABLE reports (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
    changed INTEGER NOT NULL, digest TEXT NOT NULL, says TEXT NOT NULL, problem TEXT NOT NULL, at REAL NOT NULL
);
CREATE TABLE seen (digest TEXT PRIMARY KEY, says TEXT NOT NULL, problem TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE runs (id TEXT PRIMARY KEY, at REAL NOT NULL, record TEXT NOT NULL);
CREATE TABLE tests (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, file TEXT NOT NULL, groups TEXT NOT NULL, name TEXT NOT NULL,
    runs INTEGER NOT NULL, failures INTEGER NOT NULL, retried INTEGER NOT NULL, first REAL NOT NULL,
    last REAL NOT NULL, failed REAL NOT NULL, kinds TEXT NOT NULL, message TEXT NOT NULL
);
CREATE INDEX tests_last ON tests (last);
CREATE TABLE outcomes (
    test INTEGER NOT NULL, at REAL NOT NULL, report INTEGER NOT NULL, verdict TEXT NOT NULL, kind TEXT NOT NULL,
    run TEXT NOT NULL, line INTEGER NOT NULL, PRIMARY KEY (test, at, report)
) WITHOUT ROWID;
"""
VERSION = zlib.crc32(SCHEMA.encode()) & 0x7FFFFFFF  # no number to forget when the schema changes


class Row(NamedTuple):
    """A report as it was when it was last looked at."""

    path: str
    size: int
    mtime: int  # nanoseconds since the epoch; 0: too young then to be trusted
    changed: int  # its ctime
    digest: str
    says: str  # digest of the failures in it; empty: none
    problem: str
    at: float


class Try(NamedTuple):
    """One outcome of a test that is remembered."""

    at: float
    verdict: str
    kind: str
    run: str  # the id that `run:` cites; empty where nothing failed
    report: str = ""  # its path; empty: the hooks' record has it
    line: int = 0
    took: float = 0.0  # seconds from a run's begin to its `at`: the record has its end

    @property
    def of(self) -> tuple[str, float]:
        """The report that told of it, and when its run began."""
        return self.report, self.at


class Kept(NamedTuple):
    """What is kept of one test."""

    file: str
    group: str
    name: str
    runs: int
    failures: int
    retried: int
    first: float
    last: float
    failed: float  # when it failed last; 0: never
    kinds: dict[str, int]
    message: str
    tries: tuple[Try, ...]  # oldest first


def use(layout: Layout, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` on a connection in autocommit mode; a file that is no database of this schema is put aside before.

    Raises E_WRITE when it cannot be written or stays locked; a mistake in SQL as it is.
    """
    atomic.make_folder(layout.state)
    try:
        try:
            with closing(_open(layout)) as connection:
                return work(connection)
        except sqlite3.OperationalError:
            raise  # locked, full or not ours to open says nothing about its content
        except sqlite3.DatabaseError:
            _put_aside(layout)
            with closing(_open(layout)) as connection:
                return work(connection)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            raise
        raise PrereadError(
            "E_WRITE",
            f"{layout.test_history} cannot be used: {error}.",
            "Make room or mend the permissions, then call again; deleted, the history of tests begins anew.",
        ) from error


def _open(layout: Layout) -> sqlite3.Connection:
    connection = sqlite3.connect(layout.test_history, timeout=PATIENCE, isolation_level=None)
    try:
        if _version(connection) == 0:
            with transaction(connection):
                if _version(connection) == 0:  # another process may have made it meanwhile
                    for statement in SCHEMA.split(";")[:-1]:
                        connection.execute(statement)
                    connection.execute(f"PRAGMA user_version = {VERSION}")
        if _version(connection) != VERSION:
            raise sqlite3.DatabaseError("another schema")
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _put_aside(layout: Layout) -> None:
    """Move a file that is no database of this schema out of the way, unless another process has just done so."""
    from filelock import FileLock

    atomic.make_folder(layout.lock("_tests").parent)
    with (
        atomic.write_errors(layout.test_history),
        FileLock(layout.lock("_tests"), timeout=PATIENCE),
    ):
        try:
            with closing(_open(layout)) as connection:
                if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok":
                    return
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            pass
        atomic.replace(layout.test_history, layout.test_history.with_suffix(".db.broken"))
        atomic.remove(layout.test_history.with_name(f"{layout.test_history.name}-journal"))


# -- what was looked at


def rows(connection: sqlite3.Connection) -> dict[str, Row]:
    """The reports as they were when they were last looked at, by their paths."""
    sql = "SELECT path, size, mtime, changed, digest, says, problem, at FROM reports"
    return {row[0]: Row(*row) for row in connection.execute(sql)}


def known(connection: sqlite3.Connection, digest: str) -> tuple[str, str, float] | None:
    """What a content that was folded in says, its problem and when its run began."""
    found = connection.execute(
        "SELECT says, problem, at FROM seen WHERE digest = ?", (digest,)
    ).fetchone()
    return tuple(found) if found else None


def remember(connection: sqlite3.Connection, fresh: list[Row]) -> None:
    """Remember how these reports look now, all at once."""
    with transaction(connection):
        for row in fresh:
            look(connection, row)


def look(connection: sqlite3.Connection, row: Row) -> int:
    """Remember how a report looks now; its number."""
    sql = """INSERT INTO reports (path, size, mtime, changed, digest, says, problem, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (path) DO UPDATE SET size = excluded.size, mtime = excluded.mtime, changed = excluded.changed,
        digest = excluded.digest, says = excluded.says, problem = excluded.problem, at = excluded.at RETURNING id"""
    return int(connection.execute(sql, row).fetchone()[0])


def record(layout: Layout, id_: str) -> Line | None:
    """The run with this id that a report told of, in the shape of the hooks' record; None where there is none."""
    sql = "SELECT record FROM runs WHERE id = ?"
    found = _read(layout, lambda connection: connection.execute(sql, (id_,)).fetchone())
    return Line(found[0], json.loads(found[0])) if found else None


def failing(layout: Layout) -> list[Kept]:
    """The tests that ever failed, or passed only when they were tried again."""
    return _read(layout, _failing) or []


def _read(layout: Layout, work: Callable[[sqlite3.Connection], T]) -> T | None:
    """None where there is no history, or none that can be used: a look at the reports says so."""
    with suppress(PrereadError):
        if layout.test_history.is_file():
            return use(layout, work)
    return None


def _failing(connection: sqlite3.Connection) -> list[Kept]:
    tries: dict[int, list[Try]] = {}
    sql = """SELECT o.test, o.at, o.verdict, o.kind, o.run, coalesce(r.path, ''), o.line FROM outcomes o
        JOIN tests t ON t.id = o.test LEFT JOIN reports r ON r.id = o.report
        WHERE t.failures + t.retried > 0 ORDER BY o.test, o.at"""
    for test, *values in connection.execute(sql):
        tries.setdefault(test, []).append(Try(*values))
    sql = """SELECT id, file, groups, name, runs, failures, retried, first, last, failed, kinds, message FROM tests
        WHERE failures + retried > 0 ORDER BY id"""
    return [
        Kept._make((*values, json.loads(kinds), message, tuple(tries.get(test, ()))))
        for test, *values, kinds, message in connection.execute(sql)
    ]
