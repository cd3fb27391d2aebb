"""One short test of the feature, whole: how its tests are written."""

from collections import Counter
from collections.abc import Iterator

from preread.dossier.fact_text import code
from preread.evidence import quoting
from preread.evidence.files import Test
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.evidence.whole_tests import main_tests

FIRST_FILES = 3  # of the feature's test files
MIN_LINES, MAX_LINES = 4, 12
MAX_LINE = 110  # characters
SHARED = 0.3  # of the tests make a call: it is how they are written
LEFT_OUT = ("skip", "xfail", "todo", "ignore", "disable", "pending")  # markers of all runners


def find(view: View) -> Iterator[Found]:
    """Of the short tests that run, the one that is most relevant and most like the others."""
    first = view.test_files[:FIRST_FILES]
    tests = [one for one in view.once(main_tests) if one.file in first]
    counts = Counter(name for one in tests for name in _called(one))
    shared = {name for name, n in counts.items() if n >= SHARED * len(tests)}
    best = max((one.score for one in tests), default=0.0) or 1.0

    def quality(one: Test) -> float:
        return one.score / best + len(shared & _called(one)) / (len(shared) or 1)

    chosen = max(filter(_start, tests), key=quality, default=None)
    if chosen is not None:
        start, end = _start(chosen), chosen.case.end
        lines = tuple(chosen.file.lines[start - 1 : end])
        yield Found(code(chosen.case.name), (chosen.file.cite(start, end),), 0.7, fence=lines)


def _called(one: Test) -> frozenset[str]:
    return frozenset(call.callee for call in one.calls)


def _start(one: Test) -> int:
    """The first line of a test with its decorators; 0 if it makes a poor example."""
    start, lines = one.case.start, one.file.lines
    if quoting.is_variable(one.file, one.case.name, start):
        return 0  # what a loop over a table runs
    while start > 1 and lines[start - 2].lstrip().startswith(("@", "#[")):
        start -= 1
    above = lines[start - 2].strip() if start > 1 else ""
    own = lines[start - 1 : one.case.end]
    markers = " ".join((*one.case.markers, *lines[start - 1 : one.case.start])).lower()
    fits = MIN_LINES <= len(own) <= MAX_LINES and max(map(len, own)) <= MAX_LINE
    cut = above.startswith((")", "]"))  # the end of a decorator of several lines
    return start if fits and not cut and not any(word in markers for word in LEFT_OUT) else 0


RULE = Rule(
    name="example",
    file="patterns.md",
    heading="Example test",
    weight=0.06,
    find=find,
    for_thin=True,
    example="a whole test, with its lines as source",
)
