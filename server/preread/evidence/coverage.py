"""Tests to extend: which tests of the feature there are, and the page objects and helpers that they use."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases, words
from preread.evidence.history import ISSUE
from preread.evidence.view import FileView, HotCase, View
from preread.models import Finding
from preread.syntax import Symbol

DATA = re.compile(r"(^|/)(data|cases|snapshots|samples|examples|__snapshots__|testdata)/")

SMALL, MOST_GROUPS, MOST_TOPICS, MOST_NAMED = 6, 8, 6, 5


def groups(view: View) -> Iterator[Finding]:
    """The feature's tests by class or describe block, large ones by what their names share, so that a new one finds its
    neighbours."""
    grouped: dict[tuple[str, str], list[HotCase]] = defaultdict(list)
    for hot in view.cases:
        grouped[hot.file.path, hot.case.group].append(hot)
    best = max((sum(h.score for h in cases) for cases in grouped.values()), default=1.0)
    for cases in sorted(grouped.values(), key=lambda cases: -sum(h.score for h in cases))[:MOST_GROUPS]:
        score = 0.5 + 0.4 * sum(h.score for h in cases) / (best or 1.0)
        parts = [("", cases)] if len(cases) <= SMALL or view.whole_project else _by_topic(cases, view.wanted)
        for number, (topic, part) in enumerate(parts):
            yield _group(view, topic, part, max(0.4, score - 0.03 * number))


def _group(view: View, topic: str, cases: list[HotCase], score: float) -> Finding:
    """One line of tests: how many, their names, and how a row is added to those that have rows."""
    file, group = cases[0].file, cases[0].case.group
    shown = sorted(sorted(cases, key=lambda hot: -hot.score)[:MOST_NAMED], key=lambda hot: hot.case.start)
    total = sum(1 for case in file.outline.tests if case.group == group)
    head = phrases.quote(group.rpartition(" > ")[2], 60) if group and phrases.provable(group) else ""
    few = f"{len(cases)} of its {total} tests" if len(cases) < total and not view.whole_project else f"{total} tests"
    few = f"on {phrases.plain(topic)}" if topic else "1 test" if total == 1 else few
    named = [_named(hot) for hot in shown]
    more = f" and {len(cases) - len(shown)} more" if len(cases) > len(shown) else ""
    label = " ".join(filter(None, (head, few))) if topic or not head else f"{head}, {few}"
    return Finding(
        rule="groups",
        kind="extend",
        text=f"{label}: {', '.join(named)}{more}",
        sources=tuple(file.cite(start, end) for start, end in _ranges(shown)),
        reason="these tests name the feature or call its functions",
        score=score,
    )


def _named(hot: HotCase) -> str:
    """A test's name, with the table that its rows stand in and the issues that it is about."""
    name = phrases.quote(hot.case.name, 80) if phrases.provable(hot.case.name) else hot.case.name
    rows = "rows of " if any("parametrize" in mark or ".each" in mark for mark in hot.case.marks) else ""
    body = "\n".join(hot.file.lines[hot.case.start - 1 : hot.case.end])
    issues = " ".join(f"#{number}" for number in dict.fromkeys(ISSUE.findall(body)))
    return f"{rows}{name}" + (f" {issues[:16]}" if issues else "")


def _by_topic(cases: list[HotCase], feature: frozenset[str]) -> list[tuple[str, list[HotCase]]]:
    """Tests in groups of two to eight whose names share a word that few others have; the others last."""
    words_of = [frozenset(w for w in words.of_sentence(hot.case.name) if words.stem(w) not in feature) for hot in cases]
    counts = Counter(word for found in words_of for word in found)
    parts: list[tuple[str, list[HotCase]]] = []
    left = list(range(len(cases)))
    for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        same = [i for i in left if word in words_of[i]]
        if len(word) > 2 and 2 <= len(same) <= max(8, len(cases) // 3) and len(parts) < MOST_TOPICS:
            parts.append((word, [cases[i] for i in same]))
            left = [i for i in left if i not in same]
    parts.sort(key=lambda part: -sum(hot.score for hot in part[1]))
    return [*parts, *([("", [cases[i] for i in left])] if left else [])]


def _ranges(cases: list[HotCase]) -> list[tuple[int, int]]:
    """Where these tests stand; those that are next to each other as one."""
    ranges: list[tuple[int, int]] = []
    for hot in cases:
        if ranges and hot.case.start - ranges[-1][1] <= 12:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], hot.case.end))
        else:
            ranges.append((hot.case.start, hot.case.end))
    return ranges


def helpers(view: View) -> Iterator[Finding]:
    """Page objects and helper functions that the feature's tests use."""
    body = view.case_text
    makers = {f.path: f.text for f in view.tests if ".extend" in f.text or "fixture" in f.text}
    for file in view.tests:
        if file.role != "support":
            continue
        users = "\n".join((body, *(text for path, text in makers.items() if path != file.path)))
        if view.relevance(file.path) >= 1 and not file.outline.tests and not view.whole_project:
            yield from _data(file, body)
        if DATA.search(file.path):
            continue
        for symbol in file.outline.symbols:
            if symbol.kind == "class":
                yield from _page_object(file, symbol, body, users)
            elif (
                symbol.kind in {"function", "component"}
                and symbol.name in body
                and re.search(rf"\b{re.escape(symbol.name)}\s*\(", body)
            ):
                if any("fixture" in d for d in symbol.decorators):
                    continue
                said = f": {phrases.plain(phrases.sentence(symbol.doc, 100))}" if symbol.doc else ""
                yield Finding(
                    rule="helpers",
                    kind="helper",
                    text=phrases.definition(file, symbol.start, symbol.name, symbol.signature) + said,
                    sources=(file.cite(symbol.start, symbol.end),),
                    reason="the feature's tests call it",
                    score=0.65,
                )


def _data(file: FileView, body: str) -> Iterator[Finding]:
    """A file beside the tests that is named after the feature and that no test calls by a name: input for tests."""
    if any(re.search(rf"\b{re.escape(symbol.name)}\b", body) for symbol in file.outline.symbols):
        return
    line = next((n for n, text in enumerate(file.lines, 1) if phrases.provable(text)), 0)
    if line:
        yield Finding(
            rule="helpers",
            kind="helper",
            text=f"input for tests, named after the feature; it begins {phrases.quote_line(file, line, 70)}",
            sources=(file.cite(line),),
            reason="its path names the feature",
            score=0.6,
        )


def _page_object(file: FileView, symbol: Symbol, body: str, users: str) -> Iterator[Finding]:
    methods = [
        s.name
        for s in file.outline.symbols
        if s.container == symbol.name and s.name not in {"constructor", "__init__", "Meta", "setUp", "tearDown"}
    ]
    used = [name for name in dict.fromkeys(methods) if re.search(rf"\.{re.escape(name)}\b", body)]
    if not re.search(rf"\b{re.escape(symbol.name)}\b", users) or not (used or methods):
        return
    unused = [name for name in dict.fromkeys(methods) if name not in used and not name.startswith("_")]
    shown = phrases.names(used or unused, 8)
    yield Finding(
        rule="helpers",
        kind="helper",
        text=f"{code('class ' + symbol.name)}: {shown}" if shown else code("class " + symbol.name),
        sources=(file.cite(symbol.start, symbol.end),),
        reason="the feature's tests work through it",
        score=0.75 if used else 0.45,
    )
