"""The test history: each report is added once, despite kills and races, within limits."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from _evidence_project import evidence, found, services, write
from _processes import small
from conftest import Cli
from preread import inputs
from preread.dossier import sources
from preread.evidence.collect import failing
from preread.models import Finding, Request
from preread.reports import history, ingest, store, update
from preread.reports.history import Past
from preread.reports.update import ReportState

TEST = "def test_login_shows_an_error():\n    pass\n\n\ndef test_login_works():\n    pass\n"
FILES = {"login.py": "def login(name):\n    return name\n", "tests/test_login.py": TEST}
NAME = "test_login_shows_an_error"
BOOM = "AssertionError: boom"


def junit(
    second: int, *, day: int = 20, message: str = BOOM, also: str = "", **verdicts: str
) -> str:
    """A report of pytest of a run that began in this second: F failed, P passed, S skipped."""
    inner = {
        "F": f'<failure message="{message}">E   {message}</failure>',
        "P": "",
        "S": "<skipped/>",
    }
    cases = [
        f'<testcase classname="tests.test_login" name="{name}" '
        f'time="0.{second:03}">{inner[verdict]}</testcase>'
        for name, verdict in verdicts.items()
    ]
    at = f"2026-11-{day:02}T09:{second // 60:02}:{second % 60:02}+00:00"
    return (
        f'<testsuite name="pytest" timestamp="{at}">\n' + "\n".join(cases) + f"{also}\n</testsuite>"
    )


def jest(
    second: int, verdict: str, file: str = "/home/me/shop/tests/login.test.js", tries: int = 1
) -> str:
    at = 1_795_165_200_000 + second * 1000  # 2026-11-20T09:00
    test = {"ancestorTitles": ["Login"], "title": "pays", "status": verdict, "invocations": tries}
    failures = [BOOM] if verdict == "failed" else []
    return json.dumps(
        {
            "startTime": at,
            "testResults": [
                {"name": file, "assertionResults": [test | {"failureMessages": failures}]}
            ],
        }
    )


def looked(root: Path) -> ReportState:
    return inputs.reports(services(root)) or ReportState()


def run(
    root: Path, outcomes: str, name: str = NAME, path: str = "reports/junit.xml", start: int = 0
) -> None:
    """One run after the other writes its report over the last one's."""
    for number, outcome in enumerate(outcomes, start):
        write(root, {path: junit(60 * number, **{name: outcome})})
        looked(root)


def pasts(root: Path) -> list[Past]:
    return history.pasts(services(root).tree)


def past(root: Path) -> Past:
    (only,) = pasts(root)
    return only


def failures(root: Path, feature: str = "login") -> list[Finding]:
    return [*found(root, "failing", feature), *found(root, "flaky", feature)]


# -- over time


@pytest.mark.parametrize(
    ("outcomes", "said", "rule"),
    [
        ("F", "failed on 2026-11-20, with `assertion`", "failing"),
        ("PPF", "failed on 2026-11-20, with `assertion`", "failing"),
        ("PFFF", "failed in 3 of 4 runs, last 2026-11-20, with `assertion`", "failing"),
        ("PSFSF", "failed in 2 of 3 runs, last 2026-11-20, with `assertion`", "failing"),
        (
            "PFPFP",
            "is flaky: failed in 2 of 5 runs, last 2026-11-20, with `assertion`",
            "flaky",
        ),
        ("FFP", "", ""),
        ("PFPP", "", ""),
        ("PS", "", ""),
    ],
)
def test_a_failing_or_flaky_test_is_reported_with_its_history(
    tmp_path: Path, outcomes: str, said: str, rule: str
) -> None:
    write(tmp_path, FILES)
    run(tmp_path, outcomes)
    told = failures(tmp_path)
    assert [(f.text, f.rule) for f in told] == (
        [(f"`{NAME}` {said}: {BOOM}", rule)] if said else []
    )
    assert all(source.startswith("run:20261120T09") for f in told for source in f.sources)


@pytest.mark.parametrize(
    ("place", "own"),
    [
        ('file="tests/test_login.py"', True), ('classname="tests.test_login.TestForm"', True),
        ('classname="test_login"', True), ('file="test_login.py"', True),
        ('classname="other.test_login"', False),
        ('classname="tests.test_paint"', False), ('file="other/tests/test_login.py"', False),
    ],
)  # fmt: skip
def test_a_test_in_a_file_of_the_feature_s_belongs_to_it_however_a_report_names_that(
    tmp_path: Path, place: str, own: bool
) -> None:
    case = f'<testcase {place} name="test_shows"><failure/></testcase>'
    files = {
        "web/src/session.py": "def begin(): pass\n",
        "web/tests/test_login.py": "from src.session import begin\n",
    }
    tests = "\n\ndef test_begin_session():\n    begin()\n"
    write(tmp_path, files | {"web/tests/test_login.py": files["web/tests/test_login.py"] + tests})
    write(tmp_path, {"reports/a.xml": f"<testsuite>{case}</testsuite>"})
    assert bool(failures(tmp_path, "session")) == own


def test_tests_that_failed_alike_in_one_run_are_one_fact(tmp_path: Path) -> None:
    names = [f"test_login_{letter}" for letter in "abcdef"]
    other = (
        f'<testcase classname="tests.test_login" name="test_login_z"><failure '
        f'message="{BOOM} otherwise"/></testcase>'
    )
    write(tmp_path, {**FILES, "reports/a.xml": junit(0, also=other, **dict.fromkeys(names, "F"))})
    together, alone = sorted(
        (finding.text for finding in failures(tmp_path)), key=len, reverse=True
    )
    shown = ", ".join(f"`{name}`" for name in names[:4])
    assert together == f"{shown} and 2 more failed on 2026-11-20, with `assertion`: {BOOM}"
    assert alone == f"`test_login_z` failed on 2026-11-20, with `assertion`: {BOOM} otherwise"


@pytest.mark.parametrize(
    ("outcomes", "flips", "flakiness", "is_flaky"),
    [("F", 0, 0.0, False), ("FF", 0, 0.0, False), ("PF", 1, 1.0, False), ("PFPP", 2, 0.67, False),
     ("PFPF", 3, 1.0, True), ("PPFPPPF", 3, 0.5, True)],
)  # fmt: skip
def test_flakiness_is_the_flip_rate(
    tmp_path: Path, outcomes: str, flips: int, flakiness: float, is_flaky: bool
) -> None:
    run(tmp_path, outcomes)
    known = past(tmp_path)
    assert (known.flips, known.flakiness, known.is_flaky) == (flips, flakiness, is_flaky)
    assert (known.runs, known.failures) == (len(outcomes), outcomes.count("F"))


def test_a_pass_that_took_two_tries_is_flaky_and_a_failure_and_a_pass_in_the_rate(
    tmp_path: Path,
) -> None:
    for second, tries in ((0, 1), (60, 2), (120, 1)):
        write(tmp_path, {"test-results.json": jest(second, "passed", tries=tries)})
        looked(tmp_path)
    known = past(tmp_path)
    assert (known.is_flaky, known.is_failing, known.flips, known.flakiness) == (
        True,
        False,
        2,
        0.67,
    )
    assert (known.runs, known.failures, known.retried) == (3, 0, 1)
    (finding,) = failures(tmp_path)
    assert finding.text == "`pays` passed only on retry in 1 of 3 runs, last 2026-11-20"


def test_a_fact_outlives_its_report_and_gets_stale_only_with_other_failures(
    cli: Cli, tmp_path: Path
) -> None:
    name = "test_login_gives_a_token"
    project = small(tmp_path / "p", {"reports/junit.xml": junit(1, **{name: "F"})})
    built = cli("load", "login", "--json", cwd=project).json
    assert (
        f"`{name}` failed on 2026-11-20, with `assertion`: {BOOM} (run:20261120T090001-"
        in built["dossier"]
    )
    path = project / "reports" / "junit.xml"
    path.write_text(junit(300, test_login_reset="P", **{name: "F"}))
    assert cli("load", "login", "--json", cwd=project).json["state"] == "refreshed"
    path.write_text(junit(900, message="AssertionError: bang", **{name: "F"}))
    assert (
        "failed 3 times, last 2026-11-20, with `assertion`: AssertionError: bang"
        in (cli("load", "login", "--json", cwd=project).json["dossier"])
    )
    path.write_text(junit(1200, **{name: "P"}))
    assert name + "` failed" not in cli("load", "login", "--json", cwd=project).json["dossier"]
    assert [(one.label, one.is_failing, len(one.tries)) for one in pasts(project)] == [
        (f"tests/test_login.py > {name}", False, 4)
    ]


def test_the_command_lists_failing_tests_first_and_shows_no_secret(
    cli: Cli, tmp_path: Path
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    paint = (
        '<testcase classname="tests.test_paint" name="{}"><error message="{}"/></testcase>'.format
    )
    first = junit(1, test_login_a="F", test_b="P", also=paint("test_paint", BOOM))
    project = small(tmp_path / "p", {"reports/junit.xml": first})
    assert len(looked(project).failures_digest) == 16
    also = paint("test_paint", BOOM) + paint("test_key", f"no {secret} for it")
    write(project, {"reports/junit.xml": junit(60, test_login_a="P", test_b="P", also=also)})
    done = cli("failures", cwd=project)
    assert (done.status, secret in done.out) == (0, False)
    assert secret.encode() not in services(project).layout.test_history.read_bytes()
    assert [(line.split()[0], line.split(" > ")[-1]) for line in done.out.splitlines()[3:-1]] == [
        ("failing", f"test_paint: {BOOM}"), ("failing", "test_key"),
        ("fixed", f"test_login_a: {BOOM}"),
    ]  # fmt: skip
    few = cli("failures", "login", "--limit", "1", "--json", cwd=project).json
    assert [(one["test"], one["report"]) for one in few["tests"]] == [
        ("tests/test_login.py > test_login_a", "reports/junit.xml:2")
    ]
    known = {
        scope: failing(services(project), Request(feature="login", scope=scope))
        for scope in ("tests", "reports")
    }
    assert [len(pasts_) for pasts_ in known.values()] == [1, 0]


# -- what is one test, and one run


def test_two_reports_of_one_run_count_once_and_the_worse_outcome_counts(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "tests/login.test.js": "",
            "reports/a.json": jest(0, "passed"),
            "reports/z.json": jest(3, "failed"),
        },
    )
    looked(tmp_path)
    assert (past(tmp_path).runs, past(tmp_path).failures, past(tmp_path).is_failing) == (1, 1, True)
    write(tmp_path, {"reports/a.json": jest(100, "passed"), "reports/z.json": jest(106, "passed")})
    looked(tmp_path)
    assert (past(tmp_path).runs, past(tmp_path).failures) == (3, 1)


def test_a_report_that_is_still_being_written_counts_once(tmp_path: Path) -> None:
    for verdicts in ({NAME: "P"}, {NAME: "F"}, {NAME: "F", "test_login_works": "F"}):
        write(tmp_path, {"reports/junit.xml": junit(0, **verdicts)})
        looked(tmp_path)
    assert {(one.name, one.runs, one.failures) for one in pasts(tmp_path)} == {
        (NAME, 1, 1), ("test_login_works", 1, 1),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("file", "known"),
    [
        ("/home/else/work/shop/tests/login.test.js", "tests/login.test.js"),
        ("C:\\\\work\\\\shop\\\\tests\\\\login.test.js", "tests/login.test.js"),
        ("tests/login.test.js", "tests/login.test.js"),
        ("/home/else/gone.test.js", "home/else/gone.test.js"),
        ("../../../etc/passwd", "../../../etc/passwd"),
    ],
)
def test_a_file_is_named_as_the_project_has_it(tmp_path: Path, file: str, known: str) -> None:
    write(
        tmp_path,
        {"tests/login.test.js": "", "results.json": jest(0, "failed", file.replace("\\\\", "\\"))},
    )
    looked(tmp_path)
    assert past(tmp_path).file == known


def test_only_tests_that_a_record_names_cite_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "MAX_FAILED", 2)
    names = [f"test_login_{letter}" for letter in "abcd"]
    write(tmp_path, {**FILES, "reports/a.xml": junit(0, **dict.fromkeys(names, "F"))})
    (finding,) = failures(tmp_path)
    assert finding.text.startswith("`test_login_a`, `test_login_b` failed on")
    assert len(pasts(tmp_path)) == 4


def test_tests_of_one_name_in_other_files_or_classes_are_others(tmp_path: Path) -> None:
    cases = "".join(
        f'<testcase classname="{group}" name="test_x"><failure/></testcase>'
        for group in (
            "tests.test_login",
            "tests.test_login.TestForm",
            "tests.other.test_login",
            "test_login",
        )
    )
    write(tmp_path, {**FILES, "reports/a.xml": f"<testsuite>{cases}</testsuite>"})
    looked(tmp_path)
    assert len(pasts(tmp_path)) == 4


# -- what a look costs, and what goes wrong


def test_an_unchanged_report_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        tmp_path,
        {
            "reports/a.xml": junit(0, **{NAME: "F"}),
            "reports/b.json": '{"suites": ',
            "results.json": "{}",
        },
    )
    monkeypatch.setattr(update, "is_young", lambda changed, now: False)
    first = looked(tmp_path)
    monkeypatch.setattr(update, "plain_bytes", lambda path, limit: pytest.fail(f"{path} was read"))
    assert looked(tmp_path) == first
    assert (
        "reports/b.json cannot be read in full" in "".join(first.problems),
        len(first.problems),
    ) == (True, 1)
    assert evidence(tmp_path, "login").notes == first.problems


def test_a_report_that_has_just_been_written_is_not_trusted_by_its_time(tmp_path: Path) -> None:
    path = write(tmp_path, {"reports/a.xml": ""}) / "reports" / "a.xml"
    for verdict in "FPF":  # all three have the same size
        handle = path.open("r+")
        handle.write(junit(0, **{NAME: verdict}) + " " * 99)
        handle.close()
        now = time.time_ns()
        os.utime(path, ns=(now, now))
        assert bool(looked(tmp_path).failures_digest) == (verdict == "F")


def test_a_large_report_is_noted_and_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "MAX_BYTES", 100)
    write(tmp_path, {"reports/a.xml": junit(0, **{NAME: "F"})})
    found_ = looked(tmp_path)
    assert (found_.failures_digest, len(found_.problems)) == ("", 1)
    assert "more than" in found_.problems[0]


def test_a_broken_history_is_renamed_and_starts_over(tmp_path: Path) -> None:
    run(tmp_path, "FP")
    db = services(tmp_path).layout.test_history
    for broken in (b"no database" * 1000, b""):
        db.write_bytes(broken)
        write(tmp_path, {"reports/junit.xml": junit(600, **{NAME: "F"})})
        assert looked(tmp_path).failures_digest
        assert (past(tmp_path).runs, past(tmp_path).failures) == (1, 1)
    assert db.with_suffix(".db.broken").read_bytes().startswith(b"no database")
    with sqlite3.connect(db) as connection:
        connection.execute(
            "ALTER TABLE tests DROP COLUMN message"
        )  # another schema, of a version that was counted
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    assert looked(tmp_path).failures_digest
    assert past(tmp_path).failures == 1


@pytest.mark.parametrize("name", [b"retrmed ", b"retr\xe9ed "], ids=["another name", "no text"])
def test_a_history_with_a_flipped_bit_in_the_name_of_a_column_starts_over(
    tmp_path: Path, name: bytes
) -> None:
    run(tmp_path, "FP")
    db = services(tmp_path).layout.test_history
    data = db.read_bytes()
    assert data.count(b"retried ") == 1
    db.write_bytes(data.replace(b"retried ", name))
    write(tmp_path, {"reports/junit.xml": junit(600, **{NAME: "F"})})
    assert looked(tmp_path).failures_digest
    assert past(tmp_path).failures == 1
    assert name in db.with_suffix(".db.broken").read_bytes()


@pytest.mark.parametrize("damage", ["replace(record, '{', '{{')", "'[]'", "x'ff'"])
def test_a_history_with_a_damaged_record_of_a_run_starts_over(tmp_path: Path, damage: str) -> None:
    run(tmp_path, "F")
    layout = services(tmp_path).layout
    with closing(sqlite3.connect(layout.test_history)) as db, db:
        (id_,) = db.execute("SELECT id FROM runs").fetchone()
        assert store.record(layout, id_) is not None
        db.execute(f"UPDATE runs SET record = {damage}")
    assert store.record(layout, id_) is None
    assert layout.test_history.with_suffix(".db.broken").exists()
    write(tmp_path, {"reports/junit.xml": junit(600, **{NAME: "F"})})
    assert looked(tmp_path).failures_digest
    assert past(tmp_path).failures == 1


@pytest.mark.parametrize(
    ("table", "column"),
    [("reports", "says"), ("reports", "problem"), ("reports", "at"), ("seen", "says"),
     ("tests", "file"), ("tests", "groups"), ("tests", "name"), ("tests", "message"),
     ("tests", "runs"), ("outcomes", "kind"), ("outcomes", "run"), ("outcomes", "verdict")],
)  # fmt: skip
def test_a_history_with_a_value_of_another_type_starts_over(
    tmp_path: Path, table: str, column: str
) -> None:
    run(tmp_path, "F")
    history_ = services(tmp_path).layout.test_history
    with closing(sqlite3.connect(history_)) as db, db:
        db.execute(f"UPDATE {table} SET {column} = x'ff'")
        if table == "seen":  # they are asked for when the report changes
            db.execute("UPDATE reports SET mtime = 0")
    looked(tmp_path)
    assert len(pasts(tmp_path)) < 2
    assert history_.with_suffix(".db.broken").exists()
    write(tmp_path, {"reports/junit.xml": junit(600, **{NAME: "F"})})
    assert looked(tmp_path).failures_digest
    assert past(tmp_path).is_failing


def test_a_history_that_cannot_be_written_is_a_note_and_not_an_error(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "reports/junit.xml": junit(0, **{NAME: "F"})})
    services(tmp_path).layout.test_history.mkdir(parents=True)
    told = evidence(tmp_path, "login")
    assert "failures" in told.used
    assert "the test history cannot be written" in " ".join(told.notes)
    assert not [finding for finding in told.findings if finding.rule == "failing"]


LOOK = """
import os, signal, sys
from pathlib import Path
from preread import inputs
from preread.layout import Layout
from preread.reports import ingest
from preread.services import Services
from preread.settings import Settings
if sys.argv[2] == "killed":
    real = ingest._record
    ingest._prune = lambda connection: os.kill(os.getpid(), signal.SIGKILL)
inputs.reports(Services(Layout(Path(sys.argv[1])), Settings()))
"""


def start(root: Path, how: str = "") -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", LOOK, str(root), how])


def test_a_killed_process_leaves_all_of_a_report_or_nothing(tmp_path: Path) -> None:
    root = write(tmp_path, {"reports/a.xml": junit(0, **{NAME: "F"})})
    assert start(root, "killed").wait(30) == -signal.SIGKILL
    assert pasts(root) == []
    looked(root)
    assert (past(root).runs, past(root).failures) == (1, 1)


def test_many_reports_are_stored_in_few_transactions_and_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each transaction waits for the disk; a killed process loses no more than one of them."""
    files = {f"reports/{n:02}.xml": junit(60 * n, **{NAME: "F" if n else "P"}) for n in range(11)}
    copies = {"reports/copy.xml": files["reports/03.xml"], "reports/none.xml": "<x/>"}
    root = write(tmp_path, files | copies)
    for path in root.glob("reports/*"):
        os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(update, "BATCH", 5)
    monkeypatch.setattr(update, "is_young", lambda *_: False)
    sizes: list[int] = []
    whole = update.ingest

    def counted(connection: sqlite3.Connection, reports: list[Any]) -> None:
        sizes.append(len(reports))
        whole(connection, reports)

    monkeypatch.setattr(update, "ingest", counted)
    state = looked(root)
    assert sizes == [5, 5, 3]
    assert (past(root).runs, past(root).failures) == (11, 10)
    times = dict(state.current)
    assert times["reports/copy.xml"] == times["reports/03.xml"]
    assert (looked(root), sizes) == (state, [5, 5, 3])


def test_several_processes_fold_a_report_once(tmp_path: Path) -> None:
    files = {
        f"reports/{n}.xml": junit(60 * n, **{NAME: "F" if n % 2 else "P", f"test_{n}": "F"})
        for n in range(12)
    }
    root = write(tmp_path, files)
    assert [process.wait(60) for process in [start(root) for _ in range(3)]] == [0, 0, 0]
    known = {one.name: (one.runs, one.failures) for one in pasts(root)}
    assert known == {NAME: (12, 6), **{f"test_{n}": (1, 1) for n in range(12)}}


# -- bounds


def test_the_history_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("MAX_TESTS", 10),
        ("MAX_OUTCOMES_PER_TEST", 3),
        ("MAX_REPORTS", 4),
        ("MAX_RECORDS", 900),
    ):
        monkeypatch.setattr(ingest, name, value)
    run(tmp_path, "PFPFPF")
    known = past(tmp_path)
    assert (len(known.tries), known.runs, known.failures) == (3, 6, 3)
    write(tmp_path, {"reports/many.xml": junit(3000, **{f"test_{n}": "F" for n in range(15)})})
    looked(tmp_path)
    with sqlite3.connect(services(tmp_path).layout.test_history) as connection:
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("tests", "seen", "outcomes", "runs")
        }
        size = connection.execute("SELECT total(length(record)) FROM runs").fetchone()[0]
    connection.close()
    assert counts["tests"] == 10
    assert (counts["seen"], counts["outcomes"], size <= 900) == (4, 10, True)


def test_a_test_that_no_report_has_named_for_months_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "MAX_AGE", 5 * 86_400)
    for day in (1, 3, 7):
        write(tmp_path, {"reports/junit.xml": junit(0, day=day, **{f"test_{day}": "F"})})
        looked(tmp_path)
    assert {one.name for one in pasts(tmp_path)} == {"test_3", "test_7"}


def test_an_impossible_time_is_ignored(tmp_path: Path) -> None:
    for n, at in enumerate(("2099-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "x", "9" * 99)):
        case = f'<testcase name="test_{n}"><failure/></testcase>'
        write(tmp_path, {f"reports/{n}.xml": f'<testsuite timestamp="{at}">{case}</testsuite>'})
    looked(tmp_path)
    assert {0 < one.failed < time.time() + 1 for one in pasts(tmp_path)} == {True}


def test_a_run_is_a_source_by_its_id_and_contains_what_failed(tmp_path: Path) -> None:
    run(tmp_path, "F")
    ref = sources.parse(past(tmp_path).cited[0])
    assert ref is not None
    span = sources.resolve(ref, services(tmp_path).tree)
    assert any(NAME in line for line in span.lines)
    before = span.digest
    run(tmp_path, "PF", start=1)
    assert sources.resolve(ref, services(tmp_path).tree).digest == before
    unknown: Any = sources.parse("run:20261120T090000-0000000000")
    with pytest.raises(sources.SourceError):
        sources.resolve(unknown, services(tmp_path).tree)
    assert store.record(services(tmp_path).layout, "'; DROP TABLE runs; --") is None
