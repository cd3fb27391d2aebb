"""What went wrong before: failing tests in reports, errors fixed more than once, tests that are not trusted."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from preread import inputs
from preread.evidence import phrases, words
from preread.evidence.history import FIX, Commit
from preread.evidence.view import FileView, View
from preread.models import Finding
from preread.sources import Ref
from preread.syntax import TestCase

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # loaded where there are reports

MARK = re.compile(r"(?i)skip(if|unless)?|xfail|fixme|flaky|todo|ignore|disabled|quarantine|retr(y|ies)|slow\b")
SAYS = re.compile(r"(?i)\b\w*(error|exception|timeout)\b.*[:\w]|\bexpected\b|\bassert")
CHANGELOG = re.compile(r"(?i)^(docs?/)?(changelog|changes|history|news)(\.\w+)?$")
BULLET = re.compile(r"\s*[-*+]\s+\S")
MOST_FIXES = 5


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


def repeated_fixes(view: View) -> Iterator[Finding]:
    """What was fixed more than once: fixes whose subjects are about the same thing, or name the same issue."""
    left = [c for c in view.commits if c.is_fix and (view.relevance(c.subject) > 0 or _small_at_home(view, c))][:80]
    n = 0
    while left and n < 4:
        latest = left.pop(0)
        same = [latest, *(c for c in left if _same_thing(latest, c, view.wanted))]
        if len(same) < 2:
            continue
        left = [c for c in left if c not in same]
        n += 1
        yield Finding(
            rule="repeated_fixes",
            kind="again",
            text=f"fixed {len(same)} times, last {latest.date}: {phrases.quote(phrases.subject(latest.subject), 100)}",
            sources=tuple(f"commit:{c.sha[:9]}" for c in same[:4]),
            reason="fixes whose subjects are about the same thing",
            score=0.8 + 0.1 * min(1.0, view.relevance(latest.subject)),
        )


def _same_thing(one: Commit, other: Commit, feature: frozenset[str]) -> bool:
    """Two fixes of one thing: most words of the shorter subject beside the feature's, or an issue that both name."""
    a, b = _topic(one.subject) - feature, _topic(other.subject) - feature
    shared = a & b
    by_words = len(shared) >= 2 and len(shared) >= 0.6 * min(len(a), len(b))
    return by_words or (bool(set(one.issues) & set(other.issues)) and bool(shared))


def _topic(subject: str) -> set[str]:
    return {words.stem(w) for w in words.of_sentence(subject) if len(w) > 3} - {
        "fixed",
        "correct",
        "again",
        "error",
        "bug",
        "regression",
        "issu",
        "crash",
        "prevent",
        "handl",
    }


def _small_at_home(view: View, commit: Commit) -> bool:
    """Whether a commit changed little else than the feature's own files."""
    home = sum(view.relevance(path) >= 1 for path in commit.files)
    return len(commit.files) <= 4 and 2 * home >= len(commit.files) > 0


def fixes(view: View) -> Iterator[Finding]:
    """The latest fixes of the feature, with what their authors wrote of the cause."""
    n = 0
    told = {source for finding in repeated_fixes(view) for source in finding.sources[:1]}
    for commit in view.commits:
        about = view.relevance(commit.subject)
        if (
            not commit.is_fix
            or f"commit:{commit.sha[:9]}" in told
            or (about < 0.5 and not _small_at_home(view, commit))
        ):
            continue
        n += 1
        why = phrases.plain(phrases.sentence(commit.body, 130)) if _is_prose(commit.body) else ""
        yield Finding(
            rule="fixes",
            kind="fix",
            text=phrases.quote(phrases.subject(commit.subject), 100) + (f": {why}" if why else ""),
            sources=(f"commit:{commit.sha[:9]}",),
            reason="a fix that touched the feature's files",
            score=0.4 + 0.25 * min(1.0, about) + (0.1 if why else 0.0),
        )
        if n >= MOST_FIXES:
            return


def _is_prose(body: str) -> bool:
    first = body.strip().split("\n", 1)[0]
    return len(first) > 25 and not re.match(
        r"(?i)[*#<-]|co-authored|signed-off|https?:|closes|fixes|resolves|refs?\b|bumps|\(cherry|this reverts",
        first,
    )


def changelog(view: View) -> Iterator[Finding]:
    """Fixes that the changelog tells of the feature, newest first."""
    n = 0
    for path in sorted(p for p in view.services.tree.files if CHANGELOG.search(p))[:3]:
        lines = view.services.tree.lines(path) or []
        for number, line in enumerate(lines, 1):
            if n >= 4:
                return
            if not BULLET.match(line):
                continue
            said, end = phrases.paragraph(lines, number)
            if view.relevance(said) < 1 or not FIX.search(said) or not phrases.provable(said):
                continue
            n += 1
            yield Finding(
                rule="changelog",
                kind="fix",
                text=phrases.quote(re.sub(r"^[-*+]\s+", "", said), 150),
                sources=(str(Ref("lines", path, number, end)),),
                reason="the changelog tells of a fix",
                score=0.55 - 0.02 * n,
            )


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
