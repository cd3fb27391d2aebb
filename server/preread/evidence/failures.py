"""What goes wrong: tests that fail or change, by reports and recorded runs; tests that are not trusted."""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from preread import inputs, sources
from preread.evidence import phrases
from preread.evidence.view import FileView, View
from preread.models import Finding
from preread.reports import history
from preread.reports.history import Past
from preread.syntax import TestCase

MARK = re.compile(
    r"(?i)skip(if|unless)?|xfail|fixme|flaky|todo|ignore|disabled|quarantine|retr(y|ies)|slow\b"
)
ROWS = re.compile(
    r"^[@#\s]*[\w.]*parametrize\((?!.*\bmark\.)"
)  # what a test is given may be called like a mark
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
CONDITION = re.compile(r"\s*(?:\}\s*)?(?:else\s+)?(?:if|unless|when|switch|guard)\b|\s*#\s*if")
MOST = {"reported": 6, "failed": 4}  # findings of one kind
MOST_RUNS = 3  # that one of them cites
MOST_NAMES = 4  # of tests that failed alike in one run, in one finding


def failed(view: View) -> Iterator[Finding]:
    """The feature's tests that failed when they were last run, and those whose outcome keeps changing.

    Each is told as history, which stays true: a later run does not make a standing dossier stale.
    """
    looked = inputs.reports(view.services)
    current = looked.current if looked is not None else frozenset()
    view.notes.extend(looked.problems if looked is not None else ())
    alike: dict[tuple[str, ...], list[Past]] = {}
    for past in belonging(view):
        cited = [source for source in past.cited if sources.parse(source) is not None]
        if cited and (past.is_failing or past.is_flaky):
            kind = "reported" if past.is_failing and past.tries[-1].of in current else "failed"
            alike.setdefault((kind, cited[0], counted(past), past.message), []).append(past)
    left = dict(MOST)
    for (kind, *_), tests in alike.items():
        left[kind] -= 1
        if left[kind] >= 0:
            yield _finding(tests, kind)


def belonging(view: View) -> list[Past]:
    """The tests with a past that belong to the feature: those that fail now, then its very own, then the worst."""
    counts = Counter(hot.file.path for hot in view.cases)
    paths = {
        file.path for file in view.tests if 0 < counts[file.path] * 2 >= len(file.outline.tests)
    }
    cases: dict[str, list[str]] = defaultdict(list)
    for hot in view.cases:
        cases[" ".join(hot.case.name.split()).lower()].append(hot.file.path)
    found = [
        (past, _belongs(view, past, paths, cases)) for past in history.pasts(view.services.tree)
    ]
    own = [(past, strength) for past, strength in found if strength]
    return [past for past, _ in sorted(own, key=lambda pair: (not pair[0].is_failing, -pair[1]))]


def _belongs(view: View, past: Past, paths: set[str], cases: dict[str, list[str]]) -> int:
    """How closely a test belongs to the feature: one of its own; in a file mostly theirs, or named so; not at all."""
    name = " ".join(past.name.split()).lower()
    if (
        past.file
        and not past.file.startswith(view.query.scope)
        and not any(_stands_in(path, past) for path in paths)
    ):
        return 0
    homes = cases.get(name) or cases.get(name.partition("[")[0]) or ()
    is_one = bool(homes) and (not past.file or any(_stands_in(path, past) for path in homes))
    if is_one or view.request.feature in past.features:
        return 2
    return int(any(_stands_in(path, past) for path in paths) or view.relevance(past.label) >= 1)


def _stands_in(path: str, past: Past) -> bool:
    """Whether a test is of this file, which a report may name relative to a package, or as `tests.test_login`."""
    if path in past.label:
        return True
    if past.file:
        return f"/{path}".endswith(f"/{past.file}")
    module, parts = path.removesuffix(".py").replace("/", "."), past.group.split(".")
    stem = module.rpartition(".")[2]
    return stem in parts and f".{module}".endswith("." + ".".join(parts[: parts.index(stem) + 1]))


def _finding(tests: list[Past], kind: str) -> Finding:
    """What is told of tests that failed alike: in the same run, as often, and with the same message."""
    past, last = tests[0], tests[0].tries[-1]
    names = ", ".join(phrases.quote(one.recorded or one.name, 90) for one in tests[:MOST_NAMES])
    more = f" and {len(tests) - MOST_NAMES} more" if len(tests) > MOST_NAMES else ""
    text = f"{names}{more} {counted(past)}"
    if past.message:
        text += f": {phrases.plain(phrases.clip(past.message, 130))}"
    if kind == "reported":
        reason = f"{last.report}:{last.line} has it as failed"
    else:
        reason = (
            "it failed when it was last run" if past.is_failing else "it passes and fails by turns"
        )
    score = (
        0.8 + 0.03 * past.failures + (0.05 if kind == "reported" else 0.0)
        if past.is_failing
        else 0.75
    )
    cited = [source for source in past.cited if sources.parse(source) is not None][:MOST_RUNS]
    return Finding(
        rule="failed",
        kind=kind,
        text=text,
        sources=tuple(cited),
        reason=reason,
        score=round(min(0.95, score), 2),
    )


def counted(past: Past) -> str:
    """How often a test failed, when last, and with which kind most."""
    day = time.strftime("%Y-%m-%d", time.gmtime(past.failed))
    in_runs = f"in {past.failures} of {past.runs} runs"
    if past.is_flaky and not past.failures:
        text = (
            f"passed only when it was tried again in {past.retried} of {past.runs} runs, last {day}"
        )
    elif past.is_flaky:
        again = f", passed when tried again in {past.retried}" if past.retried else ""
        text = f"passes and fails by turns: failed {in_runs}{again}, last {day}"
    elif past.failures > 1:
        text = f"failed {in_runs if past.runs > past.failures else f'{past.failures} times'}, last {day}"
    else:
        text = f"failed on {day}"
    if not past.kind or not any(one.kind == past.kind for one in past.tries if one.run):
        return text  # that run is not known any more: nothing would prove it
    times = past.kinds.get(past.kind, 0)
    alone = times >= past.failures + past.retried
    return f"{text}, with `{past.kind}`" if alone else f"{text}, {times} times with `{past.kind}`"


class Marked(NamedTuple):
    """One test with a mark that says it is not to be trusted."""

    name: str
    source: str


def marked(view: View) -> Iterator[Finding]:
    """The feature's tests that are skipped, expected to fail, or flaky; those of one mark and reason together."""
    groups: dict[tuple[str, str], list[Marked]] = defaultdict(list)
    for file, case in _tests_of(view):
        marks = [
            mark
            for mark in case.marks
            if MARK.search(QUOTED.sub("", mark)) and not ROWS.match(mark)
        ]
        word = MARK.search(QUOTED.sub("", marks[0])) if marks else None
        if word is None:
            continue
        where = _condition(file, case, marks[0])
        if where:
            said = f" where {phrases.quote_line(file, where, 80)}"
            groups[word[0].lower(), said].append(Marked(case.name, file.cite(case.start, where)))
            continue
        first = max(1, case.start - 8)
        lines = file.lines[first - 1 : case.end]
        at = next((first + i for i, line in enumerate(lines) if word[0] in line), case.start)
        source = file.cite(min(at, case.start), max(min(at, case.start), case.start))
        reason = _reason(marks[0], case.name)
        groups[word[0].lower(), reason and f": {reason}"].append(Marked(case.name, source))
    for (word_, said), tests in groups.items():
        shown = phrases.names([test.name for test in tests[:4]], 4)
        more = f" and {len(tests) - 4} more" if len(tests) > 4 else ""
        verb = "is" if len(tests) == 1 else "are"
        yield Finding(
            rule="marked",
            kind="marked",
            text=f"{shown}{more} {verb} marked {word_}{said}",
            sources=tuple(test.source for test in tests[:4]),
            reason="a mark on the feature's tests",
            score=0.7,
        )


def _condition(file: FileView, case: TestCase, mark: str) -> int:
    """The line of the condition in a test's body under which alone it is skipped; 0 where there is none."""
    called = mark.partition("(")[0]
    body = range(case.start + 1, case.end + 1)
    at = next((n for n in body if called in file.lines[n - 1]), 0) if "(" in mark else 0
    inside = file.lines[at - 1] if at else ""
    for number in range(at - 1, case.start, -1):
        line = file.lines[number - 1]
        if CONDITION.match(line) and (
            line.lstrip().startswith("#") or phrases.indent(line) < phrases.indent(inside)
        ):
            return number
        if line.strip() and phrases.indent(line) < phrases.indent(inside):
            inside = line
    return 0


def _tests_of(view: View) -> list[tuple[FileView, TestCase]]:
    """The feature's tests; of a whole project not only the sample that shows how tests are written."""
    if view.whole_project:
        return [(file, case) for file in view.tests for case in file.outline.tests]
    return [(hot.file, hot.case) for hot in view.cases]


def _reason(mark: str, name: str) -> str:
    """The reason that a mark gives, as prose."""
    found = re.search(r"reason\s*=\s*f?[\"'](.+?)[\"']|[\"']([^\"']{12,})[\"']", mark)
    said = next((group for group in (found.groups() if found else ()) if group), "")
    return phrases.plain(phrases.clip(said, 110)) if said != name else ""
