"""The feature's tests by example: how they check, one of them whole, which modules they replace, what they explain."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preread.evidence import phrases
from preread.evidence.view import HotCase, View
from preread.models import Finding

if TYPE_CHECKING:
    from preread.syntax import Assertion

MODULE = re.compile(r"^(?:vi|jest)\.(?:mock|doMock)$|^mock\.module$|^proxyquire$")
OLD_CODE = re.compile(r"[{};]\s*$|=>|==")
TELLS = re.compile(
    r"\b(not|never|only|must|should|because|since|instead|otherwise|without|unless|same|need|needs|todo|regression"
    r"|expected|always|ignored|still|too)\b|n't\b"
)
MOST_REMARKS, LONGEST = 3, 160


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
    uses = Counter(callee for hot in view.cases for callee in {call.callee for call in hot.file.calls_in(hot.case)})
    common = {callee for callee, n in uses.items() if n >= max(2, len(view.cases) // 4)}
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


def modules(view: View) -> Iterator[Finding]:
    """Modules that the feature's test files replace as a whole."""
    for file in view.tests[:4]:
        if not any(hot.file is file for hot in view.cases):
            continue
        mocks = [call for call in file.details.calls if MODULE.search(call.callee) and call.literals]
        names = list(dict.fromkeys(call.literals[0] for call in mocks))
        if names:
            first, last = mocks[0].line, max(call.end for call in mocks)
            spans = (
                [file.cite(first, last)] if last - first < 60 else [file.cite(call.line, call.end) for call in mocks]
            )
            yield Finding(
                rule="modules",
                kind="replace",
                text=f"mocked by module: {phrases.names([name for name in names if phrases.provable(name)], 4)}",
                sources=tuple(spans[:3]),
                reason="the feature's tests run without these modules",
                score=0.75,
            )


def said_in_tests(view: View) -> Iterator[Finding]:
    """What comments in the feature's tests explain: why a test is as it is, what an input stands for."""
    found = []
    for hot in view.cases:
        first = max([1, *(c.case.end + 1 for c in view.cases if c.file is hot.file and c.case.end < hot.case.start)])
        for comment in hot.file.details.comments:
            text = " ".join(comment.text.split())
            if not max(first, hot.case.start - 30) <= comment.start <= hot.case.end or not 40 <= len(text) <= 260:
                continue
            told = len(set(TELLS.findall(text.lower())))
            near = view.relevance(text)
            if told and (near >= 0.2 or told > 2) and not OLD_CODE.search(text):
                found.append((told + 2 * near + 0.5 * hot.score, hot, comment, text))
    seen = set[int]()
    for score, hot, comment, text in sorted(found, key=lambda item: (-item[0], item[2].start)):
        if comment.start in seen or len(seen) >= MOST_REMARKS or score < 1.5:
            continue
        seen.add(comment.start)
        quoted = phrases.quote(phrases.sentence(text, LONGEST).removesuffix(" …"), LONGEST)
        name = phrases.quote(hot.case.name, 80) if phrases.provable(hot.case.name) else hot.case.name
        yield Finding(
            rule="said_in_tests",
            kind="act",
            text=f"{name} says: {quoted}",
            sources=(hot.file.cite(comment.start, comment.end + 1), hot.file.cite(hot.case.start)),
            reason="a comment of the feature's tests that explains",
            score=0.6,
        )
