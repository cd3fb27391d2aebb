"""Tests of the feature that are skipped, expected to fail or not trusted, by their markers."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from preread.evidence import quoting
from preread.evidence.files import Test
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View

MAX_FACTS, MAX_NAMES = 8, 6
OWN = 0.2  # of the best test's score: tests below only share the file
ABOVE = 12  # lines before a test in which its decorators are looked for
# What test frameworks call such a mark: its name begins with one of these words.
MARK = re.compile(
    r"(?i)^(skip|xfail|expect(ed)?_?failure|fail(s|ing)$|todo|fixme|ignored?$|disabled|flaky|pending)"
)


class _Marked(NamedTuple):
    """A test with the mark that it has, as the file has it."""

    test: Test
    mark: str  # quoted
    start: int  # the lines in which the mark is
    end: int


def find(view: View) -> Iterator[Found]:
    """The markers in the order of their best test, each with the tests that have it."""
    best = view.best_case_score
    groups: dict[tuple[str, str], list[_Marked]] = {}
    for test in view.cases:
        is_own = test.score >= OWN * best and quoting.can_be_anchored(test.case.name)
        if is_own and (marked := _marked(test)) is not None:
            groups.setdefault((test.file.path, marked.mark), []).append(marked)
    for (path, mark), group in list(groups.items())[:MAX_FACTS]:
        group.sort(key=lambda one: one.test.case.start)
        named = [(one.test.case.name, one.test.case.start) for one in group]
        names = quoting.in_file(path, named, MAX_NAMES)
        under = _condition(group[0])
        score = max(one.test.score for one in group) / best
        source = group[0].test.file.cite(group[0].start, group[0].end)
        yield Found(f"{mark}{under} on {names}", (source,), min(1.0, score))


def _marked(test: Test) -> _Marked | None:
    """The first mark of a test that says it is not run or not trusted."""
    for mark in test.case.markers:
        name = mark.partition("(")[0].rstrip("]!")
        if name == "#[cfg_attr":  # Rust's, with the mark behind its condition
            name = re.sub(r'"[^"]*"', "", mark)
        if any(map(MARK.match, re.split(r"[^A-Za-z_]+", name))):
            return _placed(test, mark)
    return None


def _placed(test: Test, mark: str) -> _Marked | None:
    """The position of a mark; one too long to quote is cited by name."""
    start = test.case.start
    name = mark.partition("(")[0]
    around = (*range(start, max(0, start - ABOVE), -1), *range(start + 1, test.case.end + 1))
    at = next((n for n in around if name.lstrip(".") in test.file.line(n)), 0)
    if not at or not quoting.whole(name):
        return None
    end = max(start, at)
    whole = " ".join(test.file.span_text(at, end).split())
    shown = quoting.mark(mark) if mark in whole else quoting.whole(name)
    return _Marked(test, shown, at, end)


def _condition(marked: _Marked) -> str:
    """The condition under which a test skips itself: the line that the call is nested in."""
    file, test = marked.test.file, marked.test.case
    if marked.start <= test.start:
        return ""
    depth = _indent(file.line(marked.start))
    above = range(marked.start - 1, test.start, -1)
    number = next((n for n in above if file.line(n).strip() and _indent(file.line(n)) < depth), 0)
    text = re.sub(r"\s*[{;,]$", "", file.line(number).strip())
    fits = quoting.is_provable(text) and len(text) <= quoting.MAX_LINE
    return f" under {quoting.anchored(text, number, file.path)}" if fits else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


RULE = Rule(
    name="skipped",
    file="existing-tests.md",
    heading="Skipped or expected to fail",
    weight=0.06,
    find=find,
    example='`@pytest.mark.skipif(WIN, reason="No pipes.")` on `test_pager` tests/test_pager.py:12',
)
