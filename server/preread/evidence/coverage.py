"""Tests to extend: which tests of the feature there are, and the page objects and helpers that they use."""

import re
from collections import defaultdict
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.view import FileView, HotCase, View
from preread.models import Finding
from preread.syntax import Symbol

DATA = re.compile(r"(^|/)(data|cases|snapshots|samples|examples|__snapshots__|testdata)/")


def groups(view: View) -> Iterator[Finding]:
    """The feature's tests by class or describe block, so that a new one finds its neighbours."""
    grouped: dict[tuple[str, str], list[HotCase]] = defaultdict(list)
    for hot in view.cases:
        grouped[hot.file.path, hot.case.group].append(hot)
    best = max((sum(h.score for h in cases) for cases in grouped.values()), default=1.0)
    for (_path, group), cases in sorted(grouped.items(), key=lambda item: -sum(h.score for h in item[1]))[:12]:
        chosen = cases if group or len(cases) <= 8 else sorted(cases, key=lambda hot: -hot.score)[:8]
        chosen.sort(key=lambda hot: hot.case.start)
        file = cases[0].file
        total = sum(1 for case in file.outline.tests if case.group == group)
        titled = chosen if group and phrases.provable(group) else chosen[1:]
        what = phrases.plain(phrases.clip("; ".join(_title(hot.case.name) for hot in titled), 170))
        head = f"{phrases.quote(group.rpartition(' > ')[2], 60)}: " if group and phrases.provable(group) else ""
        some = (
            f"{len(cases)} of its {total} tests"
            if len(cases) < total and not view.whole_project
            else f"{total} test{'s' if total > 1 else ''}"
        )
        named = head or phrases.quote(chosen[0].case.name, 80) + ", "
        yield Finding(
            rule="groups",
            kind="extend",
            text=f"{named}{some}" + (f": {what}" if what else ""),
            sources=tuple(file.cite(start, end) for start, end in _ranges(chosen)),
            reason="these tests name the feature or call its functions",
            score=0.5 + 0.4 * sum(h.score for h in cases) / (best or 1.0),
        )


def _ranges(cases: list[HotCase]) -> list[tuple[int, int]]:
    """Where these tests stand: one range when they are near each other, else the first three."""
    ranges: list[tuple[int, int]] = []
    for hot in cases:
        if ranges and hot.case.start - ranges[-1][1] <= 80:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], hot.case.end))
        else:
            ranges.append((hot.case.start, hot.case.end))
    return ranges[:3]


def _title(name: str) -> str:
    """A test's name as words."""
    return re.sub(r"^test[_\s]?", "", name).replace("_", " ").strip() or name


def helpers(view: View) -> Iterator[Finding]:
    """Page objects and helper functions that the feature's tests use."""
    body = view.case_text
    makers = [f.text for f in view.tests if ".extend" in f.text or "fixture" in f.text]
    users = "\n".join((body, *makers))
    for file in view.tests:
        if file.role != "support":
            continue
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
    if not re.search(rf"\b{re.escape(symbol.name)}\b", users):
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
