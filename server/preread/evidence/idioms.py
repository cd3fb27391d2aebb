"""How the feature's tests are written: fixtures, set-up, calls used more here than elsewhere, assertions, a whole test."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from preread.evidence import phrases
from preread.evidence.view import FileView, HotCase, View
from preread.models import Finding
from preread.sources import Ref
from preread.syntax import Assertion, Call

DULL = frozenset(
    """len str int float list dict set tuple range print isinstance sorted enumerate zip map filter repr bool type super getattr hasattr any all
    min max sum open iter next format join append extend split strip items keys values get push pop test it describe expect Promise.resolve
    JSON.stringify JSON.parse console.log Object.keys Array.from require t.Run t.Helper t.Fatal t.Fatalf t.Errorf t.Error make fmt.Sprintf
    Some Ok Err vec assert assert_eq Error String Number Boolean test.describe test.step startswith endswith replace lower encode decode""".split()
)
SELECT = re.compile(r"(?:^|\.)(getBy\w+|getAllBy\w+|findBy\w+|findAllBy\w+|queryBy\w+|locator|querySelector(?:All)?|get_by_\w+|find_elements?|cy\.get)$")
WAIT = re.compile(
    r"(?:^|\.)(wait\w*|waitFor\w*|wait_for\w*|sleep|poll|until|eventually|Eventually|advanceTimers\w*|useFakeTimers|runAllTimers\w*|freeze_time|toPass|settled|tick|nextTick|flushPromises|act)$"
)
PATCH = re.compile(
    r"(?:^|\.)(setattr|setenv|delenv|setitem|patch(?:\.\w+)?|spyOn|spy|stubGlobal|mock|mockImplementation|mockReturnValue|mockResolvedValue|mockRejectedValue|doMock|route|intercept|fulfill|respond|stub|stubEnv)$"
)
ASSERTING = re.compile(r"(?:^|\.)(assert\w*|raises|warns|fail|expect|to[A-Z]\w+|not|resolves|rejects|should)$|^(expect|assert|require)\b")
BUILTIN_FIXTURES = frozenset(
    "tmp_path tmpdir monkeypatch capsys capfd caplog request recwarn page browser context expect pytester mocker benchmark tmp_path_factory".split()
)


class _Use(NamedTuple):
    """One callee in the feature's tests: which tests use it, and its calls."""

    cases: set[int]
    calls: list[tuple[FileView, Call]]


def _calls_in(view: View) -> dict[str, _Use]:
    """The calls of the feature's tests by callee."""
    uses: dict[str, _Use] = defaultdict(lambda: _Use(set(), []))
    for number, hot in enumerate(view.cases):
        for call in hot.file.details.calls:
            if hot.case.start <= call.line <= hot.case.end:
                uses[call.callee].cases.add(number)
                uses[call.callee].calls.append((hot.file, call))
    return uses


def fixtures(view: View) -> Iterator[Finding]:
    """Fixtures that the feature's tests ask for, with where they are made."""
    counts = Counter(name for hot in view.cases for name in set(hot.case.params))
    total = len(view.cases)
    for name, n in counts.most_common(12):
        if not phrases.provable(name) or (n == 1 and total > 4):
            continue
        user = next(hot for hot in view.cases if name in hot.case.params)
        used = _line_with(user.file, user.case.start, min(user.case.end, user.case.start + 6), name)
        made = None if name in BUILTIN_FIXTURES else _fixture_definition(view, name)
        sources = [s for s in (made[0] if made else "", user.file.cite(used) if used else "") if s]
        if not sources:
            continue
        said = f": {made[1]}" if made and made[1] else ""
        yield Finding(
            rule="fixtures",
            kind="setup",
            text=f"fixture {phrases.code(name)} in {n} of {total} tests{said}",
            sources=tuple(sources),
            reason="the feature's tests ask for it",
            score=0.35 + 0.35 * n / total + (0.2 if made else -0.1),
        )


def _line_with(file: FileView, start: int, end: int, name: str) -> int:
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return next((n for n in range(start, end + 1) if n <= len(file.lines) and pattern.search(file.lines[n - 1])), 0)


def _fixture_definition(view: View, name: str) -> tuple[str, str] | None:
    """Where a fixture is made, and what is said of it or done in it."""
    from preread import syntax

    for path in sorted(view.candidates(name, ("support", "test")), key=lambda p: ("conftest" not in p and "fixture" not in p, p))[:30]:
        text = view.services.tree.text(path) or ""
        if not re.search(r"fixture|\.extend", text):
            continue
        lines = view.services.tree.lines(path) or []
        for symbol in syntax.outline(path, text).symbols:
            if symbol.name == name and any("fixture" in d for d in symbol.decorators):
                said = phrases.plain(phrases.sentence(symbol.doc, 90)) if symbol.doc else _gives(lines, symbol.start, symbol.end)
                return str(Ref("lines", path, symbol.start, symbol.end)), said
        for number, line in enumerate(lines, 1):
            if re.match(rf"\s*{re.escape(name)}\s*:\s*(async\s*\(|\[)", line):
                end = next((n for n in range(number, min(len(lines), number + 30)) if re.match(r"\s*\}\s*\]?,?\s*$", lines[n])), number)
                return str(Ref("lines", path, number, max(number, end + 1))), _gives(lines, number, end + 1)
    return None


def _gives(lines: list[str], start: int, end: int) -> str:
    """What a fixture hands to the test."""
    for line in lines[start - 1 : end]:
        if match := re.search(r"(?:\byield|\breturn|\buse\()\s*([^;]*?)\)?;?\s*$", line):
            value = match[1].strip()
            return f"gives {phrases.quote(value, 60)}" if len(value) >= 4 else ""
    return ""


def hooks(view: View) -> Iterator[Finding]:
    """What runs around each test of the feature's files."""
    for file in view.tests[:4]:
        if not any(hot.file is file for hot in view.cases):
            continue
        lines: dict[str, list[int]] = defaultdict(list)
        for call in file.details.calls:
            if call.hook and not call.hook.startswith("fixture:") and call.line not in lines[call.hook]:
                lines[call.hook].append(call.line)
        for hook, numbers in lines.items():
            inner = [n for n in sorted(numbers) if hook not in file.lines[n - 1]][:3] or sorted(numbers)[:1]
            yield Finding(
                rule="hooks",
                kind="setup",
                text=f"{hook}: " + ", ".join(phrases.quote_line(file, n, 80) for n in inner),
                sources=(file.cite(inner[0], inner[-1]),),
                reason="it runs around each of the feature's tests",
                score=0.7,
            )


def calls(view: View) -> Iterator[Finding]:
    """Calls that the feature's tests make often, above all those that other tests make less."""
    uses, total = _calls_in(view), len(view.cases)
    here = {hot.file.path for hot in view.cases}
    others = [path for path in view.test_paths if path not in here and path.rsplit(".", 1)[-1] in {p.rsplit(".", 1)[-1] for p in here}]
    scored = []
    for callee, use in uses.items():
        last = callee.rpartition(".")[2]
        if _is_dull(callee) or (len(use.cases) < 2 and total > 3) or not phrases.provable(callee):
            continue
        elsewhere = len(set(view.candidates(last, ("test", "support"))) & set(others)) / len(others) if others else 0.0
        share = len(use.cases) / total
        lift = share / (elsewhere + 0.1)
        scored.append((min(1.0, share) * min(lift, 6.0) / 6.0 + 0.3 * view.relevance(callee), callee, use, elsewhere))
    scored.sort(key=lambda item: (-item[0], item[1]))
    per_kind: Counter[str] = Counter()
    for score, callee, use, elsewhere in scored:
        kind = _kind_of(callee)
        per_kind[kind] += 1
        if per_kind[kind] <= 6:
            yield _call(kind, callee, use, total, elsewhere if others else None, score)


def _is_dull(callee: str) -> bool:
    return callee in DULL or callee.rpartition(".")[2] in DULL or bool(ASSERTING.search(callee)) or callee.startswith("(")


def _kind_of(callee: str) -> str:
    for pattern, kind in ((SELECT, "select"), (WAIT, "wait"), (PATCH, "replace")):
        if pattern.search(callee):
            return kind
    return "act"


def _call(kind: str, callee: str, use: _Use, total: int, elsewhere: float | None, score: float) -> Finding:
    """The commonest call of one callee as its source has it, and where else."""
    forms = Counter(" ".join(call.text.split()) for _, call in use.calls)
    best = forms.most_common(1)[0][0]
    file, call = next((f, c) for f, c in use.calls if " ".join(c.text.split()) == best)
    span = " ".join(" ".join(file.lines[call.line - 1 : call.end]).split())
    shown = best if best in span and len(best) <= 100 else callee if callee in span else callee.rpartition(".")[2]
    second = next(((f, c) for f, c in use.calls if " ".join(c.text.split()) != best and c.line != call.line), None)
    many = f"{len(use.cases)} of {total} tests here"
    rare = "" if elsewhere is None else ", in no other test file" if elsewhere == 0 else f", in {elsewhere:.0%} of other test files" if elsewhere < 0.34 else ""
    sources = [file.cite(call.line, min(call.end, call.line + 8))]
    if second is not None:
        sources.append(second[0].cite(second[1].line))
    return Finding(
        rule="calls",
        kind=kind,
        text=f"{phrases.quote(shown)} in {many}{rare}",
        sources=tuple(sources),
        reason="used more by this feature's tests than by others",
        score=0.4 + 0.5 * min(1.0, score),
    )


def assertions(view: View) -> Iterator[Finding]:
    """The shapes in which the feature's tests check results, each with an example."""
    shapes: dict[str, list[tuple[HotCase, Assertion]]] = defaultdict(list)
    for hot in view.cases:
        for item in hot.file.details.assertions:
            if hot.case.start <= item.line <= hot.case.end:
                shapes[_shape(item.text)].append((hot, item))
    total = len(view.cases)
    ordered = sorted(shapes.items(), key=lambda item: (-len({id(hot) for hot, _ in item[1]}), item[0]))
    for shape, found in ordered[:6]:
        n = len({id(hot) for hot, _ in found})
        if n < 2 and total > 3 and not re.search(r"raises|toThrow|rejects", shape):
            continue
        hot, item = min(found, key=lambda pair: (len(pair[1].text), pair[1].line))
        yield Finding(
            rule="assertions",
            kind="assert",
            text=f"{phrases.quote_line(hot.file, item.line, 100)} and the like in {n} of {total} tests",
            sources=(hot.file.cite(item.line),),
            reason="the commonest way to check this feature",
            score=0.4 + 0.4 * n / total,
        )


def _shape(text: str) -> str:
    """An assertion without its values."""
    text = re.sub(r"(\"[^\"]*\"|'[^']*'|`[^`]*`|\b\d[\d_.]*\b)", "…", text)
    text = re.sub(r"==.*|(?<=\().*(?=\))", "…", text) if text.startswith("assert ") else re.sub(r"\([^()]*\)", "(…)", text)
    return " ".join(text.split())[:60]


def shared_imports(view: View) -> Iterator[Finding]:
    """Helpers of the project that the feature's tests import."""
    seen: dict[str, list[tuple[FileView, int]]] = defaultdict(list)
    for file in view.tests[:6]:
        if file.role != "test" or not any(hot.file is file for hot in view.cases):
            continue
        for item in file.outline.imports:
            top = item.module.lstrip("./@~").split("/")[-1].rpartition(".")[2]
            if (item.module.startswith((".", "@/", "~/")) or view.mentions_of(top) > 2) and (item.names or item.module.startswith(".")):
                seen[item.module].append((file, item.line))
    helper = re.compile(r"(?i)page|fixture|helper|util|factor|support|mock|stub|testing|conftest|builders?|render|setup")
    for module, places in sorted(seen.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(places) < 2 and not helper.search(module):
            continue
        file, line = places[0]
        yield Finding(
            rule="shared_imports",
            kind="setup",
            text=f"{phrases.quote_line(file, line)}" + (f" in {len(places)} of the test files" if len(places) > 1 else ""),
            sources=(file.cite(line),),
            reason="the feature's tests use it instead of their own",
            score=0.45 + 0.1 * min(len(places), 3),
        )


def example(view: View) -> Iterator[Finding]:
    """One short test as it stands, that shows the most of how the others do it."""
    common = {callee for callee, use in _calls_in(view).items() if len(use.cases) >= max(2, len(view.cases) // 4)}
    best: tuple[float, HotCase] | None = None
    for hot in view.cases:
        size = hot.case.end - hot.case.start + 1
        text = "\n".join(hot.file.lines[hot.case.start - 1 : hot.case.end])
        if not 3 <= size <= 18 or len(text) > 700 or hot.case.marks:
            continue
        inside = {c.callee for c in hot.file.details.calls if hot.case.start <= c.line <= hot.case.end}
        checks = any(hot.case.start <= a.line <= hot.case.end for a in hot.file.details.assertions)
        value = hot.score + 0.5 * len(inside & common) - len(text) / 700 + (0.5 if checks else -1.0)
        if best is None or value > best[0]:
            best = (value, hot)
    if best is None or best[0] <= 0:
        return
    hot = best[1]
    yield Finding(
        rule="example",
        kind="example",
        text=hot.case.name,
        sources=(hot.file.cite(hot.case.start, hot.case.end),),
        reason="it is short and shows what most of the others do",
        score=0.8,
        fence=tuple(hot.file.lines[hot.case.start - 1 : hot.case.end]),
    )
