"""Folding a report into the history of tests: once for each content, in one transaction, within bounds."""

import json
import sqlite3
import time
from collections.abc import Iterable
from typing import NamedTuple

from preread.infra.db import transaction
from preread.reports.outcomes import Outcome
from preread.reports.store import Row, look

MOST_TESTS, MOST_OUTCOMES = 20_000, 50  # tests, and the newest outcomes of each
MONTHS = 6 * 30 * 86_400  # seconds for which a test is kept that no report names any more
MOST_SEEN = 20_000  # digests of contents that were folded in, and paths of reports
MOST_RECORDS = 8_000_000  # characters of records that facts can cite
MOST_NAMED = 1_000  # failed tests in one of them; no fact can cite it for others
MOST_SAID = 50  # their messages
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
        bad = sorted(
            (one for one in ran if one.outcome.verdict != "passed"),
            key=lambda one: -WORSE[one.outcome.verdict],
        )
        record = _record(
            row, bad[:MOST_NAMED], len(ran), sum(one.outcome.verdict == "failed" for one in bad)
        )
        if record:
            connection.execute("INSERT INTO runs VALUES (?, ?, ?) ON CONFLICT DO NOTHING", record)
        _add_passed(
            connection, [one for one in ran if one.outcome.verdict == "passed"], row.at, report
        )
        for number, one in enumerate(bad):
            _add(
                connection, one, row.at, report, record[0] if record and number < MOST_NAMED else ""
            )
        _prune(connection)


def _worst(told: Iterable[Told]) -> list[Told]:
    """One outcome of each test: a report may name one twice, tried again by a plug-in or in another place."""
    found: dict[str, Told] = {}
    for one in told:
        other = found.get(one.key)
        if other is None or WORSE.get(one.outcome.verdict, -1) > WORSE.get(
            other.outcome.verdict, -1
        ):
            found[one.key] = one
    return list(found.values())


def _record(row: Row, named: list[Told], ran: int, failures: int) -> tuple[str, float, str] | None:
    """The run as `run:<id>` cites it, in the shape of the hooks' record; None where nothing failed."""
    if not named:
        return None
    id_ = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(row.at))}-{row.digest[:10]}"
    value = {
        "id": id_,
        "at": int(row.at),
        "outcome": "failed" if failures else "passed",
        "report": row.path,
        "failed": [label(one.file, one.group, one.outcome.name) for one in named],
        "kinds": list(dict.fromkeys(one.outcome.kind for one in named if one.outcome.kind)),
        "messages": list(dict.fromkeys(one.outcome.message for one in named))[:MOST_SAID],
        "passed": ran - failures,
        "failures": failures,
    }
    return id_, row.at, json.dumps(value, ensure_ascii=False)


def label(file: str, group: str, name: str) -> str:
    """A test's whole name, as a person finds it."""
    return " > ".join(part for part in (file, group, name) if part)


NEAR = "o.at BETWEEN :at - :near AND :at + :near AND (o.report <> :report OR o.at = :at)"  # of the same run
NEW_TEST = """INSERT INTO tests (key, file, groups, name, runs, failures, retried, first, last, failed, kinds, message)
    {values} ON CONFLICT (key) DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last)"""
CUT = """DELETE FROM outcomes WHERE test = ?1 AND at <
    (SELECT at FROM outcomes WHERE test = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?2)"""


def _add_passed(connection: sqlite3.Connection, passed: list[Told], at: float, report: int) -> None:
    """Most tests pass, and are many: all at once."""
    given = {"at": at, "near": SAME_RUN, "report": report}
    connection.execute(
        "CREATE TEMP TABLE IF NOT EXISTS told (key TEXT PRIMARY KEY, file, groups, name, line, test)"
    )
    connection.execute("DELETE FROM told")
    rows = [(one.key, one.file, one.group, one.outcome.name, one.outcome.line) for one in passed]
    connection.executemany("INSERT INTO told VALUES (?, ?, ?, ?, ?, 0)", rows)
    values = "SELECT key, file, groups, name, 0, 0, 0, :at, :at, 0, '{}', '' FROM told WHERE true"
    connection.execute(NEW_TEST.format(values=values), given)
    connection.execute("UPDATE told SET test = (SELECT id FROM tests WHERE tests.key = told.key)")
    connection.execute(
        f"DELETE FROM told WHERE EXISTS (SELECT 1 FROM outcomes o WHERE o.test = told.test AND {NEAR})",  # noqa: S608
        given,
    )
    connection.execute(
        "INSERT OR IGNORE INTO outcomes SELECT test, :at, :report, 'passed', '', '', line FROM told",
        given,
    )
    connection.execute("UPDATE tests SET runs = runs + 1 WHERE id IN (SELECT test FROM told)")
    sql = "SELECT id, ? FROM tests WHERE runs > ? AND id IN (SELECT test FROM told)"
    many = connection.execute(sql, (MOST_OUTCOMES - 1, MOST_OUTCOMES)).fetchall()
    connection.executemany(CUT, many)


def _add(connection: sqlite3.Connection, one: Told, at: float, report: int, run: str) -> None:
    """Add a failure, or a pass that took more tries than one."""
    outcome = one.outcome
    values = "VALUES (:key, :file, :group, :name, 0, 0, 0, :at, :at, 0, '{}', '')"
    given: dict[str, object] = {
        "key": one.key,
        "file": one.file,
        "group": one.group,
        "name": outcome.name,
    }
    given |= {"at": at, "near": SAME_RUN, "report": report}
    sql = f"{NEW_TEST.format(values=values)} RETURNING id, kinds"
    test, kinds = connection.execute(sql, given).fetchone()
    given["test"] = test
    sql = f"SELECT at, report, verdict FROM outcomes o WHERE o.test = :test AND {NEAR} ORDER BY abs(at - :at) LIMIT 1"  # noqa: S608
    same = connection.execute(sql, given).fetchone()
    before = same[2] if same else ""
    if same and WORSE[outcome.verdict] <= WORSE[before]:
        sql = "UPDATE tests SET message = ? WHERE id = ? AND message = '' AND failed = ?"
        connection.execute(sql, (outcome.message, test, same[0]))
        return
    if same:  # another report of the same run knows more
        connection.execute(
            "DELETE FROM outcomes WHERE test = ? AND at = ? AND report = ?", (test, *same[:2])
        )
    row = (test, at, report, outcome.verdict, outcome.kind, run, outcome.line)
    connection.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    failed, flaky = outcome.verdict == "failed", (outcome.verdict == "flaky") - (before == "flaky")
    sql = "UPDATE tests SET runs = runs + ?, failures = failures + ?, retried = retried + ? WHERE id = ?"
    connection.execute(sql, (int(not same), int(failed), int(flaky), test))
    _failed(connection, test, at, outcome, json.loads(kinds))
    connection.execute(CUT, (test, MOST_OUTCOMES - 1))


def _failed(
    connection: sqlite3.Connection, test: int, at: float, outcome: Outcome, kinds: dict[str, int]
) -> None:
    if outcome.kind:
        kinds[outcome.kind] = kinds.get(outcome.kind, 0) + 1
    sql = """UPDATE tests SET kinds = ?, message = CASE WHEN ? >= failed THEN ? ELSE message END,
        failed = max(failed, ?) WHERE id = ?"""
    connection.execute(sql, (json.dumps(kinds), at, outcome.message, at, test))


def _prune(connection: sqlite3.Connection) -> None:
    """Keep the history within its bounds."""
    tests, oldest, newest = connection.execute(
        "SELECT count(*), min(last), max(last) FROM tests"
    ).fetchone()
    if tests > MOST_TESTS * 1.1 or (tests and oldest < newest - MONTHS):
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
