"""How the feature's tests are written: calls used more here than elsewhere, assertions, a whole test."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from preread.evidence import phrases
from preread.evidence.view import FileView, HotCase, View
from preread.models import Finding
from preread.syntax import Assertion, Call

DULL = frozenset(
    """
    len str int float list dict set tuple range print isinstance sorted enumerate zip map filter repr bool type
    super getattr hasattr any all min max sum open iter next format join append extend split strip items keys
    values get push pop test it describe expect Promise.resolve JSON.stringify JSON.parse console.log
    Object.keys Array.from require t.Run t.Helper t.Fatal t.Fatalf t.Errorf t.Error make fmt.Sprintf Some Ok Err
    vec assert assert_eq Error String Number Boolean test.describe test.step startswith endswith replace lower
    encode decode
    """.split()
)
SELECT = re.compile(
    r"(?:^|\.)(getBy\w+|getAllBy\w+|findBy\w+|findAllBy\w+|queryBy\w+|locator|querySelector(?:All)?|get_by_\w+|find_elements?|cy\.get)$"
)
WAIT = re.compile(
    r"(?:^|\.)(wait\w*|waitFor\w*|wait_for\w*|sleep|poll|until|eventually|Eventually|advanceTimers\w*|useFakeTimers"
    r"|runAllTimers\w*|freeze_time|toPass|settled|tick|nextTick|flushPromises|act)$"
)
PATCH = re.compile(
    r"(?:^|\.)(setattr|setenv|delenv|setitem|patch(?:\.\w+)?|spyOn|spy|stubGlobal|mock|mockImplementation|mockReturnValue"
    r"|mockResolvedValue|mockRejectedValue|doMock|route|intercept|fulfill|respond|stub|stubEnv)$"
)
ASSERTING = re.compile(
    r"(?:^|\.)(assert\w*|raises|warns|fail|expect|to[A-Z]\w+|not|resolves|rejects|should)$|^(expect|assert|require)\b"
)


class _Use(NamedTuple):
    """One callee in the feature's tests: which tests use it, and its calls."""

    cases: set[int]
    calls: list[tuple[FileView, Call]]


def _calls_in(view: View) -> dict[str, _Use]:
    """The calls of the feature's tests by callee."""
    uses: dict[str, _Use] = defaultdict(lambda: _Use(set(), []))
    for number, hot in enumerate(view.cases):
        for call in hot.file.calls_in(hot.case):
            uses[call.callee].cases.add(number)
            uses[call.callee].calls.append((hot.file, call))
    return uses


def calls(view: View) -> Iterator[Finding]:
    """Calls that the feature's tests make often, above all those that other tests make less."""
    uses, total = _calls_in(view), len(view.cases)
    here = {hot.file.path for hot in view.cases}
    others = [
        path
        for path in view.test_paths
        if path not in here and path.rsplit(".", 1)[-1] in {p.rsplit(".", 1)[-1] for p in here}
    ]
    scored = []
    for callee, use in uses.items():
        last = callee.rpartition(".")[2]
        if _is_dull(callee) or (len(use.cases) < 2 and total > 1) or not phrases.provable(callee):
            continue
        named = len(set(view.candidates(last, ("test", "support"))) & set(others))
        elsewhere = named / len(others) if others else 0.0
        share = len(use.cases) / total
        if elsewhere > 0.4 and share < 2 * elsewhere and not view.relevance(callee):
            continue  # how every test here is written
        lift = share / (elsewhere + 0.1)
        scored.append((min(1.0, share) * min(lift, 6.0) / 6.0 + 0.3 * view.relevance(callee), callee, use, named))
    scored.sort(key=lambda item: (-item[0], item[1]))
    per_kind: Counter[str] = Counter()
    for score, callee, use, named in scored:
        kind = _kind_of(callee)
        per_kind[kind] += 1
        if per_kind[kind] <= 6:
            yield _call(kind, callee, use, total, (named, len(others)), score)


def _is_dull(callee: str) -> bool:
    return (
        callee in DULL or callee.rpartition(".")[2] in DULL or bool(ASSERTING.search(callee)) or callee.startswith("(")
    )


def _kind_of(callee: str) -> str:
    for pattern, kind in ((SELECT, "select"), (WAIT, "wait"), (PATCH, "replace")):
        if pattern.search(callee):
            return kind
    return "act"


def _call(kind: str, callee: str, use: _Use, total: int, elsewhere: tuple[int, int], score: float) -> Finding:
    """The commonest call of one callee as its source has it, and where else."""
    forms = Counter(" ".join(call.text.split()) for _, call in use.calls)
    best = forms.most_common(1)[0][0]
    ordered = sorted(use.calls, key=lambda item: (item[0].path != use.calls[0][0].path, item[1].line))
    file, call = next((f, c) for f, c in ordered if " ".join(c.text.split()) == best)
    span = " ".join(" ".join(file.lines[call.line - 1 : call.end]).split())
    shown = best if best in span and len(best) <= 100 else callee if callee in span else callee.rpartition(".")[2]
    second = next(((f, c) for f, c in ordered if " ".join(c.text.split()) != best and c.line != call.line), None)
    many = f"{len(use.cases)} of {total} tests here"
    named, others = elsewhere
    rare = f", named in {named} of {others} other test files" if named else ", named in no other test file"
    rare = rare if others and named * 3 <= others else ""
    sources = [file.cite(call.line, min(call.end, call.line + 8))]
    made = next((s for s in file.outline.symbols if s.name == callee and s.kind == "function"), None)
    if made is not None:  # a helper beside the tests
        sources.insert(0, file.cite(made.start, made.end))
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
    for shape, found in ordered[:3]:
        n = len({id(hot) for hot, _ in found})
        if n < max(2, total // 8) and total > 3 and not re.search(r"raises|toThrow|rejects", shape):
            continue
        whole = [pair for pair in found if phrases.balanced(pair[0].file.lines[pair[1].line - 1])] or found
        if whole is found and not re.search(r"raises|toThrow|rejects", shape):
            continue  # none stands on one line
        hot, item = min(whole, key=lambda pair: (len(pair[1].text), pair[1].line))
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
    text = (
        re.sub(r"==.*|(?<=\().*(?=\))", "…", text) if text.startswith("assert ") else re.sub(r"\([^()]*\)", "(…)", text)
    )
    return " ".join(text.split())[:60]


def example(view: View) -> Iterator[Finding]:
    """One short test as it stands, that shows the most of how the others do it."""
    common = {callee for callee, use in _calls_in(view).items() if len(use.cases) >= max(2, len(view.cases) // 4)}
    best: tuple[float, HotCase] | None = None
    for hot in view.cases:
        size = hot.case.end - hot.case.start + 1
        text = "\n".join(hot.file.lines[hot.case.start - 1 : hot.case.end])
        if not 3 <= size <= 18 or len(text) > 700 or hot.case.marks:
            continue
        inside = {call.callee for call in hot.file.calls_in(hot.case)}
        checks = any(hot.case.start <= a.line <= hot.case.end for a in hot.file.details.assertions)
        value = hot.score + 0.6 * min(len(inside & common), 4) - len(text) / 1000 + (0.5 if checks else -1.0)
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
