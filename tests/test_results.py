"""Runs that the hooks recorded, as evidence: failing and flaky tests, within limits."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from _evidence_project import evidence, found, services, write
from _processes import small
from conftest import Cli
from preread.layout import Layout
from preread.models import Finding
from preread.reports import results

TEST = "def test_login_shows_an_error():\n    pass\n\n\ndef test_login_works():\n    pass\n"
CODE = "def login(name):\n    return name\n"
DAY = 1_795_239_706  # 2026-11-21
RECORD = ".project/.state/results.jsonl"
WHEN, MESSAGE = "2026-11-21, with `wait`", "Timeout 5000ms exceeded"
NAME = "tests/test_login.py::test_login_shows_an_error"


def run(number: int, outcome: str, **other: Any) -> dict[str, Any]:
    """One line of the record, as the hooks write it."""
    failed = [NAME] if outcome == "failed" else []
    line = {
        "id": f"20261121T{number:06}-3f9c21", "at": DAY + number, "session": "s",
        "outcome": outcome,
        "kind": "wait" if failed else "", "features": ["login"],
        "command": "pytest tests/test_login.py",
        "targets": ["tests/test_login.py"], "failed": failed, "passed": 1, "failures": len(failed),
        "message": "Timeout 5000ms exceeded" if failed else "", "seconds": 0.1,
    }  # fmt: skip
    return line | other


def told(
    root: Path, runs: Iterable[dict[str, Any] | str], feature: str = "login", **files: str
) -> list[Finding]:
    """What the rule finds; each finding passes the check."""
    lines = [line if isinstance(line, str) else json.dumps(line) for line in runs]
    write(
        root,
        {
            "login.py": CODE,
            "tests/test_login.py": TEST,
            RECORD: "".join(f"{line}\n" for line in lines),
            **files,
        },
    )
    return [*found(root, "failing", feature), *found(root, "flaky", feature)]


def texts(root: Path, outcomes: str, **other: Any) -> list[str]:
    """What is told of runs that passed and failed in this order: `PF`."""
    names = {"P": "passed", "F": "failed", "E": "error"}
    return [f.text for f in told(root, [run(n, names[o], **other) for n, o in enumerate(outcomes)])]


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ("F", f"`{NAME}` failed on {WHEN}: {MESSAGE}"),
        ("PFFFF", f"`{NAME}` failed in 4 of 5 runs, last {WHEN}: {MESSAGE}"),
        ("FFFF", f"`{NAME}` failed 4 times, last {WHEN}: {MESSAGE}"),
        ("FEE", f"`{NAME}` failed on {WHEN}: {MESSAGE}"),
        (
            "FPFPP",
            f"`{NAME}` is flaky: failed in 2 of 5 runs, last {WHEN}: {MESSAGE}",
        ),
        ("FFFP", ""),
        ("PFP", ""),
        ("P", ""),
        ("E", ""),
        ("", ""),
    ],
)
def test_a_failing_or_flaky_test_is_reported_and_a_fixed_one_is_not(
    tmp_path: Path, outcomes: str, said: str
) -> None:
    assert texts(tmp_path, outcomes) == ([said] if said else [])


def test_a_finding_cites_its_last_runs_newest_first(tmp_path: Path) -> None:
    (finding,) = told(tmp_path, [run(n, "failed") for n in range(5)])
    assert finding.sources == tuple(f"run:20261121T00000{n}-3f9c21" for n in (4, 3, 2))
    assert finding.section == "Failing or flaky in recorded runs"


def test_kinds_that_differ_are_counted_and_unknown_ones_left_out(tmp_path: Path) -> None:
    runs = [
        run(n, "failed", kind=kind) for n, kind in enumerate(("wait", "locator", "wait", "other"))
    ]
    (finding,) = told(tmp_path, runs)
    assert "failed 4 times, last 2026-11-21, 2 times with `wait`" in finding.text
    older = [run(n, "failed", kind="network") for n in range(4)]
    newer = [run(n, "failed", kind="wait") for n in range(4, 7)]
    (finding,) = told(tmp_path / "c", [*older, *newer])
    assert "failed 7 times, last 2026-11-21, 4 times with `network`" in finding.text
    assert [source[-8] for source in finding.sources] == [
        "6",
        "3",
        "5",
    ]  # the kind stands in one of them
    (finding,) = told(tmp_path / "b", [run(1, "failed", kind="`; rm -rf`", message="")])
    assert finding.text == f"`{NAME}` failed on 2026-11-21"


def test_a_pass_of_the_same_command_or_target_counts_and_of_another_does_not(
    tmp_path: Path,
) -> None:
    whole = run(2, "passed", command="pytest", targets=[], features=[])
    assert told(tmp_path / "a", [run(1, "failed"), whole])
    assert not told(tmp_path / "b", [run(1, "failed", command="pytest", targets=[]), whole])
    assert not told(
        tmp_path / "c", [run(1, "failed"), run(2, "passed", command="pytest -k error -q")]
    )
    others = run(2, "failed", failed=["tests/test_login.py::test_login_works"])
    (finding,) = told(tmp_path / "d", [run(1, "failed"), others])
    assert "test_login_works" in finding.text


def test_only_the_features_own_tests_are_reported(tmp_path: Path) -> None:
    other = "tests/test_paint.py::test_colours"
    runs = [
        run(
            1,
            "failed",
            features=["paint"],
            targets=["tests/test_paint.py"],
            command="a",
            failed=[other],
        ),
        run(
            2, "failed", features=["login", "paint"], targets=[], command="b", failed=[other, NAME]
        ),
    ]
    assert [f.text.split()[0] for f in told(tmp_path, runs)] == [f"`{NAME}`"]
    assert {f.text.split()[0] for f in found(tmp_path, "flaky", "paint")} == {f"`{other}`"}


def test_a_failed_run_without_test_names_counts_for_its_target(tmp_path: Path) -> None:
    (finding,) = told(tmp_path, [run(n, "failed", failed=[]) for n in range(2)])
    assert finding.text.startswith("`tests/test_login.py` failed 2 times")


def test_a_run_that_is_also_in_a_report_counts_once(tmp_path: Path) -> None:
    report = (
        '<testsuite timestamp="2026-11-21T05:41:{:02}Z"><testcase classname="tests.test_login" '
        'name="test_login_shows_an_error"><failure message="no error"/></testcase></testsuite>\n'
    )
    assert DAY == 1_795_239_706  # 05:41:46
    write(tmp_path, {"reports/junit.xml": report.format(44)})
    (finding,) = told(tmp_path, [run(1, "failed", seconds=3.0)])
    assert finding.text == "`test_login_shows_an_error` failed on 2026-11-21: no error"
    (source,) = finding.sources
    assert source.startswith("run:20261121T054144-")
    write(tmp_path, {"reports/junit.xml": report.format(10)})
    assert "failed 2 times" in told(tmp_path, [run(1, "failed", seconds=3.0)])[0].text


def test_a_name_with_quotes_and_slashes_is_found_in_its_run(tmp_path: Path) -> None:
    name = 'tests/test_login.py > it\'s "fine" \\ für alle'
    (finding,) = told(tmp_path, [run(1, "failed", failed=[name])])
    assert finding.text.startswith(f"`{name}` failed on")


def test_only_a_few_of_many_are_reported(tmp_path: Path) -> None:
    names = [f"tests/test_login.py::test_login_{i}" for i in range(20)]
    findings = told(tmp_path, [run(n, "failed", failed=names[: 3 * n]) for n in range(1, 7)])
    assert len(findings) == 4
    (worst,) = [finding.text for finding in findings if "failed 6 times" in finding.text]
    assert worst.startswith(", ".join(f"`{name}`" for name in names[:3]))


def test_only_the_newest_two_thousand_lines_are_read(tmp_path: Path) -> None:
    runs = [run(1, "failed"), *(f'{{"id": "x{n}", "outcome": "passed"}}' for n in range(2000))]
    assert told(tmp_path, runs) == []
    assert told(tmp_path / "b", runs[:-1])


@pytest.mark.parametrize(
    "line",
    [
        "", "{", "[]", "null", '"x"', "{}", '{"id": 1}',
        '{"id": "../x", "outcome": "failed", "failed": "x"}',
        json.dumps(run(1, "failed", id="a b")),
        json.dumps(run(1, "failed", at="x", kind=3, features=3, targets={})),
        json.dumps(run(1, "failed", failed=["", 3, None, "`" * 50, "\x1b[31mlogin",
            "login \u202e"])),
        json.dumps(run(1, "failed", at=1e300)), json.dumps(run(1, "failed", at=-1e300)),
        "[" * 100_000,
        '{"id": "a", "at": NaN, "outcome": "failed", "failed": ["login"]}',
        '{"id": "a", "at": ' + "9" * 5000 + "}",
        json.dumps(run(1, "failed",
            message="a) (login.py:1)\n## Not mine\n- `quoted`" + "x" * 5000)),
    ],
)  # fmt: skip
def test_no_record_can_cause_a_false_fact(tmp_path: Path, line: str) -> None:
    told(tmp_path, [line, line[: len(line) // 2]])


def test_a_record_is_read_once_and_a_truncated_line_is_ignored(tmp_path: Path) -> None:
    write(
        tmp_path, {RECORD: json.dumps(run(1, "failed")) + "\n" + json.dumps(run(2, "passed"))[:-5]}
    )
    assert [one.id for one in results.runs(services(tmp_path).tree)] == [run(1, "failed")["id"]]


def test_a_recorded_failure_raises_auto_to_full(tmp_path: Path) -> None:
    from preread.builds.build_plan import HISTORY

    told(tmp_path, [run(1, "failed")])
    assert HISTORY & {finding.rule for finding in evidence(tmp_path, "login").findings}


def record(project: Path, *runs: dict[str, Any]) -> None:
    path = Layout(project).results
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in runs)


def test_a_new_run_keeps_a_dossier_valid_and_a_missing_cited_one_does_not(
    cli: Cli, tmp_path: Path
) -> None:
    name = "tests/test_login.py::test_login_gives_a_token"
    project = small(tmp_path / "p", {"reports/junit.xml": "<testsuite/>"})
    record(project, run(1, "failed", failed=[name]))
    built = cli("load", "login", "--json", cwd=project).json
    assert f"`{name}` failed on 2026-11-21, with `wait`" in built["dossier"]
    assert (
        "(run:20261121T000001-3f9c21)"
        in (project / ".project/context/login/failures.md").read_text()
    )
    assert cli("check", "login", cwd=project).status == 0
    record(project, run(2, "passed"))
    assert cli("load", "login", "--json", cwd=project).json["state"] in {"cached", "refreshed"}
    forced = cli("load", "login", "--force", "--json", cwd=project).json
    assert "2026-11-21" not in forced["dossier"]
    record(project, run(3, "failed", failed=[name]))
    assert (
        "failed in 2 of 3 runs"
        in cli("load", "login", "--force", "--json", cwd=project).json["dossier"]
    )
    Layout(project).results.write_text("")
    status = cli("status", "login", "--json", cwd=project).json["dossiers"][0]
    assert (status["fresh"], "what it cites is no longer there" in status["refreshed"]) == (
        True,
        True,
    )
    assert "run:" not in cli("load", "login", "--json", cwd=project).json["dossier"]
