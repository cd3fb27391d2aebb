"""Folding a report into the history of tests: once for each content, in one transaction, within bounds."""

import json
import sqlite3
import time
from collections.abc import Iterable
from typing import NamedTuple

from preread.db import transaction
from preread.reports.outcomes import Outcome
from preread.reports.store import Row, look

MOST_TESTS, MOST_OUTCOMES = 20_000, 50  # tests, and the newest outcomes of each
MONTHS = 6 * 30 * 86_400  # seconds for which a test is kept that no report names any more
MOST_SEEN = 20_000  # digests of contents that were folded in, and paths of reports
MOST_RECORDS = 8_000_000  # characters of records that facts can cite
MOST_NAMED = 200  # failed tests in one of them
SAME_RUN = 5.0  # seconds: reports of other names that began so near each other tell of one run
WORSE = {"passed": 0, "flaky": 1, "failed": 2}


class Told(NamedTuple):
    """One outcome of a report, its file and group as the project has them."""

    key: str
    file: str
    group: str
    outcome: Outcome


def fold(connection: sqlite3.Connection, row: Row, told: Iterable[Told]) -> None:
    """Add a report's outcomes to the history, unless its content is there already; and cut what grew too old."""
    with transaction(connection):
        report = look(connection, row)
        sql = "INSERT INTO seen VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        if not connection.execute(sql, (row.digest, row.says, row.problem, row.at)).rowcount:
            return  # another process was faster
        ran = [one for one in _worst(told) if one.outcome.verdict != "skipped"]
        record = _record(row, ran)
        if record:
            connection.execute("INSERT INTO runs VALUES (?, ?, ?) ON CONFLICT DO NOTHING", record)
        for one in ran:
            _add(connection, one, row.at, report, record[0] if record else "")
        _prune(connection)


def _worst(told: Iterable[Told]) -> list[Told]:
    """One outcome of each test: a report may name one twice, tried again by a plug-in or in another place."""
    found: dict[str, Told] = {}
    for one in told:
        other = found.get(one.key)
        if other is None or WORSE.get(one.outcome.verdict, -1) > WORSE.get(other.outcome.verdict, -1):
            found[one.key] = one
    return list(found.values())


def _record(row: Row, ran: list[Told]) -> tuple[str, float, str] | None:
    """The run as `run:<id>` cites it, in the shape of the hooks' record; None where nothing failed."""
    failed = [one for one in ran if one.outcome.verdict == "failed"]
    flaky = [one for one in ran if one.outcome.verdict == "flaky"]
    if not failed and not flaky:
        return None
    id_ = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(row.at))}-{row.digest[:10]}"
    named = (failed + flaky)[:MOST_NAMED]
    value = {
        "id": id_,
        "at": int(row.at),
        "outcome": "failed" if failed else "passed",
        "report": row.path,
        "failed": [label(one.file, one.group, one.outcome.name) for one in named],
        "kinds": list(dict.fromkeys(one.outcome.kind for one in named if one.outcome.kind)),
        "messages": [one.outcome.message for one in named],
        "passed": len(ran) - len(failed),
        "failures": len(failed),
    }
    return id_, row.at, json.dumps(value, ensure_ascii=False)


def label(file: str, group: str, name: str) -> str:
    """A test's whole name, as a person finds it."""
    return " > ".join(part for part in (file, group, name) if part)


def _add(connection: sqlite3.Connection, one: Told, at: float, report: int, run: str) -> None:
    outcome = one.outcome
    sql = """INSERT INTO tests (key, file, groups, name, runs, failures, retried, first, last, failed, kinds, message)
        VALUES (?, ?, ?, ?, 0, 0, 0, ?, ?, 0, '{}', '')
        ON CONFLICT (key) DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last)
        RETURNING id, runs, kinds"""
    test, runs, kinds = connection.execute(sql, (one.key, one.file, one.group, outcome.name, at, at)).fetchone()
    sql = """SELECT at, report, verdict FROM outcomes
        WHERE test = ? AND at BETWEEN ? AND ? AND (report <> ? OR at = ?) ORDER BY abs(at - ?) LIMIT 1"""
    near = (test, at - SAME_RUN, at + SAME_RUN, report, at, at)
    same = connection.execute(sql, near).fetchone()
    if same is not None and WORSE[outcome.verdict] <= WORSE[same[2]]:
        return
    if same is not None:  # another report of the same run knows more
        connection.execute("DELETE FROM outcomes WHERE test = ? AND at = ? AND report = ?", (test, *same[:2]))
    cited = run if outcome.verdict != "passed" else ""
    values = (test, at, report, outcome.verdict, outcome.kind, cited, outcome.line)
    connection.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    counted = (int(same is None), outcome.verdict == "failed", outcome.verdict == "flaky", same and same[2] == "flaky")
    sql = "UPDATE tests SET runs = runs + ?, failures = failures + ?, retried = retried + ? - ? WHERE id = ?"
    connection.execute(sql, (*map(int, map(bool, counted)), test))
    if outcome.verdict != "passed":
        _failed(connection, test, at, outcome, json.loads(kinds))
    if runs >= MOST_OUTCOMES:
        sql = """DELETE FROM outcomes WHERE test = ? AND at <
            (SELECT at FROM outcomes WHERE test = ? ORDER BY at DESC LIMIT 1 OFFSET ?)"""
        connection.execute(sql, (test, test, MOST_OUTCOMES - 1))


def _failed(connection: sqlite3.Connection, test: int, at: float, outcome: Outcome, kinds: dict[str, int]) -> None:
    if outcome.kind:
        kinds[outcome.kind] = kinds.get(outcome.kind, 0) + 1
    sql = """UPDATE tests SET kinds = ?, message = CASE WHEN ? >= failed THEN ? ELSE message END,
        failed = max(failed, ?) WHERE id = ?"""
    connection.execute(sql, (json.dumps(kinds), at, outcome.message, at, test))


def _prune(connection: sqlite3.Connection) -> None:
    """Keep the history within its bounds."""
    tests, oldest, newest = connection.execute("SELECT count(*), min(last), max(last) FROM tests").fetchone()
    if tests > MOST_TESTS or (tests and oldest < newest - MONTHS):
        _drop_tests(connection, newest - MONTHS)
    for table, order in (("seen", "rowid"), ("reports", "at")):
        sql = f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} ORDER BY {order} DESC LIMIT -1 OFFSET ?)"  # noqa: S608
        connection.execute(sql, (MOST_SEEN,))
    sql = """DELETE FROM runs WHERE id IN (SELECT id FROM
        (SELECT id, sum(length(record)) OVER (ORDER BY at DESC, id) AS total FROM runs) WHERE total > ?)"""
    connection.execute(sql, (MOST_RECORDS,))


def _drop_tests(connection: sqlite3.Connection, oldest: float) -> None:
    sql = """SELECT id FROM tests WHERE id NOT IN
        (SELECT id FROM tests WHERE last >= ? ORDER BY last DESC LIMIT ?)"""
    gone = connection.execute(sql, (oldest, MOST_TESTS)).fetchall()
    connection.executemany("DELETE FROM outcomes WHERE test = ?", gone)
    connection.executemany("DELETE FROM tests WHERE id = ?", gone)
