"""The JSON reports of Playwright, and of Jest, whose shape Vitest's has."""

import json
from typing import Any

from preread.reports.outcomes import (
    MOST,
    Lines,
    Outcome,
    Report,
    Verdict,
    clean,
    dicts,
    joined,
    moment,
    number,
    path,
    said,
    texts,
)

MAX_DEPTH = 50  # of suites in suites
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
    """Playwright. https://playwright.dev/docs/api/class-testcase#test-case-outcome"""
    config, stats = value.get("config"), value.get("stats")
    root = clean(config.get("rootDir")) if isinstance(config, dict) else ""
    report = Report(at=moment(stats.get("startTime")) if isinstance(stats, dict) else 0.0)
    # The suites of a file, whose title is its name; below it `describe` blocks.
    suites: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        (one, ()) for one in reversed(dicts(value.get("suites")))
    ]
    while suites:
        suite, titles = suites.pop()
        for spec in dicts(suite.get("specs")):
            file = path(spec.get("file") or suite.get("file"))
            for test in dicts(spec.get("tests")):
                if len(report.outcomes) >= MOST:
                    report.problem = f"it has more than {MOST} tests"
                    return report
                report.outcomes += _playwright(
                    test, spec, f"{root}/{file}" if root else file, titles, lines
                )
        inner = dicts(suite.get("suites"))
        if len(titles) >= MAX_DEPTH and inner:
            report.problem = f"its suites stand more than {MAX_DEPTH} deep"
            continue
        suites += [(one, (*titles, clean(one.get("title")))) for one in reversed(inner)]
    return report


def _playwright(
    test: dict[str, Any], spec: dict[str, Any], file: str, titles: tuple[str, ...], lines: Lines
) -> list[Outcome]:
    status, name = test.get("status"), clean(spec.get("title"))
    verdict = PLAYWRIGHT.get(status) if isinstance(status, str) else None
    if verdict is None or not name:
        return []
    tries = dicts(test.get("results"))
    errors = [
        error for one in tries for error in (one.get("error"), *dicts(one.get("errors"))) if error
    ]
    error = next((error for error in errors if isinstance(error, dict)), {})
    told = (
        said(error.get("message") or error.get("value"), error.get("stack"))
        if verdict in FAILED
        else ("", "")
    )
    project = clean(test.get("projectName"))
    group = joined(f"[{project}]" if project else "", *titles)
    line = lines.of(json.dumps(spec["title"], ensure_ascii=False)) if verdict in FAILED else 0
    return [Outcome(file, group, name, verdict, *told, max(0, len(tries) - 1), line)]


FAILED = frozenset({"failed", "flaky"})


def read_jest(value: dict[str, Any], lines: Lines) -> Report:
    """Jest and Vitest. https://jestjs.io/docs/configuration#testresultsprocessor-string"""
    report = Report(at=number(value.get("startTime")) / 1000)
    for suite in dicts(value.get("testResults")):
        file = path(suite.get("name") or suite.get("testFilePath"))
        tests = dicts(suite.get("assertionResults") or suite.get("testResults"))
        if (
            not tests and suite.get("status") == "failed" and file
        ):  # the file itself could not be run
            line = lines.of(json.dumps(suite.get("name"), ensure_ascii=False))
            message, kind = said("", suite.get("message"))
            report.outcomes.append(
                Outcome(file, "", file.rpartition("/")[2], "failed", message, kind, 0, line)
            )
        for test in tests:
            if len(report.outcomes) >= MOST:
                report.problem = f"it has more than {MOST} tests"
                return report
            report.outcomes += _jest(test, file, lines)
    return report


def _jest(test: dict[str, Any], file: str, lines: Lines) -> list[Outcome]:
    status, name = test.get("status"), clean(test.get("title"))
    verdict = JEST.get(status) if isinstance(status, str) else None
    if verdict is None or not name:
        return []
    failures = texts(test.get("failureMessages"))
    tries = int(number(test.get("invocations")))
    if verdict == "passed" and (
        tries > 1 or failures
    ):  # Jest counts tries, Vitest keeps what failed before
        verdict = "flaky"
    told = said("", failures[0] if failures else "") if verdict in FAILED else ("", "")
    line = lines.of(json.dumps(test["title"], ensure_ascii=False)) if verdict in FAILED else 0
    group = joined(*texts(test.get("ancestorTitles")))
    return [Outcome(file, group, name, verdict, *told, max(0, min(tries, 1000) - 1), line)]
