"""How the feature's tests are set up: what runs before them, and what they replace."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from preread.evidence import quoting
from preread.evidence.files import FileView
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.evidence.whole_tests import main_tests
from preread.syntax import Call

MAX_FILES, MAX_HOOKS, MAX_CALLS = 3, 3, 4  # files; hooks of the first one; calls of each hook
MAX_STUBS = 4
ABOVE = 40  # lines from a hook's name to the first call inside
MIN_TESTS = 2  # that replace the same, for it to be how it is done here
NO_HOOK = re.compile(r"after|tear|fixture:", re.IGNORECASE)  # it cleans up, or must be requested
REPLACING = frozenset({"mock", "doMock", "spyOn", "stub"})

# `super().setUp()`, `parent::setUp()`: every hook of a class calls its base's.
PARENT = re.compile(r"super\b|parent::")


def find(view: View) -> Iterator[Found]:
    """For each of the first test files its hooks and autouse fixtures; then what is replaced."""
    tests = Counter(one.file for one in view.main_cases)
    files = [file for file in tests if tests[file] > 1][:MAX_FILES] or list(tests)[:1]
    reported: set[str] = set()
    for rank, file in enumerate(files):
        for text, names in _hooks(file)[: max(1, MAX_HOOKS - 2 * rank)]:
            if names not in reported:  # another file may do just the same
                reported.add(names)
                yield Found(text, (), 0.9 / (1 + 0.3 * rank))
        for outer in (file, *_configured(view, file)):
            if outer.path not in reported:
                reported.add(outer.path)
                yield from _autouse(outer, 0.8 / (1 + 0.3 * rank))
    yield from _stubs(view)


def _hooks(file: FileView) -> list[tuple[str, str]]:
    """Each hook of a file with what it calls, and the same without lines."""
    blocks: dict[tuple[str, int], list[Call]] = defaultdict(list)
    for call in file.details.calls:
        is_hook = call.hook and not NO_HOOK.match(call.hook) and call.callee != call.hook
        if is_hook and (line := _hook_line(file, call)):
            blocks[call.hook, line].append(call)
    found = []
    for (name, line), calls in blocks.items():
        if called := _called(file, calls):
            text = f"{quoting.anchored(name, line, file.path)} → {called}"
            found.append((text, re.sub(r":\d+", "", called)))
    return found


def _hook_line(file: FileView, call: Call) -> int:
    """The line of the hook's name, above the call; 0 if it is not there."""
    name = re.compile(rf"(?<!\w)(?<!\)\.)(?<!super\.)(?<!parent::){re.escape(call.hook)}(?!\w)")
    above = range(call.line, max(0, call.line - ABOVE), -1)
    return next((n for n in above if name.search(file.line(n))), 0)


def _called(file: FileView, calls: Sequence[Call]) -> str:
    """The first calls of these, each name once, as they are on their lines."""
    lines: dict[str, int] = {}
    for call in calls:
        name = call.callee.rpartition("…")[2].strip("().[] ")
        is_base = name in {"super", call.hook} or PARENT.match(call.callee) is not None
        if name and not is_base and name in file.line(call.line) and "`" not in name:
            lines.setdefault(name, call.line)
    return quoting.listed(list(lines.items())[:MAX_CALLS])


def _configured(view: View, file: FileView) -> list[FileView]:
    """The conftest.py files of a test's folder and of those above, nearest first."""
    folders = file.path.split("/")[:-1]
    paths = ["/".join([*folders[:n], "conftest.py"]) for n in range(len(folders), -1, -1)]
    return [view.any_file(path) for path in paths if path in view.services.tree.files]


def _autouse(file: FileView, score: float) -> Iterator[Found]:
    """Fixtures that run without being requested."""
    for symbol in file.outline.symbols:
        if not any("autouse" in decorator for decorator in symbol.decorators):
            continue
        calls = [one for one in file.calls_between(symbol.start, symbol.end) if one.hook]
        name = quoting.anchored(symbol.name, symbol.start, file.path)
        called = _called(file, calls)
        yield Found(f"{name}, autouse{f' → {called}' if called else ''}", (), score)


def _stubs(view: View) -> Iterator[Found]:
    """The calls by which several tests put something in place of the real one."""
    places: dict[str, tuple[FileView, Call]] = {}
    tests: dict[str, set[int]] = defaultdict(set)
    for number, test in enumerate(view.once(main_tests)):
        for call in test.calls:
            if _replaces(call) and call.text in test.file.line(call.line):
                places.setdefault(call.text, (test.file, call))
                tests[call.text].add(number)
    for text in sorted(tests, key=lambda text: -len(tests[text]))[:MAX_STUBS]:
        file, call = places[text]
        if len(tests[text]) >= MIN_TESTS and len(text) <= quoting.MAX_LINE and "``" not in text:
            shown = quoting.anchored(text, call.line, file.path)
            score = 0.3 + 0.5 * len(tests[text]) / len(view.once(main_tests))
            yield Found(f"{shown}, in {len(tests[text])} tests", (), score)


def _replaces(call: Call) -> bool:
    """Whether it names in quotes what it replaces: `monkeypatch.setattr`, `vi.mock`."""
    names = call.callee.split(".")
    by_name = len(names) > 1 and names[-1] in REPLACING
    # `client.patch` sends a request.
    patched = names[0] in {"patch", "monkeypatch"} or ("patch" in names and "mock" in call.callee)
    return bool(call.literals) and (by_name or patched)


RULE = Rule(
    name="setup",
    file="patterns.md",
    heading="Setup",
    weight=0.05,
    find=find,
    for_thin=True,
    example="`beforeEach` tests/cart.test.ts:12 → `render` :13, `API.reset` :14",
)
