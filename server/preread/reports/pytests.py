"""Read the reports of two pytest plug-ins: pytest-json-report and pytest-reportlog."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from preread.reports import outcomes
from preread.reports.outcomes import MAX_OUTCOMES, Lines, Outcome, Report, Verdict

PHASES = ("setup", "call", "teardown")
JSON_VERDICTS: dict[str, Verdict] = {
    "passed": "passed",
    "xpassed": "passed",
    "failed": "failed",
    "error": "failed",
    "skipped": "skipped",
    "xfailed": "skipped",
}


def read_json(value: dict[str, Any], lines: Lines) -> Report:
    """Read a file of pytest-json-report: https://github.com/numirias/pytest-json-report#format"""
    tests = outcomes.dicts(value.get("tests"))
    report = Report(
        at=max(0.0, outcomes.number(value.get("created")) - outcomes.number(value.get("duration")))
    )
    found = (_outcome(test, lines) for test in tests[:MAX_OUTCOMES])
    report.outcomes.extend(outcome for outcome in found if outcome is not None)
    if len(tests) > MAX_OUTCOMES:
        report.problem = f"it has more than {MAX_OUTCOMES} tests"
    return report


def _outcome(test: dict[str, Any], lines: Lines) -> Outcome | None:
    """One test of pytest-json-report; None if it has no id or an unknown outcome."""
    node = outcomes.clean(test.get("nodeid"))
    phases = [phase for name in PHASES if isinstance(phase := test.get(name), dict)]
    bad = next((phase for phase in phases if phase.get("outcome") == "failed"), None)
    outcome = test.get("outcome")
    if outcome == "rerun":  # by pytest-rerunfailures; the phases are the last attempt's
        verdict: Verdict | None = "failed" if bad else "flaky"
    else:
        verdict = JSON_VERDICTS.get(outcome) if isinstance(outcome, str) else None
    if not node or verdict is None:
        return None
    message, kind = ("", "") if verdict != "failed" else _failure(bad or {})
    line = lines.of(json.dumps(test["nodeid"])) if verdict in {"failed", "flaky"} else 0
    return Outcome(*split(node), verdict, message, kind, int(outcome == "rerun"), line)


def split(node: str) -> tuple[str, str, str]:
    """Split a node id into file, classes and name; parameters in brackets may contain anything."""
    head, bracket, parameters = node.partition("[")
    file, *classes = head.split("::")
    name = (classes.pop() if classes else "") + bracket + parameters
    return outcomes.path(file), outcomes.joined(*classes), name or file


def _failure(phase: dict[str, Any]) -> tuple[str, str]:
    crash = phase.get("crash")
    return outcomes.failure(
        crash.get("message") if isinstance(crash, dict) else "", phase.get("longrepr")
    )


@dataclass
class _Test:
    """What the lines read so far say about one test."""

    retries: int = 0
    failed: bool = False  # in the last attempt
    skipped: bool = False
    message: str = ""
    kind: str = ""
    line: int = 0

    @property
    def verdict(self) -> Verdict:
        if self.failed:
            return "failed"
        if self.skipped:
            return "skipped"
        return "flaky" if self.retries else "passed"


@dataclass
class _Log:
    tests: dict[str, _Test] = field(default_factory=dict)
    first: float = 0.0
    broken: int = 0


def read_log(lines: Iterable[str]) -> Report:
    """Read the lines of pytest-reportlog. The run may have been killed, or still be running."""
    log = _Log()
    for number, line in enumerate(lines, 1):
        if line.strip():
            _read_line(log, line, number)
    report = Report(at=log.first)
    for node, test in log.tests.items():
        report.outcomes.append(
            Outcome(*split(node), test.verdict, test.message, test.kind, test.retries, test.line)
        )
    if log.broken:
        report.problem = f"line {log.broken} is not valid JSON"
    elif len(log.tests) >= MAX_OUTCOMES:
        report.problem = f"it has more than {MAX_OUTCOMES} tests"
    return report


def _read_line(log: _Log, line: str, number: int) -> None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        log.broken = log.broken or number
        return
    if isinstance(value, dict):
        _add(log, value, number)


def _add(log: _Log, value: dict[str, Any], line: int) -> None:
    kind, node, outcome = (
        outcomes.clean(value.get(key)) for key in ("$report_type", "nodeid", "outcome")
    )
    is_result = kind == "TestReport" or (kind == "CollectReport" and outcome == "failed")
    if not (is_result and node):
        return
    if node not in log.tests and len(log.tests) >= MAX_OUTCOMES:
        return
    start = outcomes.number(value.get("start"))
    log.first = min(log.first or start, start) or log.first
    test = log.tests.setdefault(node, _Test())
    if outcome == "rerun":
        test.retries += 1
        test.failed = False
    elif outcome == "skipped":
        test.skipped = True
    elif outcome == "failed":
        test.failed = True
    if outcome in {"rerun", "failed"}:
        test.message, test.kind = _crash(value.get("longrepr"))
        test.line = line


def _crash(longrepr: object) -> tuple[str, str]:
    """The message and the kind of a failure."""
    crash = longrepr.get("reprcrash") if isinstance(longrepr, dict) else None
    text = longrepr if isinstance(longrepr, str) else "\n".join(_marked(longrepr))
    return outcomes.failure(crash.get("message") if isinstance(crash, dict) else "", text)


def _marked(longrepr: object) -> list[str]:
    """The lines of a traceback that state the error."""
    trace = longrepr.get("reprtraceback") if isinstance(longrepr, dict) else None
    entries = outcomes.dicts(trace.get("reprentries")) if isinstance(trace, dict) else []
    data = [entry.get("data") for entry in entries]
    lines = [
        line for one in data if isinstance(one, dict) for line in outcomes.texts(one.get("lines"))
    ]
    return [line for line in lines if line.startswith("E ")]
