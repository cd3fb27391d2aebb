"""Which tests the request is about: by their names, by what stands in them and what they call, some of each file."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from preread.evidence.pieces import FileView, HotCase
from preread.index import words
from preread.syntax import TestCase

if TYPE_CHECKING:
    from preread.evidence.view import View

MOST = 60  # tests in all
OF_FIRST, OF_EACH, OF_ALL = (
    32,
    16,
    6,
)  # of the first file, before any has more; of the next; of a whole project's each
SPELLED = re.compile(r"[A-Za-z_][\w-]+")  # names of code, and options as they are typed
LEAST = (
    0.4  # of the best score, for a test of another file than the first to come before one of that
)
HELPER = 40  # lines of what tests call, at most
BESIDE = 4  # sources, among whose lines there may be tests
TWINS, TWIN_SCORE = (
    2,
    0.75,
)  # sources whose test file is looked at whatever its name; the least score of such a file
MODULES = frozenset({"tests", "test"})  # what tests among the lines of a source stand in
OF_FOLDER = frozenset(
    "index __init__ mod lib main".split()
)  # names of files that are called as their folder is
TOGETHER, MOSTLY = (
    4,
    0.75,
)  # chosen tests of a class, and their share of it, for the others to be the feature's, too


def chosen(view: "View") -> list[HotCase]:
    """The tests of the top test files, and of the top sources with tests among their lines, best first."""
    found = sorted(_scored(view), key=lambda hot: (-hot.score, hot.file.path, hot.case.start))
    if view.whole_project:  # a few of each file, so that no file speaks for all
        return _some(found, lambda _: OF_ALL)
    best = found[0].score if found else 1.0
    floor = max(0.25 * best, min(0.5, best))
    first = found[0].file if found else None
    found = _completed(
        [hot for hot in found if hot.score >= floor and (hot.file is first or view.tests_it(hot))]
    )
    near = [hot for hot in found if hot.file in view.tests[:1] or hot.score >= LEAST * best]
    some = _some(
        near, lambda file: OF_FIRST if file in view.tests[:1] else round(OF_EACH * file.score)
    )
    early = {id(hot) for hot in sorted(some, key=lambda hot: -hot.file.score)[:MOST]}
    rest = [hot for hot in found if id(hot) not in early]
    kept = early.union(map(id, rest[: MOST - len(early)]))
    return [hot for hot in found if id(hot) in kept]


def counted(total: int) -> str:
    """How the tests that a finding counts among are called: of more than are looked at, the nearest."""
    return f"{total} tests" if total < MOST else f"the {total} nearest tests"


def _some(found: Iterable[HotCase], most: Callable[[FileView], int]) -> list[HotCase]:
    """Of each file no more than so many."""
    counts: Counter[str] = Counter()
    some = []
    for hot in found:
        counts[hot.file.path] += 1
        if counts[hot.file.path] <= most(hot.file):
            some.append(hot)
    return some


def holds(view: "View", file: FileView) -> bool:
    """Whether a file of tests has all words of the feature or one of its definitions; others are of something else."""
    return view.uses.search(file.text) is not None or any(
        view.relevance(one) >= 1 for one in (file.path, file.text)
    )


def _completed(found: list[HotCase]) -> list[HotCase]:
    """With what is left of classes and blocks of which most tests are chosen, each scored as the last of its class."""
    grouped: dict[tuple[str, str], list[HotCase]] = {}
    for hot in found:
        grouped.setdefault((hot.file.path, hot.case.group), []).append(hot)
    added = []
    for (_, group), some in grouped.items():
        every = [case for case in some[0].file.outline.tests if case.group == group]
        if group not in {"", *MODULES} and len(some) >= max(TOGETHER, MOSTLY * len(every)):
            taken = {hot.case.start for hot in some}
            added += [
                HotCase(some[0].file, case, some[-1].score)
                for case in every
                if case.start not in taken
            ]
    return (
        sorted([*found, *added], key=lambda hot: (-hot.score, hot.file.path, hot.case.start))
        if added
        else found
    )


def _scored(view: "View") -> Iterator[HotCase]:
    files = [file for file in (*view.tests, *view.sources[:BESIDE]) if file.outline.tests]
    for file in [file for file in files if holds(view, file)] or files:
        at_home = max(view.relevance(file.path), twin(view, file))
        through = helpers(view, file)
        for case in _run_alone(file):
            body = "\n".join(file.lines[case.start - 1 : case.end])
            said = min(1.0, view.relevance(body))
            score = (
                view.relevance(case.name, case.group)
                + (0.5 * said if said >= 0.5 else 0.0)
                + at_home
            )
            score += 0.5 if view.uses.search(body) or through.search(body) else 0.0
            if score >= 0.3:
                yield HotCase(file, case, round(math.sqrt(file.score) * score, 3))


def _run_alone(file: FileView) -> Iterator[TestCase]:
    """The tests of a file but for those that others of it call: these are their helpers, whatever they are called."""
    for case in file.outline.tests:
        calls = file.text.count(f"{case.name}(") > 1 and re.compile(
            rf"(?<![\w.]){re.escape(case.name)}\("
        )
        others = (
            other for other in file.outline.tests if not other.start <= case.start <= other.end
        )
        if not calls or not any(
            calls.search("\n".join(file.lines[o.start - 1 : o.end])) for o in others
        ):
            yield case


def tests_it(view: "View", hot: HotCase) -> bool:
    """Whether a test has to do with the feature beyond its name, which may be of another thing."""
    body = "\n".join(hot.file.lines[hot.case.start - 1 : hot.case.end]).replace(hot.case.name, "")
    if (view.joined and view.joined in body.lower()) or view.uses.search(body):
        return True
    if any(view.relevance(one) >= 1 for one in {hot.file.path, *SPELLED.findall(body)}):
        return True
    return helpers(view, hot.file).search(body) is not None or twin(view, hot.file) > 0


def helpers(view: "View", file: FileView) -> re.Pattern[str]:
    """The calls of a test file's own functions that use the feature's definitions for the tests."""
    known: dict[str, re.Pattern[str]] = view.memo.setdefault("cases.helpers", {})
    if file.path not in known:
        tests = {case.start for case in file.outline.tests}
        names = [
            symbol.name
            for symbol in file.outline.symbols
            if symbol.kind in {"function", "method"}
            and symbol.start not in tests
            and len(symbol.name) > 3
            if (file.role == "test" or symbol.container in MODULES)
            and symbol.end - symbol.start <= HELPER
            if view.uses.search("\n".join(file.lines[symbol.start : symbol.end]))
        ]
        known[file.path] = re.compile(
            rf"\b(?:{'|'.join(map(re.escape, names))})\(" if names else r"(?!)"
        )
    return known[file.path]


def twin(view: "View", test: FileView) -> float:
    """How much a test file is the feature's by being called like one of the first sources: more by a word of it."""
    known: dict[str, float] = view.memo.setdefault("cases.twins", {})
    if test.path not in known:
        known[test.path] = _twin(view, test)
    return known[test.path]


def _twin(view: "View", test: FileView) -> float:
    folder, _, name = test.path.rpartition("/")
    name = re.sub(r"^test_|_test$|[._-](?:test|spec)$", "", name.rpartition(".")[0])
    like = [
        file.path
        for file in view.sources[:4]
        if file.path.rpartition("/")[2].partition(".")[0] == name
    ]
    if test.role == "source" or not like or name in OF_FOLDER:
        return 0.0
    if not view.wanted.isdisjoint(words.stems(name)):
        return 0.8
    homes = {
        path.rpartition("/")[0]
        for path in like
        if path in {file.path for file in view.sources[:TWINS]}
    }
    others = {file.path.rpartition("/")[0] for file in view.tests}
    near = test.score >= TWIN_SCORE and homes and (folder in homes or homes.isdisjoint(others))
    return (
        0.6 if near and not any(_is_own(view, test, case) for case in test.outline.tests) else 0.0
    )


def _is_own(view: "View", file: FileView, case: TestCase) -> bool:
    """Whether a test names the feature or calls its definitions: of a file that has such tests they alone are meant."""
    body = "\n".join(file.lines[case.start - 1 : case.end])
    named = view.relevance(case.name, case.group) >= 0.5
    return named or bool(view.uses.search(body) or helpers(view, file).search(body))
