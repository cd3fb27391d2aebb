"""The feature's tests by example: how they check, one of them whole, which modules they replace, what they explain."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from preread.evidence import phrases, saying
from preread.evidence.cases import counted
from preread.evidence.view import FileView, HotCase, View
from preread.models import Finding

if TYPE_CHECKING:
    from preread.syntax import Assertion

CHAINED = re.compile(r"\s*[.?]\w")
MODULE = re.compile(r"^(?:vi|jest)\.(?:mock|doMock)$|^mock\.module$|^proxyquire$")
OLD_CODE = re.compile(r"[{};]\s*$|=>|==")
EXPLAINS = re.compile(
    r"\b(never|only|because|since|instead|otherwise|without|unless|todo|fixme|regression|ignored|cannot|even"
    r"|must not|no longer|in order to|so that)\b|n['’]t\b",
    re.IGNORECASE,
)
# A sentence: it begins like one, or names soon what must, is or does.
WHOLE = re.compile(
    r"[^a-z]|[\w-]+(?: [\w'-]+){0,7}"
    r"(?:n't| (?:must|should|is|are|was|were|will|would|can|cannot|may|has|have|does|do))\b"
)
MARKUP = re.compile(
    r"^\W*(?:@\w.*|(?:given|when|then|and|arrange|act|assert|setup|expect)\W*)$",
    re.MULTILINE | re.IGNORECASE,
)
TELLS = re.compile(
    r"\b(not|never|only|must|should|because|since|instead|otherwise|without|unless|same|need|needs|todo|regression"
    r"|expected|always|ignored|still|too)\b|n't\b"
)
MOST_REMARKS, MOST_SAID, LEAST_SAID, SHORTEST, LONGEST = 2, 3, 1.4, 45, 170
USUAL, SHORT, MOST_STEPS = (
    0.3,
    40,
    4,
)  # share of the tests that make a usual call; lines of a short test


def assertions(view: View) -> Iterator[Finding]:
    """The shapes in which the feature's tests check results, each with an example."""
    shapes: dict[str, list[tuple[HotCase, Assertion]]] = defaultdict(list)
    for hot in view.cases:
        for item in hot.file.details.assertions:
            if hot.case.start <= item.line <= hot.case.end and not item.text.endswith("fail()"):
                shapes[_shape(item.text)].append((hot, item))
    total = len(view.cases)
    ordered = sorted(
        shapes.items(), key=lambda item: (-len({id(hot) for hot, _ in item[1]}), item[0])
    )
    told = set[tuple[str, ...]]()
    for shape, found in ordered[:3]:
        n = len({id(hot) for hot, _ in found})
        is_rare = (
            n < max(2, total / 4) and total > 3 and not re.search(r"raises|toThrow|rejects", shape)
        )
        if is_rare or _begun(shape) in told:
            continue
        whole = [pair for pair in found if _is_whole(pair[0].file, pair[1].line)] or found
        if whole is found and not re.search(r"raises|toThrow|rejects", shape):
            continue  # none stands on one line
        hot, item = min(whole, key=lambda pair: (len(pair[1].text), pair[1].line))
        told.add(_begun(shape))
        yield Finding(
            rule="assertions",
            kind="assert",
            text=f"{phrases.quote_line(hot.file, item.line, 100)} and the like in {n} of {counted(total)}",
            sources=(hot.file.cite(item.line),),
            reason="the commonest way to check this feature",
            score=0.4 + 0.4 * n / total,
        )


def _is_whole(file: FileView, line: int) -> bool:
    """Whether a check ends on its line: it leaves nothing open, and no call hangs on it below."""
    goes_on = line < len(file.lines) and CHAINED.match(file.lines[line])
    return phrases.balanced(file.lines[line - 1]) and not goes_on


def _shape(text: str) -> str:
    """An assertion without its values."""
    text = re.sub(r"(\"[^\"]*\"|'[^']*'|`[^`]*`|\b\d[\d_.]*\b)", "…", text)
    text = (
        re.sub(r"==.*|(?<=\().*(?=\))", "…", text)
        if text.startswith("assert ")
        else re.sub(r"\([^()]*\)", "(…)", text)
    )
    return " ".join(text.split())[:60]


def _begun(shape: str) -> tuple[str, ...]:
    """The first words of the names in a shape: the same for `assertTrue(x.hasOne())` and `assertFalse(x.hasTwo())`."""
    return tuple(
        re.split(r"(?<=[a-z])(?=[A-Z])|_", name)[0].lower()
        for name in re.findall(r"[A-Za-z_]\w*", shape)
    )


def example(view: View) -> Iterator[Finding]:
    """One short test as it stands, that shows the most of how the others do it."""
    uses = Counter(
        callee
        for hot in view.cases
        for callee in {call.callee for call in hot.file.calls_in(hot.case)}
    )
    common = {callee for callee, n in uses.items() if n >= max(2, len(view.cases) // 4)}
    best: tuple[float, HotCase] | None = None
    for hot in view.cases:
        size = hot.case.end - hot.case.start + 1
        text = "\n".join(hot.file.lines[hot.case.start - 1 : hot.case.end])
        if not 3 <= size <= 18 or len(text) > 700 or hot.case.marks:
            continue
        inside = {call.callee for call in hot.file.calls_in(hot.case)}
        checks = any(hot.case.start <= a.line <= hot.case.end for a in hot.file.details.assertions)
        value = (
            hot.score
            + 0.6 * min(len(inside & common), 4)
            - len(text) / 1000
            + (0.5 if checks else -1.0)
        )
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


def steps(view: View) -> Iterator[Finding]:
    """How a usual test goes, statement by statement, as the first short one that makes the most of the usual calls."""
    made = [{call.callee for call in hot.file.calls_in(hot.case)} for hot in view.cases]
    counts = Counter(callee for callees in made for callee in callees)
    usual = {name for name, n in counts.items() if n >= max(2, len(made) * USUAL)}
    if view.whole_project or len(made) < 3 or not usual:
        return
    short = [
        hot for hot in view.cases if hot.case.end - hot.case.start <= SHORT and not hot.case.marks
    ]
    inside = {id(hot): len(usual & callees) for hot, callees in zip(view.cases, made, strict=True)}
    most = max((inside[id(one)] for one in short), default=0)
    full = [one for one in short if inside[id(one)] * 3 >= most * 2]
    hot = min(
        full, key=lambda one: (one.file is not view.cases[0].file, one.case.start), default=None
    )
    told = dict(_steps(hot, usual)) if hot is not None else {}
    if hot is None or len(told) < 2:
        return
    shown = {
        call.callee for call in hot.file.calls_in(hot.case) if call.line in told.values()
    } & usual
    alike = sum(shown <= callees for callees in made)
    if len(shown) < 2 or alike * 2 < len(made):
        return
    yield Finding(
        rule="steps",
        kind="act",
        text=f"{alike} of {len(made)} tests here go much like this: {', '.join(told)}",
        sources=(hot.file.cite(hot.case.start, hot.case.end),),
        reason="the calls that most of the feature's tests make, in one of them",
        score=0.5 + 0.4 * alike / len(made),
    )


def _steps(hot: HotCase, usual: set[str]) -> Iterator[tuple[str, int]]:
    """The lines of a test on which it makes usual calls, and its first check, each with its number."""
    lines = dict.fromkeys(call.line for call in hot.file.calls_in(hot.case) if call.callee in usual)
    checks = [
        item.line
        for item in hot.file.details.assertions
        if hot.case.start <= item.line <= hot.case.end
    ][:1]
    for line in sorted({*list(lines)[:MOST_STEPS], *checks}):
        quoted = phrases.quote_line(hot.file, line, 80)
        if (
            line != hot.case.start
            and phrases.provable(hot.file.lines[line - 1].strip())
            and phrases.balanced(quoted)
        ):
            yield quoted, line


def modules(view: View) -> Iterator[Finding]:
    """Modules that the feature's test files replace as a whole."""
    for file in view.tests[:4]:
        if not any(hot.file is file for hot in view.cases):
            continue
        mocks = [
            call for call in file.details.calls if MODULE.search(call.callee) and call.literals
        ]
        names = list(dict.fromkeys(call.literals[0] for call in mocks))
        if names:
            first, last = mocks[0].line, max(call.end for call in mocks)
            spans = (
                [file.cite(first, last)]
                if last - first < 60
                else [file.cite(call.line, call.end) for call in mocks]
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
    """What comments in the feature's tests explain, by test: why it is so, what an input is, its parts."""
    found: list[tuple[float, HotCase, list[_Remark]]] = []
    seen = set[tuple[str, int]]()
    for hot in view.cases:
        remarks = [one for one in _remarks(view, hot) if (hot.file.path, one.line) not in seen]
        best = sorted(
            sorted(remarks, key=lambda one: -one.score)[:MOST_SAID], key=lambda one: one.line
        )
        score = sum(one.score for one in best)
        if score >= LEAST_SAID:
            seen.update((hot.file.path, one.line) for one in best)
            found.append((score + 0.5 * hot.score, hot, best))
    for score, hot, best in sorted(found, key=lambda item: (-item[0], item[1].case.start))[
        :MOST_REMARKS
    ]:
        name = (
            phrases.quote(hot.case.name, 80) if phrases.provable(hot.case.name) else hot.case.name
        )
        yield Finding(
            rule="said_in_tests",
            kind="act",
            text=f"{name} says: {'; '.join(phrases.quote(one.text, LONGEST) for one in best)}",
            sources=(hot.file.cite(min(hot.case.start, best[0].line), hot.case.end),),
            reason="comments of the feature's tests that explain",
            score=min(1.0, 0.4 + 0.1 * score),
        )


class _Remark(NamedTuple):
    """A comment of a test: its first sentence, where it begins, how much it tells."""

    text: str
    line: int
    score: float


def _remarks(view: View, hot: HotCase) -> Iterator[_Remark]:
    """Comments in a test and right above it that are sentences about the feature or explain something."""
    first = max(
        [1, *(case.end + 1 for case in hot.file.outline.tests if case.end < hot.case.start)]
    )
    for comment in hot.file.details.comments:
        text = " ".join(MARKUP.sub("", comment.text).split())
        inside = max(first, hot.case.start - 30) <= comment.start <= hot.case.end
        if (
            not inside
            or not SHORTEST <= len(text) <= 260
            or OLD_CODE.search(text)
            or text.count(" ") < 3
        ):
            continue
        told, near = len(set(TELLS.findall(text.lower()))), view.relevance(text)
        said = phrases.sentence(text, LONGEST)
        if (
            EXPLAINS.search(said)
            and not said.endswith("…")
            and WHOLE.match(said)
            and saying.stands(said)
        ):
            yield _Remark(said, comment.start, told + min(1.0, near) + 0.2)
