"""How the feature's tests call it: the calls into the project that most of them share."""

import re
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from preread.dossier.fact_text import code
from preread.evidence import callees, quoting
from preread.evidence.files import FileView, Test
from preread.evidence.rule import Found, Rule
from preread.evidence.symbols import FUNCTIONS
from preread.evidence.view import View
from preread.evidence.whole_tests import main_tests
from preread.syntax import Call

MAX_SHOWN = 4
MIN_TESTS, SHARED = 2, 0.1  # tests with a call; their least share of all tests
SEGMENT = re.compile(r"[^\W\d]\w*[?!]?")


class _Use(NamedTuple):
    """A call in one of the tests."""

    test: int
    file: FileView
    call: Call


def find(view: View) -> Iterator[Found]:
    """The calls that most tests share, each with a short line that shows it."""
    uses = _uses(view)
    counts = {name: len({use.test for use in uses[name]}) for name in uses}
    total = len(view.once(main_tests))
    least = min(max(MIN_TESTS, SHARED * total), total)
    often = [name for name in counts if counts[name] >= least]
    often.sort(key=lambda name: -counts[name] * (1 + 2 * view.relevance.of(name)))
    shown: dict[str, list[str]] = defaultdict(list)  # by line: the calls that it shows
    for name in often[:MAX_SHOWN]:
        if line := _shortest(uses[name]):
            shown[line].append(name)
    for line, together in shown.items():
        counted = ", ".join(f"{code(name)} in {counts[name]}" for name in together)
        score = 0.3 + 0.7 * counts[together[0]] / total
        about = ", ".join(together)
        yield Found(f"{counted} of {total} tests: {line}", (), score, about=about)


def _uses(view: View) -> dict[str, list[_Use]]:
    """The tests' calls into the project, by name."""
    free = _functions(view)
    every = free | {one.symbol.name for one in view.definitions}
    uses: dict[str, list[_Use]] = defaultdict(list)
    for number, test in enumerate(view.once(main_tests)):
        for call in test.calls:
            name = _name(call)
            if not _is_of_project(name, free, every) or _is_parameter(test, name):
                continue
            if not callees.is_foreign(view, test.file, call.callee):
                uses[name].append(_Use(number, test.file, call))
    return uses


def _functions(view: View) -> set[str]:
    """What tests may call without an object: functions, classes, the tests' own helpers."""
    helpers = (
        one.name
        for file in view.tests
        for one in file.outline.symbols
        if one.kind in FUNCTIONS and not one.container
    )
    return {one.symbol.name for one in view.definitions if one.symbol.kind != "method"} | set(
        helpers
    )


def _name(call: Call) -> str:
    """A callee as written; empty for a method of what another call returns."""
    return "" if "…" in call.callee else call.callee.removeprefix("new ").strip("().[]!? \"'")


def _is_of_project(name: str, free: Container[str], every: Container[str]) -> bool:
    """Whether a called name is one of these; a class before a dot decides."""
    segments = SEGMENT.findall(name)
    if len(segments) == 1 or (segments and segments[0][0].isupper()):
        return segments[0] in free
    classes = [one for one in segments if one[0].isupper()]
    return any(one in every for one in classes or segments[-1:])


def _is_parameter(test: Test, name: str) -> bool:
    """Whether it is a parameter of the test, or of one inside: `done` in Mocha, `t.Run` in Go."""
    starts = (one.start for one in test.file.outline.tests)
    inside = (start for start in starts if test.case.start <= start <= test.case.end)
    openings = "\n".join(map(test.file.line, inside))
    if f"({name.partition('.')[0]} *testing." in openings:
        return True
    return name.isidentifier() and re.search(rf"[(,]\s*{name}\s*[,)]", openings) is not None


def _shortest(uses: Sequence[_Use]) -> str:
    """The shortest line that is a statement with one of the calls, with its place."""
    found = []
    for use in uses:
        line = use.file.line(use.call.line).strip()
        fits = use.call.line == use.call.end and len(line) <= quoting.MAX_LINE
        whole = line.count("(") == line.count(")") and not line.endswith((",", "{", "["))
        if fits and whole and _name(use.call) in line and "``" not in line:
            found.append(quoting.anchored(line, use.call.line, use.file.path))
    return min(found, key=len, default="")


RULE = Rule(
    name="calls",
    file="patterns.md",
    heading="How the tests call it",
    weight=0.06,
    find=find,
    for_thin=True,
    example='`runner.invoke` in 18 of 24 tests: `runner.invoke(cli, ["--help"])` tests/a.py:12',
)
