"""Add reports to the test history: each content once, within limits."""

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from preread.infra.sqlite import transaction
from preread.reports.outcomes import Outcome
from preread.reports.store import Row, save_report

MAX_TESTS, MAX_OUTCOMES_PER_TEST = 20_000, 50
MAX_AGE = 6 * 30 * 86_400  # seconds that a test is kept after the last report that names it
MAX_REPORTS = 20_000  # paths of reports, and digests of contents that were added
MAX_RECORDS = 8_000_000  # characters of all records that facts can cite
MAX_FAILED = 1_000  # failed tests in one record; facts about others cannot cite it
MAX_MESSAGES = 50  # in one record
SAME_RUN = 5.0  # seconds: reports with other paths that began this close together are of one run
SEVERITY = {"passed": 0, "flaky": 1, "failed": 2}


class LocatedOutcome(NamedTuple):
    """One outcome, with its test's key, file and group in the project."""

    key: str
    file: str
    group: str
    outcome: Outcome


class ReadReport(NamedTuple):
    """A report as it is now, and its outcomes; none if they are already stored."""

    row: Row
    outcomes: list[LocatedOutcome]


def ingest(connection: sqlite3.Connection, reports: Sequence[ReadReport]) -> None:
    """Add reports in one transaction, because each waits for the disk; then prune the history."""
    with transaction(connection):
        for report in reports:
            number = save_report(connection, report.row)
            if report.outcomes:
                _ingest(connection, *report, number)
        if any(report.outcomes for report in reports):
            _prune(connection)


def _ingest(
    connection: sqlite3.Connection, row: Row, outcomes: list[LocatedOutcome], report: int
) -> None:
    """Add a report's outcomes, unless its content is known."""
    sql = "INSERT INTO seen VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
    if not connection.execute(sql, (row.digest, row.failures, row.problem, row.at)).rowcount:
        return  # another process was faster
    ran = [one for one in _worst(outcomes) if one.outcome.verdict != "skipped"]
    passed = [one for one in ran if one.outcome.verdict == "passed"]
    bad = [one for one in ran if one.outcome.verdict != "passed"]
    bad.sort(key=lambda one: -SEVERITY[one.outcome.verdict])
    failures = sum(one.outcome.verdict == "failed" for one in bad)
    record = _record(row, bad[:MAX_FAILED], len(ran), failures)
    if record:
        connection.execute("INSERT INTO runs VALUES (?, ?, ?) ON CONFLICT DO NOTHING", record)
    _add_passed(connection, passed, row.at, report)
    for number, one in enumerate(bad):
        run = record[0] if record and number < MAX_FAILED else ""
        _add(connection, one, row.at, report, run)


def _worst(outcomes: Iterable[LocatedOutcome]) -> list[LocatedOutcome]:
    """The worst outcome of each test: a report may name a test more than once."""
    found: dict[str, LocatedOutcome] = {}
    for one in outcomes:
        other = found.get(one.key)
        if other is None or _severity(one) > _severity(other):
            found[one.key] = one
    return list(found.values())


def _severity(one: LocatedOutcome) -> int:
    return SEVERITY.get(one.outcome.verdict, -1)


def _record(
    row: Row, named: list[LocatedOutcome], ran: int, failures: int
) -> tuple[str, float, str] | None:
    """The run that `run:<id>` cites, in the format of the hooks; None without a failure."""
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
        "messages": list(dict.fromkeys(one.outcome.message for one in named))[:MAX_MESSAGES],
        "passed": ran - failures,
        "failures": failures,
    }
    return id_, row.at, json.dumps(value, ensure_ascii=False)


def label(file: str, group: str, name: str) -> str:
    """A test's full name, for people."""
    return " > ".join(part for part in (file, group, name) if part)


# Whether outcome `o` is of the same run.
SAME = "o.at BETWEEN :at - :near AND :at + :near AND (o.report <> :report OR o.at = :at)"
NEW_TEST = """INSERT INTO tests
    (key, file, groups, name, runs, failures, retried, first, last, failed, kinds, message)
    {values} ON CONFLICT (key) DO UPDATE SET
    first = min(first, excluded.first), last = max(last, excluded.last)"""
CUT = """DELETE FROM outcomes WHERE test = ?1 AND at <
    (SELECT at FROM outcomes WHERE test = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?2)"""


def _add_passed(
    connection: sqlite3.Connection, passed: list[LocatedOutcome], at: float, report: int
) -> None:
    """Add the passed tests. Most tests pass, so they are added in bulk."""
    given = {"at": at, "near": SAME_RUN, "report": report}
    connection.execute(
        "CREATE TEMP TABLE IF NOT EXISTS passed "
        "(key TEXT PRIMARY KEY, file, groups, name, line, test)"
    )
    connection.execute("DELETE FROM passed")
    rows = [(one.key, one.file, one.group, one.outcome.name, one.outcome.line) for one in passed]
    connection.executemany("INSERT INTO passed VALUES (?, ?, ?, ?, ?, 0)", rows)
    values = "SELECT key, file, groups, name, 0, 0, 0, :at, :at, 0, '{}', '' FROM passed WHERE true"
    connection.execute(NEW_TEST.format(values=values), given)
    connection.execute(
        "UPDATE passed SET test = (SELECT id FROM tests WHERE tests.key = passed.key)"
    )
    sql = f"SELECT 1 FROM outcomes o WHERE o.test = passed.test AND {SAME}"  # noqa: S608
    connection.execute(f"DELETE FROM passed WHERE EXISTS ({sql})", given)  # noqa: S608
    sql = "SELECT test, :at, :report, 'passed', '', '', line FROM passed"
    connection.execute(f"INSERT OR IGNORE INTO outcomes {sql}", given)
    connection.execute("UPDATE tests SET runs = runs + 1 WHERE id IN (SELECT test FROM passed)")
    sql = "SELECT id, ? FROM tests WHERE runs > ? AND id IN (SELECT test FROM passed)"
    many = connection.execute(sql, (MAX_OUTCOMES_PER_TEST - 1, MAX_OUTCOMES_PER_TEST)).fetchall()
    connection.executemany(CUT, many)


def _add(
    connection: sqlite3.Connection, one: LocatedOutcome, at: float, report: int, run: str
) -> None:
    """Add a failure, or a pass that took more than one attempt."""
    outcome = one.outcome
    values = "VALUES (:key, :file, :group, :name, 0, 0, 0, :at, :at, 0, '{}', '')"
    given: dict[str, object] = {"at": at, "near": SAME_RUN, "report": report}
    given |= {"key": one.key, "file": one.file, "group": one.group, "name": outcome.name}
    sql = f"{NEW_TEST.format(values=values)} RETURNING id, kinds"
    test, kinds = connection.execute(sql, given).fetchone()
    given["test"] = test
    sql = f"""SELECT at, report, verdict FROM outcomes o WHERE o.test = :test AND {SAME}
        ORDER BY abs(at - :at) LIMIT 1"""  # noqa: S608
    same = connection.execute(sql, given).fetchone()
    before = same[2] if same else ""
    if same and SEVERITY[outcome.verdict] <= SEVERITY[before]:
        sql = "UPDATE tests SET message = ? WHERE id = ? AND message = '' AND failed = ?"
        connection.execute(sql, (outcome.message, test, same[0]))
        return
    if same:  # this report of the same run has a worse outcome
        sql = "DELETE FROM outcomes WHERE test = ? AND at = ? AND report = ?"
        connection.execute(sql, (test, *same[:2]))
    row = (test, at, report, outcome.verdict, outcome.kind, run, outcome.line)
    connection.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    failed, flaky = outcome.verdict == "failed", (outcome.verdict == "flaky") - (before == "flaky")
    sql = """UPDATE tests SET runs = runs + ?, failures = failures + ?, retried = retried + ?
        WHERE id = ?"""
    connection.execute(sql, (int(not same), int(failed), int(flaky), test))
    _update_failure(connection, test, at, outcome, json.loads(kinds))
    connection.execute(CUT, (test, MAX_OUTCOMES_PER_TEST - 1))


def _update_failure(
    connection: sqlite3.Connection, test: int, at: float, outcome: Outcome, kinds: dict[str, int]
) -> None:
    if outcome.kind:
        kinds[outcome.kind] = kinds.get(outcome.kind, 0) + 1
    sql = """UPDATE tests SET kinds = ?, message = CASE WHEN ? >= failed THEN ? ELSE message END,
        failed = max(failed, ?) WHERE id = ?"""
    connection.execute(sql, (json.dumps(kinds), at, outcome.message, at, test))


def _prune(connection: sqlite3.Connection) -> None:
    """Keep the history within its limits."""
    tests, oldest, newest = connection.execute(
        "SELECT count(*), min(last), max(last) FROM tests"
    ).fetchone()
    if tests > MAX_TESTS * 1.1 or (tests and oldest < newest - MAX_AGE):
        _drop_tests(connection, newest - MAX_AGE)
    for table, order in (("seen", "rowid"), ("reports", "at")):
        old = f"SELECT rowid FROM {table} ORDER BY {order} DESC LIMIT -1 OFFSET ?"  # noqa: S608
        sql = f"DELETE FROM {table} WHERE rowid IN ({old})"  # noqa: S608
        connection.execute(sql, (MAX_REPORTS,))
    sql = """DELETE FROM runs WHERE id IN (SELECT id FROM
        (SELECT id, sum(length(record)) OVER (ORDER BY at DESC, id) AS total FROM runs)
        WHERE total > ?)"""
    connection.execute(sql, (MAX_RECORDS,))


def _drop_tests(connection: sqlite3.Connection, oldest: float) -> None:
    sql = """SELECT id FROM tests WHERE id NOT IN
        (SELECT id FROM tests WHERE last >= ? ORDER BY last DESC LIMIT ?)"""
    gone = connection.execute(sql, (oldest, MAX_TESTS)).fetchall()
    connection.executemany("DELETE FROM outcomes WHERE test = ?", gone)
    connection.executemany("DELETE FROM tests WHERE id = ?", gone)
