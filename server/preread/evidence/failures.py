"""What goes wrong: failing tests in reports, tests that are not trusted."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from preread import inputs
from preread.evidence import phrases
from preread.evidence.view import FileView, View
from preread.models import Finding
from preread.sources import Ref
from preread.syntax import TestCase

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # loaded where there are reports

MARK = re.compile(r"(?i)skip(if|unless)?|xfail|fixme|flaky|todo|ignore|disabled|quarantine|retr(y|ies)|slow\b")
SAYS = re.compile(r"(?i)\b\w*(error|exception|timeout)\b.*[:\w]|\bexpected\b|\bassert")


class Failure(NamedTuple):
    """One failing test of a report: what it is called, what it said, and on which line of the report."""

    path: str
    line: int
    name: str
    group: str
    message: str


def reported(view: View) -> Iterator[Finding]:
    """Failing tests of the JUnit reports that belong to the feature."""
    own = {hot.case.name for hot in view.cases} | {hot.file.path for hot in view.cases}
    n = 0
    for path in inputs.report_paths(view.services.tree, view.services.settings):
        for failure in _failures(view, path):
            mine = (
                failure.name in own
                or any(f in failure.group for f in own)
                or view.relevance(failure.name, failure.group) >= 1
            )
            if not mine or n >= 6:
                continue
            n += 1
            view.reported.append(failure.name)
            said = f": {phrases.plain(phrases.clip(failure.message, 130))}" if failure.message else ""
            yield Finding(
                rule="reported",
                kind="reported",
                text=f"{phrases.quote(failure.name, 90)} failed{said}",
                sources=(str(Ref("lines", path, failure.line, failure.line)),),
                reason="the latest report has it as failed",
                score=0.9,
            )


def _failures(view: View, path: str) -> Iterator[Failure]:
    """The failures and errors of one JUnit XML file; a broken file is noted, not raised."""
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    data = view.services.tree.data(path)
    if data is None:
        return
    try:
        root = fromstring(data)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        view.notes.append(f"{path} is not a report that can be read: {error}")
        return
    lines = view.services.tree.lines(path) or []
    for case in root.iter("testcase"):
        bad = next((child for child in case if child.tag in {"failure", "error"}), None)
        if bad is None:
            continue
        name, group = case.get("name", ""), f"{case.get('classname', '')} {case.get('file', '')}"
        message = _message(bad, name)
        line = next((n for n, text in enumerate(lines, 1) if "<testcase" in text and _escaped(name) in text), 0)
        if line:
            yield Failure(path, line, name, group, message)


def _message(bad: "Element", name: str) -> str:
    """What a failing test said: its message, unless that only names the test again (Playwright)."""
    message = (bad.get("message") or "").strip()
    if message and name.rpartition("› ")[2] not in message:
        return message
    lines = [line.strip() for line in (bad.text or "").split("\n") if line.strip()]
    return next((line for line in lines if SAYS.search(line)), message or (lines[0] if lines else ""))


def _escaped(name: str) -> str:
    from xml.sax.saxutils import escape

    return escape(name, {'"': "&quot;"})


class Marked(NamedTuple):
    """One test with a mark that says it is not to be trusted."""

    name: str
    source: str


def marked(view: View) -> Iterator[Finding]:
    """The feature's tests that are skipped, expected to fail, or flaky; those of one mark and reason together."""
    groups: dict[tuple[str, str], list[Marked]] = defaultdict(list)
    for file, case in _tests_of(view):
        marks = [mark for mark in case.marks if MARK.search(mark)]
        word = MARK.search(marks[0]) if marks else None
        if word is None:
            continue
        first = max(1, case.start - 8)
        lines = file.lines[first - 1 : case.end]
        at = next((first + i for i, line in enumerate(lines) if word[0] in line), case.start)
        source = file.cite(min(at, case.start), max(min(at, case.start), case.start))
        groups[word[0].lower(), _reason(marks[0], case.name)].append(Marked(case.name, source))
    for (word_, said), tests in groups.items():
        shown = phrases.names([test.name for test in tests[:4]], 4)
        more = f" and {len(tests) - 4} more" if len(tests) > 4 else ""
        verb = "is" if len(tests) == 1 else "are"
        yield Finding(
            rule="marked",
            kind="marked",
            text=f"{shown}{more} {verb} marked {word_}" + (f": {said}" if said else ""),
            sources=tuple(test.source for test in tests[:4]),
            reason="a mark on the feature's tests",
            score=0.7,
        )


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
