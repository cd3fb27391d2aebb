"""The test history database, `.project/.state/test-history.db`.

It is not derived, because the next test run overwrites a report. Even if the process is killed, a
report is added completely or not at all. If the file is lost, the history starts over.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar, get_origin

from preread.errors import PrereadError
from preread.infra.persistent_db import PersistentDatabase
from preread.layout import Layout
from preread.reports.results import Line

T = TypeVar("T")
R = TypeVar("R", bound=tuple[Any, ...])
NUMBERS = (int, float)
# `\` joins lines, because the version depends on each character.
SCHEMA = """
CREATE TABLE reports (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, \
mtime INTEGER NOT NULL,
    changed INTEGER NOT NULL, digest TEXT NOT NULL, says TEXT NOT NULL, problem TEXT NOT NULL, \
at REAL NOT NULL
);
CREATE TABLE seen (digest TEXT PRIMARY KEY, says TEXT NOT NULL, problem TEXT NOT NULL, \
at REAL NOT NULL);
CREATE TABLE runs (id TEXT PRIMARY KEY, at REAL NOT NULL, record TEXT NOT NULL);
CREATE TABLE tests (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, file TEXT NOT NULL, groups TEXT NOT NULL, \
name TEXT NOT NULL,
    runs INTEGER NOT NULL, failures INTEGER NOT NULL, retried INTEGER NOT NULL, first REAL NOT NULL,
    last REAL NOT NULL, failed REAL NOT NULL, kinds TEXT NOT NULL, message TEXT NOT NULL
);
CREATE INDEX tests_last ON tests (last);
CREATE TABLE outcomes (
    test INTEGER NOT NULL, at REAL NOT NULL, report INTEGER NOT NULL, verdict TEXT NOT NULL, \
kind TEXT NOT NULL,
    run TEXT NOT NULL, line INTEGER NOT NULL, PRIMARY KEY (test, at, report)
) WITHOUT ROWID;
"""


class Row(NamedTuple):
    """A report as it was when it was last read."""

    path: str
    size: int
    mtime: int  # nanoseconds since the epoch; 0: it was too recent to be trusted
    changed: int  # its ctime
    digest: str
    failures: str  # digest of its failures; empty without any
    problem: str
    at: float


class _Ingested(NamedTuple):
    """The stored part of a report's content."""

    failures: str
    problem: str
    at: float


class Try(NamedTuple):
    """A stored outcome of a test."""

    at: float
    verdict: str
    kind: str
    run: str  # the id that `run:` cites; empty without a failure
    report: str = ""  # its path; empty for a run that the hooks recorded
    line: int = 0
    took: float = 0.0  # seconds that the run took until `at`; hooks record its end

    @property
    def of(self) -> tuple[str, float]:
        """The report it comes from, and when its run began."""
        return self.report, self.at


class StoredTest(NamedTuple):
    """What is stored about one test."""

    file: str
    group: str
    name: str
    runs: int
    failures: int
    retried: int
    first: float
    last: float
    failed: float  # when it last failed; 0: never
    kinds: dict[str, int]
    message: str
    tries: tuple[Try, ...]  # oldest first


def _sound(row: R) -> R:
    """The row. Raises TypeError if a value has the wrong type, as after a flipped bit.

    Within `use`, this counts as damage to the file.
    """
    for value, kind in zip(row, type(row).__annotations__.values(), strict=True):
        if not isinstance(value, NUMBERS if kind in NUMBERS else get_origin(kind) or kind):
            raise TypeError(f"{value!r:.40} is not of type {kind}")
    return row


def use(layout: Layout, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` on the history; raises as `PersistentDatabase.use` does."""
    database = PersistentDatabase(
        layout.test_history, layout.lock("_tests"), SCHEMA, "the test history starts over"
    )
    return database.use(work)


# -- reports


def rows(connection: sqlite3.Connection) -> dict[str, Row]:
    """The stored reports by path."""
    sql = "SELECT path, size, mtime, changed, digest, says, problem, at FROM reports"
    return {row[0]: _sound(Row(*row)) for row in connection.execute(sql)}


def ingested(connection: sqlite3.Connection, digest: str) -> tuple[str, str, float] | None:
    """The failures' digest, problem and start of a content that was added before; None if new."""
    found = connection.execute(
        "SELECT says, problem, at FROM seen WHERE digest = ?", (digest,)
    ).fetchone()
    return _sound(_Ingested(*found)) if found else None


def save_report(connection: sqlite3.Connection, row: Row) -> int:
    """Store the state of a report; returns its row id."""
    sql = """INSERT INTO reports (path, size, mtime, changed, digest, says, problem, at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET
        size = excluded.size, mtime = excluded.mtime, changed = excluded.changed,
        digest = excluded.digest, says = excluded.says, problem = excluded.problem,
        at = excluded.at RETURNING id"""
    return int(connection.execute(sql, row).fetchone()[0])


def record(layout: Layout, id_: str) -> Line | None:
    """The run with this id, from a report but in the format of the hooks; None if unknown."""
    return _read(layout, lambda connection: _record(connection, id_))


def _record(connection: sqlite3.Connection, id_: str) -> Line | None:
    """The record; raises ValueError if it is damaged."""
    found = connection.execute("SELECT record FROM runs WHERE id = ?", (id_,)).fetchone()
    if found is None:
        return None
    value = json.loads(found[0])
    if not isinstance(value, dict):
        raise ValueError("a record is not an object")  # noqa: TRY004 - like other damage
    return Line(found[0], value)


def failing(layout: Layout) -> list[StoredTest]:
    """The tests that ever failed, or passed only on a retry."""
    return _read(layout, _failing) or []


def _read(layout: Layout, work: Callable[[sqlite3.Connection], T]) -> T | None:
    """Read the history; None without a usable one, which `update` reports as a problem."""
    with suppress(PrereadError):
        if layout.test_history.is_file():
            return use(layout, work)
    return None


def _failing(connection: sqlite3.Connection) -> list[StoredTest]:
    tries: dict[int, list[Try]] = {}
    sql = """SELECT o.test, o.at, o.verdict, o.kind, o.run, coalesce(r.path, ''), o.line
        FROM outcomes o JOIN tests t ON t.id = o.test LEFT JOIN reports r ON r.id = o.report
        WHERE t.failures + t.retried > 0 ORDER BY o.test, o.at"""
    for test, *values in connection.execute(sql):
        tries.setdefault(test, []).append(_sound(Try(*values)))
    sql = """SELECT id, file, groups, name, runs, failures, retried, first, last, failed, kinds,
        message FROM tests WHERE failures + retried > 0 ORDER BY id"""
    return [
        _sound(StoredTest._make((*values, json.loads(kinds), message, tuple(tries.get(test, ())))))
        for test, *values, kinds, message in connection.execute(sql)
    ]
