"""The tests of the feature, by file and line, grouped by class or by a shared helper."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from preread.dossier import code
from preread.evidence import quoting
from preread.evidence.files import FileView
from preread.evidence.rule import Found, Rule
from preread.evidence.view import Test, View

MAX_FILES = 10
TIER = 8  # tests in one line
TIERS_OF_FILE = 10
SHARED = 3  # tests that call one helper, for it to name their group


def find(view: View) -> Iterator[Found]:
    """The tests of each ranked test file; those with the request's words come first."""
    best = max((one.score for one in view.cases), default=0.0) or 1.0
    ranked = list(dict.fromkeys((*view.tests, *(one.file for one in view.cases))))
    files = ranked[:MAX_FILES]
    for rank, file in enumerate(files):
        own = [one for one in view.cases if one.file is file and _is_quotable(one)]
        if view.thin:
            own = own[:2]
        for number in range(0, len(own), TIER):
            tier = own[number : number + TIER]
            if number // TIER == TIERS_OF_FILE:
                break
            score = 0.65 * tier[0].score / best
            score += 0.35 / (1 + 0.25 * rank) / (1 + 0.5 * number / TIER)
            yield Found(_listed(file, tier), (), score, file.path)
    further = [file.path for file in view.tests if file not in files]
    if further and not view.thin:
        yield Found("further tests with these words", tuple(map(quoting.file_source, further)), 0.5)


def _is_quotable(one: Test) -> bool:
    """Whether a title reads as a name with its line: else its whole line would not check out."""
    return quoting.can_be_anchored(one.case.name)


def _listed(file: FileView, tier: Sequence[Test]) -> str:
    groups: dict[str, list[Test]] = {}
    for one in sorted(tier, key=lambda one: one.case.start):
        group = f"{code(one.case.group)}: " if one.case.group else _helper(file, one)
        groups.setdefault(group, []).append(one)
    parts = []
    for group, tests in groups.items():
        names = quoting.listed((one.case.name, one.case.start) for one in tests)
        parts.append(f"{group}{names}")
    return "; ".join(parts)


def _helper(file: FileView, one: Test) -> str:
    """How a test without a group is labelled: by the helper of its file that several tests call."""
    for name, line in _helpers(file).items():
        if re.search(rf"(?<![\w.]){re.escape(name)}\(", one.text):
            return f"helper {quoting.anchored(name, line)} in "
    return ""


def _helpers(file: FileView) -> dict[str, int]:
    """The functions of a test file that several of its tests call, the most called first."""
    tests = {test.start for test in file.outline.tests}
    own = {
        symbol.name: symbol.start
        for symbol in file.outline.symbols
        if symbol.kind == "function" and symbol.start not in tests and not symbol.container
    }
    counts: Counter[str] = Counter()
    for test in file.outline.tests:
        called = {call.callee for call in file.calls_between(test.start, test.end)}
        counts.update(name for name in own if name in called)
    return {name: own[name] for name, count in counts.most_common(4) if count >= SHARED}


RULE = Rule(
    name="tests",
    file="existing-tests.md",
    heading="Further files",
    weight=0.5,
    find=find,
    example="helper `_get_words` :29 in `test_command` :33, `test_group` :43",
)
