"""The tests of the feature, by file and line, grouped by class or by a shared helper."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from preread.dossier import named_files
from preread.dossier.fact_text import code
from preread.evidence import quoting
from preread.evidence.files import FileView, Test
from preread.evidence.quoting import LIKELY
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View

MAX_FILES = 10
TIER = 8  # tests in one line
TIERS_OF_FILE = 10
UNRELATED, MAX_UNRELATED = 0.2, 1  # of the best test's score; lines of tests that have less
NAMED = 0.9  # score of the fact that only names files: only the best tests rank before it
FIRST_FILES = 3  # whose tests are listed even if none is related; of others the path says enough
SHARED = 3  # tests that call one helper, for it to name their group


def find(view: View) -> Iterator[Found]:
    """The tests of each ranked test file; those with the request's words come first.

    The budget may cut the tests of a file. If none of them ranks before the fact that only names
    files, that fact names it, too.
    """
    floor = UNRELATED * view.best_case_score
    named, doubtful, mains = list[FileView](), list[str](), frozenset(view.main_cases)
    main = [] if view.thin else view.test_files
    ranked = dict.fromkeys((*main, *view.tests, *(one.file for one in view.cases)))
    for rank, file in enumerate(ranked):
        own = [one for one in view.cases if one.file is file and _is_quotable(one)]
        is_related = bool(own) and own[0].score >= floor
        shown = list[Found]()
        if rank < FIRST_FILES or (rank < MAX_FILES and is_related):
            own = own[:2] if view.thin else own
            related = [one for one in own if one.score >= floor or one in mains]
            shown = list(_of_file(file, rank, own, related, floor))
        yield from shown
        if not shown:
            named.append(file)
        elif all(one.score < NAMED for one in shown):
            doubtful.append(file.path)
    if not view.thin:
        ranked_below = (*named, *view.further["tests"])
        # What has neither tests nor helpers is a mere input of some.
        further = [one for one in ranked_below if one.outline.tests or one.outline.symbols]
        paths = (*doubtful, *view.worth_naming(further))
        yield from quoting.only_named(named_files.TESTS, paths, len(doubtful) + LIKELY, NAMED)


def _of_file(
    file: FileView, rank: int, own: Sequence[Test], related: Sequence[Test], floor: float
) -> Iterator[Found]:
    """A file's tests by lines of the dossier: those of the feature, then some of the others."""
    others = [one for one in own if one not in related]
    tiers = quoting.rows(related, TIER)[:TIERS_OF_FILE]
    if len(others) <= len(related) or not related:
        tiers += quoting.rows(others, TIER)[:MAX_UNRELATED]
    for number, tier in enumerate(tiers):
        score = 0.65 * UNRELATED * tier[0].score / floor
        score += 0.35 / (1 + 0.25 * rank) / (1 + 0.5 * number)
        yield Found(_listed(file, tier), (), score, file.path)


def _is_quotable(one: Test) -> bool:
    """Whether a title is no variable, and can be quoted with its line as the check requires."""
    title = one.case.name
    return quoting.can_be_anchored(title) and not quoting.is_variable(
        one.file, title, one.case.start
    )


def _listed(file: FileView, tier: Sequence[Test]) -> str:
    rows = {one.case.group for one in tier}
    tables = {c.name: c.start for c in (one.case for one in tier) if not c.group and c.name in rows}
    groups: dict[str, list[Test]] = {}
    for one in sorted(tier, key=lambda one: one.case.start):
        group = one.case.group
        if group in tables:
            groups.setdefault(f"{quoting.anchored(group, tables[group])}: ", []).append(one)
        elif group or one.case.name not in tables:
            groups.setdefault(f"{code(group)}: " if group else _helper(file, one), []).append(one)
    parts = []
    for group, tests in groups.items():
        names = quoting.listed((one.case.name, one.case.start) for one in tests)
        parts.append(f"{group}{names}")
    return "; ".join(parts)


def _helper(file: FileView, one: Test) -> str:
    """The label of a test without a group: the helper of its file that several tests call."""
    for name, line in _helpers(file).items():
        if re.search(rf"(?<![\w.]){re.escape(name)}\(", one.text):
            return f"helper {quoting.anchored(name, line)} in "
    return ""


def _helpers(file: FileView) -> dict[str, int]:
    """The functions of a test file that several of its tests call, the most called first."""
    tests = {test.start for test in file.outline.tests}
    functions = [s for s in file.outline.symbols if s.kind == "function" and not s.container]
    own = {one.name: one.start for one in functions if one.start not in tests}
    counts: Counter[str] = Counter()
    for test in file.outline.tests:
        called = {call.callee for call in file.calls_between(test.start, test.end)}
        counts.update(name for name in own if name in called)
    return {name: own[name] for name, count in counts.most_common(4) if count >= SHARED}


RULE = Rule(
    name="tests",
    file="existing-tests.md",
    heading="More files",
    weight=0.5,
    find=find,
    for_thin=True,
    example="helper `_get_words` :29 in `test_command` :33, `test_group` :43",
)
