"""Tests to extend: which tests of the feature there are, by file, class and topic, and the lists of their rows."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.cases import MODULES
from preread.evidence.view import FileView, HotCase, View
from preread.index import words
from preread.index.gitlog import ISSUE
from preread.models import Finding
from preread.syntax import TestCase

SMALL, MOST_GROUPS, MOST_TOPICS, MOST_NAMED, MOST_LEFT, MOST_RANGES, FEW = 6, 12, 5, 5, 14, 5, 3
NEAR, FAR = 12, 90  # lines between tests that are cited as one, of few and of many
CONSTANT = re.compile(r"(?<![\w.\"'])[A-Z][A-Z0-9_]{3,}(?![\w(])")
SHOWN = re.compile(r"(?:^|/)(?:__)?fixtures?(?:__)?/|\.fixture\.")  # tests that other tests run
LONGEST = 120  # characters of a test's name: what is cut in a word cannot be searched for
OF_TYPES = re.compile(
    r"\btypeof\b|\bisinstance\(|\binstanceof\b|InstanceOf\b|toBeDefined\(|\brespond_to\b|\bhasattr\("
)
SPELLED = re.compile(r"[a-z]\w*(?:\.\w+)+")  # a test's name that a table has, told by an expression
ROWS = re.compile(r"\b\w*(?:cases|data|files|rows|examples)\w*\(\s*[\"'][^\"'()]{4,}[\"']\s*\)")


def groups(view: View) -> Iterator[Finding]:
    """The feature's tests by class or describe block, large ones by what their names share, so that a new one finds its
    neighbours; the few of other files together."""
    grouped: dict[tuple[str, str], list[HotCase]] = defaultdict(list)
    for hot in view.cases:
        if not _is_row(view, hot):
            grouped[hot.file.path, hot.case.group].append(hot)
    best = max((sum(h.score for h in cases) for cases in grouped.values()), default=1.0)
    ordered = sorted(grouped.values(), key=lambda cases: -sum(h.score for h in cases))[:MOST_GROUPS]
    main = ordered[0][0].file.path if ordered else ""
    few = [cases for cases in ordered if len(cases) < (FEW if cases[0].file.path != main else 2)]
    few = [] if view.whole_project or len(ordered) < FEW else few
    for cases in ordered:
        if cases in few:
            continue
        score = 0.5 + 0.4 * sum(h.score for h in cases) / (best or 1.0)
        parts = (
            [("", cases)]
            if len(cases) <= SMALL or view.whole_project
            else _by_topic(cases, view.wanted)
        )
        for number, (topic, part) in enumerate(parts):
            yield _group(view, topic, part, max(0.5, score - 0.03 * number))
    few = [
        cases for cases in few if not all(_has_table(hot) or _checks_types(hot) for hot in cases)
    ]
    few += _named_elsewhere(view)
    for at in range(0, len(few), FEW):
        yield _elsewhere(few[at : at + FEW])


def _named_elsewhere(view: View) -> list[list[HotCase]]:
    """Tests that have the feature in their names, in files that were not chosen for it."""
    if view.whole_project or not view.cases:
        return []
    chosen = {file.path for file in view.tests}
    sql = "SELECT f.path FROM words JOIN files f ON f.id = words.rowid WHERE words MATCH ? AND f.role = 'test'"
    terms = " AND ".join(f'"{word}"' for word in view.query.feature if '"' not in word)
    found: list[list[HotCase]] = []
    for (path,) in view.connection.execute(
        f"{sql} ORDER BY f.path", (f"defs : ({terms})",)
    ).fetchall():
        if path in chosen or len(found) == FEW or SHOWN.search(path):
            continue
        file = FileView(path, "test", 0.0, view.services, view.kept)
        cases = (
            HotCase(file, case, 0.0)
            for case in file.outline.tests
            if view.relevance(case.name) >= 1
        )
        named = [
            hot for hot in cases if not hot.case.name.startswith("Example") and view.tests_it(hot)
        ]
        found += [named[:FEW]] if named else []
    return found


def _group(view: View, topic: str, cases: list[HotCase], score: float) -> Finding:
    """One line of tests: how many, their names, and how a row is added to those that have rows."""
    file, group = cases[0].file, cases[0].case.group
    most = MOST_NAMED if topic or len(cases) == len(view.cases) else MOST_LEFT
    shown = sorted(sorted(cases, key=lambda hot: -hot.score)[:most], key=lambda hot: hot.case.start)
    total = sum(1 for case in file.outline.tests if case.group == group)
    own = phrases.provable(group) and group not in MODULES
    head = phrases.quote(group.rpartition(" > ")[2], 60) if own else ""
    whose = f"its {total} tests" if head else _whose(view, file)
    few = (
        f"{len(cases)} of {whose}"
        if len(cases) < total and not view.whole_project
        else f"{total} tests"
    )
    few = f"on {phrases.plain(topic)}" if topic else "1 test" if total == 1 else few
    more = f" and {len(cases) - len(shown)} more" if len(cases) > len(shown) else ""
    label = " ".join(filter(None, (head, few))) if topic or not head else f"{head}, {few}"
    every = _ranges(cases)
    sources = [
        file.cite(start, end)
        for start, end in (every if len(every) <= MOST_RANGES else _ranges(shown))
    ]
    if head and (at := _block(file, group.rpartition(" > ")[2], shown[0].case)):
        sources.insert(0, file.cite(at))
    return _extend("groups", f"{label}: {', '.join(map(_named, shown))}{more}", sources, score)


def _whose(view: View, file: FileView) -> str:
    """The tests of a file, without those that others run, with its name, or its path where two have it."""
    names = {case.name for case in file.outline.tests}
    every = sum(case.group not in names for case in file.outline.tests)
    name = file.path.rpartition("/")[2]
    alike = sum(other.path.rpartition("/")[2] == name for other in view.tests)
    return f"{every} tests in {file.path if alike > 1 else name}"


def _extend(rule: str, text: str, sources: list[str], score: float) -> Finding:
    reason = "these tests name the feature or call its functions"
    return Finding(
        rule=rule,
        kind="extend",
        text=text,
        sources=tuple(dict.fromkeys(sources)),
        reason=reason,
        score=score,
    )


def _elsewhere(few: list[list[HotCase]]) -> Finding:
    """Tests that stand alone among others, each with the block that it stands in."""
    said, sources = [], []
    for cases in few:
        file, group = cases[0].file, cases[0].case.group.rpartition(" > ")[2]
        at = _block(file, group, cases[0].case) if phrases.provable(group) else 0
        said.append((f"{phrases.quote(group, 60)} " if at else "") + ", ".join(map(_named, cases)))
        sources += [file.cite(at)] if at else []
        sources += [file.cite(start, end) for start, end in _ranges(cases)]
    return _extend("groups", f"also, elsewhere: {'; '.join(said)}", sources, 0.75)


def _has_table(hot: HotCase) -> bool:
    """Whether the rows of a test stand in a list of their own, which is told by itself."""
    return any(ROWS.search(mark) for mark in hot.case.marks)


def _is_row(view: View, hot: HotCase) -> bool:
    """Whether a test is what another of the feature's runs for each of its rows, called by an expression."""
    if not (SPELLED.fullmatch(hot.case.name) or "(" in hot.case.name):
        return False
    around = (c for c in view.cases if c.file is hot.file and c is not hot)
    return any(
        other.case.start < hot.case.start and hot.case.end <= other.case.end for other in around
    )


def _checks_types(hot: HotCase) -> bool:
    """Whether all that a test checks is that something is there, and what it is."""
    checks = [
        one.text
        for one in hot.file.details.assertions
        if hot.case.start <= one.line <= hot.case.end
    ]
    return bool(checks) and all(map(OF_TYPES.search, checks))


def _block(file: FileView, name: str, first: TestCase) -> int:
    """The line that opens the block of tests that `first` stands in."""
    above = range(first.start - 1, max(0, first.start - 150), -1)
    opens = re.compile(rf"\b(?:describe|context|class|suite)\b.*(?<!\w){re.escape(name)}(?!\w)")
    return next(
        (n for n in above if name in file.lines[n - 1] and opens.search(file.lines[n - 1])), 0
    )


def _named(hot: HotCase) -> str:
    """A test's name, with the table that its rows stand in and the issues that it is about."""
    own = hot.case.group.rpartition(" > ")[2] if SPELLED.fullmatch(hot.case.name) else ""
    name = own or hot.case.name
    name = phrases.quote(name, LONGEST) if phrases.provable(name) else name
    rows = (
        "rows of "
        if any("parametrize" in mark or ".each" in mark for mark in hot.case.marks)
        else ""
    )
    body = "\n".join(hot.file.lines[hot.case.start - 1 : hot.case.end])
    issues = " ".join(f"#{number}" for number in dict.fromkeys(ISSUE.findall(body)))
    return f"{rows}{name}" + (f" {issues[:16]}" if issues else "")


def tables(view: View) -> Iterator[Finding]:
    """Lists that the rows of the feature's tests come from: a new case is a row there."""
    told = set[tuple[str, ...]]()
    for hot in view.cases:
        if not any("parametrize" in mark or ".each" in mark for mark in hot.case.marks):
            continue
        above = range(hot.case.start - 1, max(0, hot.case.start - 40), -1)
        first = next((n + 1 for n in above if not hot.file.lines[n - 1].strip()), hot.case.start)
        text = "\n".join(hot.file.lines[first - 1 : hot.case.start])
        made = {
            s.name: s for s in hot.file.outline.symbols if s.kind == "constant" and not s.container
        }
        names = tuple(dict.fromkeys(name for name in CONSTANT.findall(text) if name in made))[:FEW]
        shown = names or tuple(dict.fromkeys(match for match in ROWS.findall(text)))[:1]
        if not shown or shown in told or not all(map(phrases.provable, shown)):
            continue
        told.add(shown)
        rows = "\n".join(
            "\n".join(hot.file.lines[made[name].start - 1 : made[name].end]) for name in names
        )
        stand = [
            s
            for s in made.values()
            if s.doc and s.name not in names and re.search(rf"\b{s.name}\b", rows)
        ][:2]
        also = f", with {' or '.join(code(s.name) for s in stand)}" if stand else ""
        where = [hot.file.cite(made[name].start) for name in names] + [
            hot.file.cite(s.start) for s in stand
        ]
        line = next(
            (n for n in range(first, hot.case.start) if shown[0] in hot.file.lines[n - 1]), first
        )
        text = f"a new row goes into {' or '.join(map(code, shown))}{also}: {_named(hot)}"
        yield _extend("tables", text, [*where, hot.file.cite(line, hot.case.end)], 0.72)


def _by_topic(cases: list[HotCase], feature: frozenset[str]) -> list[tuple[str, list[HotCase]]]:
    """Tests in groups of two to eight whose names share a word that few others have; the others last."""
    words_of = [
        frozenset(w for w in words.of_sentence(hot.case.name) if words.stem(w) not in feature)
        for hot in cases
    ]
    counts = Counter(word for found in words_of for word in found)
    parts: list[tuple[str, list[HotCase]]] = []
    left = list(range(len(cases)))
    for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        same = [i for i in left if word in words_of[i]]
        if all(re.search(rf"(?i){re.escape(word)}_?\d\d", cases[i].case.name) for i in same):
            continue  # what numbers of issues begin with
        if len(word) > 3 and 2 <= len(same) <= max(8, len(cases) // 3) and len(parts) < MOST_TOPICS:
            parts.append((word, [cases[i] for i in same]))
            left = [i for i in left if i not in same]
    parts.sort(key=lambda part: -sum(hot.score for hot in part[1]))
    return [*parts, *([("", [cases[i] for i in left])] if left else [])]


def _ranges(cases: list[HotCase]) -> list[tuple[int, int]]:
    """Where these tests stand; those that are near each other as one."""
    ranges: list[tuple[int, int]] = []
    near = NEAR if len(cases) <= MOST_NAMED else FAR
    for hot in sorted(cases, key=lambda hot: hot.case.start):
        if ranges and hot.case.start - ranges[-1][1] <= near:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], hot.case.end))
        else:
            ranges.append((hot.case.start, hot.case.end))
    return ranges
