"""How the feature's tests are written: calls used more here than elsewhere, assertions, a whole test."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from functools import partial
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.callees import dotted, is_dull, kind_of
from preread.evidence.cases import counted
from preread.evidence.view import FileView, View
from preread.index import words
from preread.models import Finding
from preread.syntax import Call

CALLEE = re.compile(r"(?<![\w.])([A-Za-z_]\w+\.[A-Za-z_][\w.]*)\(")  # of another
LONGEST, MOST_LISTED, MOST_ACTS, MOST_COMMON, FEW = 90, 3, 3, 20, 2
SEVERAL = 8  # tests: of so many it is no news that they call what they test
COMMON = 0.25  # of the other test files: what so many name is how the project's tests are written
LEAST = 0.25  # of the feature's tests, for a call to be their habit
PLAIN = re.compile(
    r"[^(]*\((?:[\w.$]+(?:, ?[\w.$]+)?)?\)[);]*"
)  # what is given are names or nothing


class _Use(NamedTuple):
    """One callee in the feature's tests: which tests use it, and its calls."""

    cases: set[int]
    calls: list[tuple[FileView, Call]]


class _Scored(NamedTuple):
    """A callee with how much it tells of the feature's tests, and in how many other test files it is named."""

    score: float
    callee: str
    use: _Use
    named: int
    kind: str


def _calls_in(view: View) -> dict[str, _Use]:
    """The calls of the feature's tests by callee."""
    uses: dict[str, _Use] = defaultdict(lambda: _Use(set(), []))
    for number, hot in enumerate(view.cases):
        for call in hot.file.calls_in(hot.case):
            uses[call.callee].cases.add(number)
            uses[call.callee].calls.append((hot.file, call))
    return uses


def calls(view: View) -> Iterator[Finding]:
    """Calls that the feature's tests make often, above all those that other tests make less, in their richest form."""
    uses, total = _calls_in(view), len(view.cases)
    here = {hot.file.path for hot in view.cases}
    suffixes = {path.rpartition(".")[2] for path in here}
    others = [
        path for path in view.test_paths if path not in here and path.rpartition(".")[2] in suffixes
    ]
    made = {
        symbol.name for file in view.tests for symbol in file.outline.symbols
    }  # helpers: told by themselves
    own = {hot.symbol.name for hot in view.symbols} if total >= SEVERAL else set()
    scored: list[_Scored] = []
    for callee, use in uses.items():
        last = (re.findall(r"\w+", callee) or [callee])[-1]
        if (
            callee.removeprefix("new ") in made
            or is_dull(callee)
            or (len(use.cases) < 2 and total > 1)
            or not phrases.provable(callee)
        ):
            continue
        named = len(set(view.candidates(last, ("test", "support"))) & set(others))
        elsewhere = named / len(others) if others else 0.0
        share = len(use.cases) / total
        kind = kind_of(callee)
        if kind == "act" and (share < LEAST or len(use.cases) < min(total - 1, FEW + 1)):
            continue
        usual = max(elsewhere if elsewhere > 0.4 else 0.0, _beside(view, callee))
        if kind == "act" and share < 2 * usual and view.relevance(last) < 0.5:
            continue  # how every test here is written
        if kind == "act" and elsewhere > COMMON and view.relevance(last) < 0.5:
            continue
        lift = share / (elsewhere + 0.1)
        score = min(1.0, share) * min(lift, 6.0) / 6.0 + 0.3 * view.relevance(callee)
        scored.append(_Scored(score, callee, use, named, kind))
    scored.sort(key=lambda one: (-one.score, one.callee))
    for kind in ("select", "wait", "replace"):
        yield from _listed(kind, [one for one in scored if one.kind == kind][:MOST_LISTED], total)
    told = (
        [] if total > FEW else [one.callee for one in scored]
    )  # of so few tests nothing is a habit
    acts = [one for one in scored if one.kind == "act"]
    forms = {one.callee: _form(one.use, {other.callee for other in acts}) for one in acts}
    acts = [one for one in acts if _tells(_shown(*forms[one.callee]), own)]
    for one in acts:
        form = forms[one.callee]
        if any(map(partial(_within, one.callee, form[0]), told)) or len(told) >= MOST_ACTS:
            continue  # shown inside another, or another inside it
        if any(
            _is_part(one, other, form[0], forms[other.callee][0])
            for other in acts
            if other is not one
        ):
            continue
        told.append(form[0])
        yield _call(one, form, total, len(others))


def _within(callee: str, form: str, told: str) -> bool:
    """Whether a call is shown where another is, or is that one with more behind it."""
    return callee in told or form.startswith(told)


def _is_part(one: _Scored, other: _Scored, form: str, others: str) -> bool:
    """Whether another call tells more in the same tests: the one inside that few make, or a longer one of its name."""
    if one.use.cases != other.use.cases:
        return False
    last, its = (dotted(name).rpartition(".")[2] for name in (one.callee, other.callee))
    is_around = re.search(rf"(?<!\w){re.escape(its)}\s?[({{]", form) is not None and last != its
    return (is_around and other.named < one.named) or (last == its and len(form) < len(others))


def _beside(view: View, callee: str) -> float:
    """The share of the other tests in the feature's files that name a callee."""
    mine = {(hot.file.path, hot.case.start) for hot in view.cases}
    files = {hot.file.path: hot.file for hot in view.cases}.values()
    others = [
        (file, case)
        for file in files
        for case in file.outline.tests
        if (file.path, case.start) not in mine
    ]
    held = sum(
        f"{callee}(" in "\n".join(file.lines[case.start - 1 : case.end]) for file, case in others
    )
    return held / len(others) if len(others) > MOST_COMMON else 0.0


def _tells(shown: str, own: set[str]) -> bool:
    """Whether a call tells more than its name: what it is given, and of the feature's own functions a lot of that."""
    name, _, given = shown.partition("(")
    last, _, its = shown.rpartition("(")
    is_own = not own.isdisjoint(re.findall(r"\w+", name)[-1:] + re.findall(r"\w+", last)[-1:])
    return bool(given) and not PLAIN.fullmatch(shown) and not (is_own and its.count(",") < 2)


def _form(use: _Use, known: Collection[str]) -> tuple[str, FileView, Call]:
    """The call as its source has it that holds the most of the other calls, the commonest of these."""
    forms = Counter(" ".join(call.text.split()) for _, call in use.calls)
    fitting = [form for form in forms if len(form) <= LONGEST] or list(forms)
    best = max(
        fitting,
        key=lambda form: (
            min(sum(f"{name}(" in form for name in known), 3),
            forms[form],
            -len(form),
        ),
    )
    ordered = sorted(
        use.calls, key=lambda item: (item[0].path != use.calls[0][0].path, item[1].line)
    )
    file, call = next((f, c) for f, c in ordered if " ".join(c.text.split()) == best)
    return best, file, call


def _shown(form: str, file: FileView, call: Call) -> str:
    span = " ".join(" ".join(file.lines[call.line - 1 : call.end]).split())
    whole = form in span and len(form) <= 100
    return form if whole else call.callee if call.callee in span else call.callee.rpartition(".")[2]


def _listed(kind: str, chosen: list[_Scored], total: int) -> Iterator[Finding]:
    """Several calls of one kind as one line: what tests wait for, what they replace, by what they find elements."""
    said, sources = [], []
    for one in chosen:
        targets: dict[str, tuple[FileView, Call]] = {}
        for file, call in one.use.calls:
            targets.setdefault(call.literals[0] if call.literals else "", (file, call))
        for file, call in list(targets.values())[: 2 if kind == "replace" else 1]:
            shown = _shown(" ".join(call.text.split()), file, call)
            if "(" not in shown or (kind == "replace" and shown.endswith("()")):
                continue  # a mere name; nothing is put in a thing's place
            said.append(phrases.quote(shown, 80))
            sources.append(file.cite(call.line, min(call.end, call.line + 8)))
    many = len(set().union(*(one.use.cases for one in chosen)))
    if not said:
        return
    yield Finding(
        rule="calls",
        kind=kind,
        text=f"{', '.join(dict.fromkeys(said))}: in {many} of {counted(total)} here",
        sources=tuple(dict.fromkeys(sources)),
        reason="what the feature's tests do to "
        + {"select": "find", "wait": "wait", "replace": "replace"}[kind],
        score=0.55 + 0.3 * many / total,
    )


def _call(one: _Scored, form: tuple[str, FileView, Call], total: int, others: int) -> Finding:
    """One call as its source has it, and where else it is made."""
    best, file, call = form
    ordered = sorted(
        one.use.calls, key=lambda item: (item[0].path != one.use.calls[0][0].path, item[1].line)
    )
    second = next(
        ((f, c) for f, c in ordered if " ".join(c.text.split()) != best and c.line != call.line),
        None,
    )
    last = (re.findall(r"\w+", one.callee) or [one.callee])[-1]
    which = f" {code(last)}" if phrases.provable(last) else ""
    rare = (
        f",{which} named in {one.named} of {others} other test files"
        if one.named
        else ", named in no other test file"
    )
    like = (
        " and the like" if any(" ".join(c.text.split()) != best for _, c in one.use.calls) else ""
    )
    rare = rare if others and one.named * 3 <= others else ""
    sources = [file.cite(call.line, min(call.end, call.line + 8))]
    if second is not None:
        sources.append(second[0].cite(second[1].line))
    return Finding(
        rule="calls",
        kind="act",
        text=f"{phrases.quote(_shown(best, file, call))}{like} in {len(one.use.cases)} of {counted(total)} here{rare}",
        sources=tuple(sources),
        reason="used more by this feature's tests than by others",
        score=0.4 + 0.5 * min(1.0, one.score),
    )


def keywords(view: View) -> Iterator[Finding]:
    """Options that the feature's tests pass more than other tests do, with the value that they give."""
    uses: dict[str, list[tuple[int, FileView, Call]]] = defaultdict(list)
    for number, hot in enumerate(view.cases):
        for call in hot.file.calls_in(hot.case):
            for name in call.keywords:
                if match := re.search(
                    rf"(?<![\w.]){re.escape(name)}\s?[=:]\s?[\w.]+(?=[,)\s}}])", call.text
                ):
                    uses[match[0]].append((number, hot.file, call))
    total = len(view.cases)
    found = []
    for text, places in uses.items():
        name = re.split(r"\s?[=:]", text)[0]
        tests = len({number for number, _, _ in places})
        if (
            tests < 2
            or tests * 10 < total
            or not re.search(r"[=:]\s?(?:True|False|true|false|None|null|[A-Z]\w*\.\w+)$", text)
        ):
            continue
        files = {file.path for _, file, _ in places}
        elsewhere = len([p for p in view.candidates(name, ("test",)) if p not in files])
        found.append((tests / (elsewhere + 1), text, tests, places[0]))
    chosen = sorted(found, key=lambda item: (-item[0], item[1]))[:MOST_LISTED]
    if chosen:
        said = [f"{phrases.quote(text)} in {tests}" for _, text, tests, _ in chosen]
        yield Finding(
            rule="keywords",
            kind="act",
            text=f"passed to the calls: {', '.join(said)} of {counted(total)}",
            sources=tuple(
                dict.fromkeys(file.cite(call.line, call.end) for _, _, _, (_, file, call) in chosen)
            ),
            reason="options that this feature's tests pass more than others",
            score=0.6,
        )


def _are_siblings(one: str, other: str) -> bool:
    """Whether two calls are ways to do much the same: called on one thing, or with a word of their names in common."""
    mine, others = (
        one.removeprefix("new ").rpartition("."),
        other.removeprefix("new ").rpartition("."),
    )
    return (mine[0] not in {"", "self", "this"} and mine[0] == others[0]) or not words.stems(
        mine[2]
    ).isdisjoint(words.stems(others[2]))


def avoided(view: View) -> Iterator[Finding]:
    """What most other tests of the project call and this feature's hardly do."""
    here = list(
        dict.fromkeys(hot.file.path for hot in view.cases if view.relevance(hot.file.path) >= 1)
    )[:2]
    files = {hot.file.path: hot.file for hot in view.cases}
    others = [
        file
        for file in view.tests
        if file.role == "test" and file.path not in here and len(file.outline.tests) > 3
    ]
    if not here or len(others) < 3 or len(view.cases) < 5:
        return
    counts = Counter(
        name for file in others for name in set(CALLEE.findall(file.text)) if not is_dull(name)
    )
    uses, total = _calls_in(view), len(view.cases)
    rare = [
        name
        for name, use in uses.items()
        if len(use.cases) * 2 >= total and counts[name] * 2 <= len(others)
    ]
    own = sorted(
        (name for name in rare if not is_dull(name)),
        key=lambda name: (-len(uses[name].cases), name),
    )
    for callee, n in counts.most_common(MOST_COMMON) if own else ():
        instead = next((name for name in own if _are_siblings(name, callee)), "")
        if not instead:
            continue
        inside = len(uses[callee].cases) if callee in uses else 0
        last = re.compile(rf"\b{callee.rpartition('.')[2]}\(")  # by whatever it is called on
        inside = max(inside, *(len(last.findall(file.text)) for file in files.values()))
        if n * 10 < 7 * len(others) or inside * 10 > total or ".mark." in callee:
            continue
        best, file, call = _form(uses[instead], list(uses))
        first = [
            f.cite(c.line) for f, c in sorted(uses[instead].calls, key=lambda item: item[1].line)
        ][:1]
        example = next(
            (f, k) for f in others for k, line in enumerate(f.lines, 1) if f"{callee}(" in line
        )
        yield Finding(
            rule="avoided",
            kind="act",
            text=f"{phrases.quote(_shown(best, file, call))}, seldom {code(callee)}, which {n} of {len(others)} other "
            "test files call",
            sources=tuple(
                dict.fromkeys((file.cite(call.line, call.end), *first, example[0].cite(example[1])))
            ),
            reason="this feature's tests go another way than others",
            score=0.6,
        )
        return
