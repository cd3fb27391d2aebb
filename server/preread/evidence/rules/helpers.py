"""The fixtures and helper functions that the feature's tests share, and where they are defined."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from preread.evidence import quoting
from preread.evidence.absence import is_for_tests
from preread.evidence.files import FileView, Test
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.evidence.whole_tests import main_tests
from preread.syntax import Symbol

MAX_NAMES, MAX_SHOWN = 60, 12  # names looked up; helpers shown
MIN_TESTS, SHARED = 2, 0.05  # tests that use it; their least share of all tests
MAX_LINE = 80  # characters of a definition's line
KINDS = frozenset({"function", "method", "class", "component"})
SEGMENT = re.compile(r"\w+")
# A bare name, one of `self`, or the first of a chain that begins with a capital: a class.
CALLED = re.compile(r"(?:new |self\.|this\.)?([^\W\d]\w*[?!]?)$|(?:new )?([A-Z]\w*)(?:\.|::)")


class _Name(NamedTuple):
    text: str
    is_fixture: bool


class _Helper(NamedTuple):
    file: FileView
    symbol: Symbol
    tests: int


def find(view: View) -> Iterator[Found]:
    """The helpers by the file that defines them, the most used first."""
    users = _users(view)
    total = len(view.once(main_tests))
    least = min(max(MIN_TESTS, SHARED * total), total)
    by_file: dict[str, list[_Helper]] = defaultdict(list)
    for name in sorted(users, key=lambda name: -len(users[name]))[:MAX_NAMES]:
        made = _definition(view, name, users[name][0]) if len(users[name]) >= least else None
        if made is not None and sum(map(len, by_file.values())) < MAX_SHOWN:
            by_file[made[0].path].append(_Helper(*made, len(users[name])))
    for helpers in by_file.values():
        yield Found(_listed(helpers, total), (), 0.3 + 0.7 * helpers[0].tests / total)


def _users(view: View) -> dict[_Name, list[Test]]:
    """The names that tests call or request as fixtures, each with those tests."""
    found: dict[_Name, list[Test]] = defaultdict(list)
    for test in view.once(main_tests):
        names = {_Name(name, is_fixture=True) for name in _fixtures_of(test)}
        for call in test.calls:
            if match := CALLED.match(call.callee):
                names.add(_Name(match[1] or match[2], is_fixture=False))
        names |= {_Name(name, is_fixture=False) for name in _bases_of(test)}
        for name in sorted(names):
            found[name].append(test)
    return found


def _bases_of(test: Test) -> Iterator[str]:
    """The words of what the classes around a test inherit from."""
    for one in test.file.outline.symbols:
        if one.kind == "class" and one.start <= test.case.start <= one.end:
            yield from SEGMENT.findall(one.signature.partition(one.name)[2])


def _fixtures_of(test: Test) -> Iterator[str]:
    """The fixtures that a test requests, by its parameters or by `usefixtures`."""
    yield from test.case.params
    for marker in test.case.markers:
        if "fixture" in marker:
            yield from re.findall(r"[\"'](\w+)", marker)


def _definition(view: View, name: _Name, test: Test) -> tuple[FileView, Symbol] | None:
    """Where a test's helper is defined: in its own file, or in one from which that imports it."""
    paths = dict.fromkeys((test.file.path, *_other_files(view, name, test)))
    for file in map(view.any_file, paths):
        named = (symbol for symbol in file.outline.symbols if symbol.name == name.text)
        for symbol in named:
            is_helper = _is_helper(file, symbol, name.is_fixture)
            if is_helper and (name.is_fixture or _is_in_reach(test, file, symbol)):
                return file, symbol
    return None


def _other_files(view: View, name: _Name, test: Test) -> list[str]:
    """Other files that may define a test's helper."""
    if name.is_fixture:  # searched from the test's folder upwards
        found = view.defining(name.text, ("support", "test"))
        above = [path for path in found if test.file.path.startswith(path.rpartition("/")[0])]
        # A conftest's reach no other folder; those of another file may be imported by one.
        shared = [path for path in found if not path.endswith("conftest.py")]
        return sorted(above, key=lambda path: -path.count("/")) or shared[: len(found) == 1]
    if not all(map(is_for_tests, view.defining(name.text))):
        return []
    found = view.defining(name.text, ("support", "test", "source"))
    return found if len(found) == 1 else []


def _is_helper(file: FileView, symbol: Symbol, is_fixture: bool) -> bool:
    """Whether a definition is no test, not inside a test, and not what the tests test."""
    starts = {test.start for test in file.outline.tests}
    inside = symbol.container.rpartition(".")[2] in {test.name for test in file.outline.tests}
    product = file.role == "source" and symbol.start < min(starts, default=0)
    decorated = any("fixture" in decorator for decorator in symbol.decorators)
    is_one = symbol.kind in KINDS and symbol.start not in starts and decorated == is_fixture
    return is_one and not inside and not product


def _is_in_reach(test: Test, file: FileView, symbol: Symbol) -> bool:
    """Whether a bare name in the test refers to this definition."""
    owner = symbol.container.rpartition(".")[2]
    if file is test.file:
        return not owner or owner in test.case.group
    if owner:
        return owner in _bases_of(test)
    parts = set(SEGMENT.findall(file.path.lower()))
    modules = [one.module for one in test.file.outline.imports if symbol.name in one.names]
    near = (not parts.isdisjoint(SEGMENT.findall(module.lower())[-2:]) for module in modules)
    return not modules or any(near)  # it may be imported from a library


def _listed(helpers: list[_Helper], total: int) -> str:
    path = helpers[0].file.path
    parts: list[str] = []
    for one in helpers:
        counted = f"in {one.tests}" if parts else f"in {one.tests} of {total} tests"
        parts.append(f"{quoting.anchored(_shown(one), one.symbol.start, path)}, {counted}")
        path = ""
    return "; ".join(parts)


def _shown(helper: _Helper) -> str:
    """A helper with its parameters, if they are all on its line."""
    line = helper.file.line(helper.symbol.start)
    text = line[max(0, line.find(helper.symbol.name)) :]
    depth = 0
    for match in re.finditer(r"[()]", text[:MAX_LINE]):
        depth += 1 if match[0] == "(" else -1
        if depth == 0 and "``" not in text:
            return text[: match.end()]
    return helper.symbol.name


RULE = Rule(
    name="helpers",
    file="existing-tests.md",
    heading="Fixtures and helpers",
    weight=0.07,
    find=find,
    for_thin=True,
    example="`runner` tests/conftest.py:7, in 12 of 20 tests",
)
