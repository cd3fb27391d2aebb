"""Read the JSON reports of Playwright, and of Jest and Vitest, which share one format."""

import json
from typing import Any

from preread.reports import outcomes
from preread.reports.outcomes import MAX_OUTCOMES, Lines, Outcome, Report, Verdict

MAX_DEPTH = 50  # of nested suites
PLAYWRIGHT: dict[str, Verdict] = {
    "expected": "passed",
    "unexpected": "failed",
    "flaky": "flaky",
    "skipped": "skipped",
}
JEST: dict[str, Verdict] = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "pending": "skipped",
    "todo": "skipped",
    "disabled": "skipped",
}


def read_playwright(value: dict[str, Any], lines: Lines) -> Report:
    """Read a report of Playwright.

    https://playwright.dev/docs/api/class-testcase#test-case-outcome
    """
    config, stats = value.get("config"), value.get("stats")
    root = outcomes.clean(config.get("rootDir")) if isinstance(config, dict) else ""
    report = Report(
        at=outcomes.timestamp(stats.get("startTime")) if isinstance(stats, dict) else 0.0
    )
    # The outermost suites are files; those inside are `describe` blocks.
    suites: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        (one, ()) for one in reversed(outcomes.dicts(value.get("suites")))
    ]
    while suites:
        suite, titles = suites.pop()
        for spec in outcomes.dicts(suite.get("specs")):
            file = outcomes.path(spec.get("file") or suite.get("file"))
            for test in outcomes.dicts(spec.get("tests")):
                if len(report.outcomes) >= MAX_OUTCOMES:
                    report.problem = f"it has more than {MAX_OUTCOMES} tests"
                    return report
                report.outcomes += _playwright(
                    test, spec, f"{root}/{file}" if root else file, titles, lines
                )
        inner = outcomes.dicts(suite.get("suites"))
        if len(titles) >= MAX_DEPTH and inner:
            report.problem = f"its suites are nested more than {MAX_DEPTH} deep"
            continue
        suites += [(one, (*titles, outcomes.clean(one.get("title")))) for one in reversed(inner)]
    return report


def _playwright(
    test: dict[str, Any], spec: dict[str, Any], file: str, titles: tuple[str, ...], lines: Lines
) -> list[Outcome]:
    status, name = test.get("status"), outcomes.clean(spec.get("title"))
    verdict = PLAYWRIGHT.get(status) if isinstance(status, str) else None
    if verdict is None or not name:
        return []
    attempts = outcomes.dicts(test.get("results"))
    errors = [
        error
        for attempt in attempts
        for error in (attempt.get("error"), *outcomes.dicts(attempt.get("errors")))
        if error
    ]
    error = next((error for error in errors if isinstance(error, dict)), {})
    message = kind = ""
    if verdict in FAILED:
        message, kind = outcomes.failure(
            error.get("message") or error.get("value"), error.get("stack")
        )
    project = outcomes.clean(test.get("projectName"))
    group = outcomes.joined(f"[{project}]" if project else "", *titles)
    line = lines.of(json.dumps(spec["title"], ensure_ascii=False)) if verdict in FAILED else 0
    return [Outcome(file, group, name, verdict, message, kind, max(0, len(attempts) - 1), line)]


FAILED = frozenset({"failed", "flaky"})


def read_jest(value: dict[str, Any], lines: Lines) -> Report:
    """Read a report of Jest or Vitest.

    https://jestjs.io/docs/configuration#testresultsprocessor-string
    """
    report = Report(at=outcomes.number(value.get("startTime")) / 1000)
    for suite in outcomes.dicts(value.get("testResults")):
        file = outcomes.path(suite.get("name") or suite.get("testFilePath"))
        tests = outcomes.dicts(suite.get("assertionResults") or suite.get("testResults"))
        if not tests and suite.get("status") == "failed" and file:  # the file itself failed
            line = lines.of(json.dumps(suite.get("name"), ensure_ascii=False))
            message, kind = outcomes.failure("", suite.get("message"))
            report.outcomes.append(
                Outcome(file, "", file.rpartition("/")[2], "failed", message, kind, 0, line)
            )
        for test in tests:
            if len(report.outcomes) >= MAX_OUTCOMES:
                report.problem = f"it has more than {MAX_OUTCOMES} tests"
                return report
            report.outcomes += _jest(test, file, lines)
    return report


def _jest(test: dict[str, Any], file: str, lines: Lines) -> list[Outcome]:
    status, name = test.get("status"), outcomes.clean(test.get("title"))
    verdict = JEST.get(status) if isinstance(status, str) else None
    if verdict is None or not name:
        return []
    failures = outcomes.texts(test.get("failureMessages"))
    attempts = int(outcomes.number(test.get("invocations")))
    # Jest counts attempts; Vitest lists the failures of earlier ones.
    if verdict == "passed" and (attempts > 1 or failures):
        verdict = "flaky"
    message = kind = ""
    if verdict in FAILED:
        message, kind = outcomes.failure("", failures[0] if failures else "")
    line = lines.of(json.dumps(test["title"], ensure_ascii=False)) if verdict in FAILED else 0
    group = outcomes.joined(*outcomes.texts(test.get("ancestorTitles")))
    retries = max(0, min(attempts, 1000) - 1)
    return [Outcome(file, group, name, verdict, message, kind, retries, line)]
