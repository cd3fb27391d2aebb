"""What the feature's tests have at hand: helpers, page objects, handlers that a new case is added to, input files."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.cases import counted
from preread.evidence.reach import family, reaches
from preread.evidence.view import FileView, HotCase, View, once
from preread.models import Finding
from preread.syntax import Symbol

DATA = re.compile(r"(^|/)(data|cases|snapshots|samples|examples|__snapshots__|testdata)/")
SET_UP = frozenset(
    """
    constructor __init__ Meta setUp tearDown setup teardown setup_method teardown_method setup_class teardown_class
    setUpClass tearDownClass asyncSetUp asyncTearDown before after
    """.split()
)
GIVEN = re.compile(rf"{DATA.pattern}|fixtures?/")
IDIOM = re.compile(
    r"module\.exports|(?:export|import|from|package|use|using|require)\b|<\?|#!|[\"']use strict"
)
EMPTY = frozenset(
    "sleep delay wait noop nop pause tick identity".split()
)  # helpers that say all by their names
BRANCH = re.compile(r"^\s*(?:(?:\}\s*)?(?:else\s+)?if|elif|case|when)\b")
MOST, FAR, MOST_NAMES, MANY = 6, 12, 16, 3


class _Helper(NamedTuple):
    """A function or class of the tests, where it is made and which tests of the feature have its name."""

    file: FileView
    symbol: Symbol
    users: list[HotCase]


def helpers(view: View) -> Iterator[Finding]:
    """Functions and page objects that the feature's tests use: signature, what they give, where they are used."""
    if view.whole_project:
        return
    found = sorted(
        _helpers(view), key=lambda one: (-len(one.users), one.file.path, one.symbol.start)
    )
    total = len(view.cases)
    models = [one for one in found if one.symbol.kind == "class" and one.file.outline.tests]
    together = len({one.file.path for one in models}) == 1 and len(models) >= MANY
    if together:
        yield _models(models, total)
    found = [one for one in found if _is_common(view, one) and not (together and one in models)]
    texts = [
        _page_object(view, one) if one.symbol.kind == "class" else _function(one, total)
        for one in found
    ]
    told = [
        (one, text)
        for one, text in zip(found, texts, strict=True)
        if text != code(f"class {one.symbol.name}")
    ]
    if len(found) > MANY:
        told = told[: MANY - 1]
        alone = {id(one) for one, _ in told}
        yield _others([one for one in found if id(one) not in alone][:MOST], total)
    for one, text in told:
        used = _uses(one)
        share = len(one.users) / total
        yield Finding(
            rule="helpers",
            kind="helper",
            text=text,
            sources=tuple(dict.fromkeys((one.file.cite(one.symbol.start, one.symbol.end), *used))),
            reason="the feature's tests use it",
            score=0.5 + 0.3 * share,
        )


def _others(helpers: list[_Helper], total: int) -> Finding:
    """Further helpers in one line, each with the first words said about it, or what it gives."""
    said = []
    for one in helpers:
        name = code(one.symbol.name) if phrases.provable(one.symbol.name) else one.symbol.name
        told = phrases.plain(phrases.sentence(one.symbol.doc, 80)) if one.symbol.doc else ""
        said.append(f"{name} [{len(one.users)}]" + (f" {told}" if told else ""))
    return Finding(
        rule="helpers",
        kind="helper",
        text=f"more helpers, each with how many of {counted(total)} use it: {'; '.join(said)}",
        sources=tuple(one.file.cite(one.symbol.start, one.symbol.end) for one in helpers),
        reason="the feature's tests use them",
        score=0.5 + 0.3 * len(helpers[0].users) / total,
    )


def _models(models: list[_Helper], total: int) -> Finding:
    """The classes that stand beside the tests of one file, for them alone."""
    ordered = sorted(models, key=lambda one: one.symbol.start)
    users = len({id(hot) for one in models for hot in one.users})
    shown = ", ".join(
        code(one.symbol.name) if phrases.provable(one.symbol.name) else one.symbol.name
        for one in ordered
    )
    return Finding(
        rule="helpers",
        kind="helper",
        text=f"classes made for these tests, in {users} of {counted(total)}: {shown}",
        sources=tuple(one.file.cite(one.symbol.start, one.symbol.end) for one in ordered[:MOST]),
        reason="the feature's tests use them",
        score=0.5 + 0.3 * users / total,
    )


def _helpers(view: View) -> Iterator[_Helper]:
    """Definitions beside the tests that hold names of the feature's tests, and are no tests, fixtures or products."""
    homes = list(dict.fromkeys(hot.file.path for hot in view.cases))[:5]
    seen = set[str]()
    for file in (*view.tests, *_imported(view, homes)):
        if DATA.search(file.path) or (file.path not in homes and file.outline.tests):
            continue
        tests = {(case.start, case.name) for case in file.outline.tests}
        for symbol in file.outline.symbols:
            inside = (
                symbol.kind in {"class", "method"}
                and file.path in homes
                and "." not in symbol.container
            )
            if (
                len(symbol.name) < 3
                or symbol.name in SET_UP | EMPTY
                or (symbol.container and not inside)
            ):
                continue
            if symbol.kind not in {"function", "class", "component", "method"}:
                continue
            if symbol.name in seen or (symbol.start, symbol.name) in tests or _is_of_runner(symbol):
                continue
            if any(symbol.start <= start <= symbol.end for start, _ in tests):
                continue  # a class or block of tests
            if any(case.start < symbol.start <= case.end for case in file.outline.tests):
                continue  # of one test alone
            users = _users(view, file, symbol)
            if users and _is_none(file, symbol, users):
                continue
            one = _Helper(file, symbol, users)
            if _is_common(view, one) or (users and symbol.kind == "class" and file.path in homes):
                seen.add(symbol.name)
                yield one


def _is_none(file: FileView, symbol: Symbol, users: list[HotCase]) -> bool:
    """Whether a definition is no helper of its users: what it extends is named, it is the body of one test, or it runs
    around them all and nothing is said of it."""
    if re.match(rf"\s*(?:\w+ )*extension {re.escape(symbol.name)}\b", file.lines[symbol.start - 1]):
        return True
    only_around = (
        symbol.kind != "class"
        and not symbol.doc
        and not any(symbol.name in _body(hot) for hot in users)
    )
    return only_around or {_bare(hot.case.name) for hot in users} == {_bare(symbol.name)}


def _is_common(view: View, one: _Helper) -> bool:
    """Whether enough tests use a helper, or its name is the feature's."""
    return len(one.users) > max(1, len(view.cases) // 12) or (
        bool(one.users) and view.relevance(one.symbol.name) >= 0.5
    )


def _imported(view: View, homes: list[str]) -> Iterator[FileView]:
    """Files of the tests that the feature's tests import from and that are not among the chosen ones."""
    known = {file.path for file in view.tests}
    names = [
        name
        for f in view.tests
        if f.path in homes
        for item in f.outline.imports
        for name in item.names
    ]
    for name in list(dict.fromkeys(name for name in names if len(name) > 5))[:MOST_NAMES]:
        for path in view.candidates(name, ("support", "test"))[:MOST_NAMES]:
            if path not in known and any(
                s.name == name and not s.container for s in view.outline(path).symbols
            ):
                known.add(path)
                yield FileView(path, "support", 0.0, view.services, view.kept)


def _users(view: View, file: FileView, symbol: Symbol) -> list[HotCase]:
    """The feature's tests that have a name, or whose file has it in what runs around them."""
    word = _called(symbol, r"(?!\w)")
    around = set[str]()
    tests = {hot.file.path: hot.file for hot in view.cases if symbol.name in hot.file.text}
    for test in (test for test in tests.values() if test.path != file.path):
        calls = [
            c
            for c in test.details.calls
            if c.callee == symbol.name or c.callee.startswith(f"new {symbol.name}")
        ]
        # In a fixture or another helper it runs for some tests, nobody knows which.
        if any(not c.within or (c.hook and not c.hook.startswith("fixture:")) for c in calls):
            around.add(test.path)
    reached = {path for path, test in tests.items() if reaches(test, file, symbol.name)}
    its = family(file, symbol)
    return [
        hot
        for hot, body in _bodies(view)
        if hot.file.path in reached
        and (its is None or hot.case.group.rpartition(" > ")[2] in its)
        and (hot.file.path in around or (symbol.name in body and word.search(body) is not None))
    ]


def _bare(name: str) -> str:
    """A name without what only says that it is a test's."""
    return re.sub(r"\W|_", "", name).lower().removeprefix("test")


@once
def _bodies(view: View) -> Iterator[tuple[HotCase, str]]:
    return ((hot, _body(hot)) for hot in view.cases)


def _called(symbol: Symbol, after: str) -> re.Pattern[str]:
    """A helper's name where it is used: a method's on its own object, or without one."""
    own = (
        r"(?:(?<=self\.)|(?<=this\.)|(?<=this->)|(?<![\w.>]))"
        if symbol.kind == "method"
        else r"(?<![\w.])"
    )
    return re.compile(own + re.escape(symbol.name) + after)


def _is_of_runner(symbol: Symbol) -> bool:
    return any("fixture" in mark for mark in symbol.decorators) or symbol.name.startswith(
        ("test_", "pytest_")
    )


def _body(hot: HotCase) -> str:
    return "\n".join(hot.file.lines[hot.case.start - 1 : hot.case.end])


def _uses(one: _Helper) -> list[str]:
    """Up to two places of use that do not look alike, in the tests or around them."""
    word = _called(one.symbol, r"\s*[(<.]")
    places: dict[str, str] = {}
    for file in dict.fromkeys(hot.file.path for hot in one.users):
        test = next(hot.file for hot in one.users if hot.file.path == file)
        for number, line in enumerate(test.lines, 1):
            inside = test.path == one.file.path and one.symbol.start <= number <= one.symbol.end
            if not inside and one.symbol.name in line and (match := word.search(line)):
                places.setdefault(
                    re.sub(r"\W+|\bopts?\b", "", line[: match.start()]), test.cite(number)
                )
    return list(places.values())[:2]


def _function(one: _Helper, total: int) -> str:
    """A helper as one line; one that tests hand over and that tells cases apart, as where a new case goes."""
    file, symbol = one.file, one.symbol
    many = f"in {len(one.users)} of {counted(total)}"
    body = file.lines[symbol.start : symbol.end]
    handed = re.compile(rf"[(,=:]\s*{re.escape(symbol.name)}\s*[,)]")
    branches = sum(bool(BRANCH.match(line)) for line in body)
    if branches > 3 and sum(bool(handed.search(_body(hot))) for hot in one.users) * 2 > len(
        one.users
    ):
        name = code(symbol.name) if phrases.provable(symbol.name) else symbol.name
        serves = f"it serves {len(one.users)} of {counted(total)}"
        return f"a new case is a branch in the handler {name}, of {branches}, and a test that calls it; {serves}"
    said = phrases.plain(phrases.sentence(symbol.doc, 90)) if symbol.doc else _gives(body)
    head = phrases.definition(file, symbol.start, symbol.name, symbol.signature)
    return f"helper {head} {many}" + (f": {said}" if said else "")


def _gives(body: list[str]) -> str:
    """What a short function gives back."""
    for line in body if len(body) <= FAR else []:
        match = re.match(r"\s*(?:return|yield)\s+(.{4,70}?);?\s*$", line)
        if match and phrases.balanced(match[1]) and not match[1].isidentifier():
            return f"gives {phrases.quote(match[1], 70)}"
    return ""


def _page_object(view: View, one: _Helper) -> str:
    symbol = one.symbol
    inside = [
        s.name
        for s in one.file.outline.symbols
        if s.container == symbol.name and s.name not in SET_UP
    ]
    methods = list(dict.fromkeys(inside))
    used = [name for name in methods if re.search(rf"\.{re.escape(name)}\b", view.case_text)]
    shown = phrases.names(used or [name for name in methods if not name.startswith("_")], 8)
    return f"{code('class ' + symbol.name)}: {shown}" if shown else code("class " + symbol.name)


def inputs(view: View) -> Iterator[Finding]:
    """Files of input beside the tests that are named after the feature, those of one folder together."""
    folders: dict[str, list[FileView]] = defaultdict(list)
    for file in view.tests:
        named = file.role == "support" and view.relevance(file.path) >= 1 and not file.outline.tests
        if (
            view.whole_project
            or not named
            or any(view.case_text_holds(s.name) for s in file.outline.symbols)
        ):
            continue
        folders[file.path.rpartition("/")[0]].append(file)
    for folder, files in folders.items():
        firsts = [
            (file, next((n for n, text in enumerate(file.lines, 1) if phrases.provable(text)), 0))
            for file in files
        ]
        firsts = [(file, line) for file, line in firsts if line]
        if not firsts or (len(firsts) == 1 and not GIVEN.search(f"{folder}/")):
            continue  # one alone may be any part of a test
        texts = [" ".join(file.lines[line - 1].split()) for file, line in firsts]
        begin = phrases.shared(texts) if len(texts) > 1 else texts[0]
        begins = phrases.provable(begin) and not IDIOM.match(begin)
        names = [file.path.rpartition("/")[2] for file, _ in firsts]
        alike = phrases.shared(names) if len(names) > 1 else ""
        every = len([p for p in view.services.tree.files if p.startswith(f"{folder}/{alike}")])
        which = f"{every} files named {alike}…" if alike else ", ".join(names[:MANY])
        text = f"input for tests: {which} in {folder}" + (
            f"; each begins {phrases.quote(begin, 70)}" if begins else ""
        )
        yield Finding(
            rule="inputs",
            kind="extend",
            text=text if len(firsts) > 1 else text.replace("each begins", "it begins"),
            sources=tuple(file.cite(line) for file, line in firsts[:MANY]),
            reason="their paths name the feature",
            score=0.7,
        )
