"""The definitions that make up the feature, by file: the main ones in detail, others by name."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from preread.dossier import named_files
from preread.dossier.fact_text import code
from preread.evidence import quoting
from preread.evidence.callees import (
    DISTINCTIVE,
    SELF,
    called_name,
    is_foreign,
    is_known,
    is_name,
    is_ours,
)
from preread.evidence.files import Definition, FileView
from preread.evidence.rule import Found, Rule
from preread.evidence.symbols import CLASSES, FUNCTIONS, is_constructor, keyword, path_of
from preread.evidence.view import View
from preread.evidence.whole_tests import whole_test_at
from preread.syntax import Call, Symbol, enclosing

MAX_FILES = 10  # of which names without a word of the request are listed, too
TIER = 12  # names in one line of the plain outline
TIERS_OF_FILE = 8
UNRELATED = 0.1  # of the best definition's score: what has less only shares the file
FIRST_FILES, MAX_UNRELATED = 2, 2  # lines of such names in these files; in the others one
FILLED_FILES, FILLERS = 3, 6  # in these files, so many more lines where the budget has room
MAX_CALLS, MAX_CALLERS, MAX_PARAMETERS = 5, 2, 8
MAX_CANDIDATES = 30  # files searched for callers and tests; of more, no number is given
PARAMETERS = re.compile(r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
PARAMETER = re.compile(
    r"^[\s*&.@$]*(?:[\w<>\[\].,*&?|\\]+(?:::[\w<>\[\].,:*&?]+)*\s+)*?"
    r"[*&.$]*([A-Za-z_]\w*)\s*\??\s*(?:=.*|:(?!:).*)?$",
    re.DOTALL,
)
FIRST_WORD = re.compile(r"\s*([A-Za-z_]\w*)")
Tier = Sequence[Definition]


def find(view: View) -> Iterator[Found]:
    """For each ranked file its main definitions in detail, then the names of the others."""
    details = {id(one): _detail(view, one) for one in view.mains}
    for rank, file in enumerate(view.code):
        own = view.definitions_in(file)
        main = [one for one in own if details.get(id(one))]
        for one in sorted(main, key=lambda one: one.symbol.start):
            score = 0.7 + 0.3 * one.score / view.best_score
            about = f"{file.path} {one.full_name}"
            yield Found(details[id(one)], (one.cite,), score, file.path, about=about)
        others = [one for one in own if not details.get(id(one))]
        related, unrelated = _tiers(view, others)
        few = MAX_UNRELATED if rank < FIRST_FILES else int(rank < MAX_FILES)
        for number, tier in enumerate((*related, *unrelated[:few])):
            score = _tier_score(rank, number, tier[0].score / view.best_score)
            yield Found(_outline(tier), (), score, file.path)
        for tier in unrelated[few : few + FILLERS] if rank < FILLED_FILES else ():
            yield Found(_outline(tier), (), 0.0, file.path)
    rest = [file for file in view.sources if file not in view.code[:MAX_FILES]]
    further = (*rest, *view.further["files"])
    yield from quoting.only_named(named_files.CODE, view.worth_naming(further))


def _tiers(view: View, own: Sequence[Definition]) -> tuple[list[Tier], list[Tier]]:
    """A file's names by lines of the outline: those of the request, and the others.

    Those next to the file's best definition come first.
    """
    floor = UNRELATED * view.best_score
    related = [one for one in own if one.score >= floor]
    others = [one for one in own if one.score < floor]
    if others:
        best = view.definitions_in(others[0].file)[0].symbol
        others.sort(key=lambda one: abs(one.symbol.start - best.start))
    return quoting.rows(related, TIER)[:TIERS_OF_FILE], quoting.rows(others, TIER)


def _tier_score(rank: int, number: int, best: float) -> float:
    """Names with the request's words first, and of each file some before any has all."""
    return 0.65 * best + 0.3 / (1 + 0.25 * rank) / (1 + 0.5 * number)


def _outline(tier: Tier) -> str:
    """The names of some definitions with their lines, members behind their class."""
    groups: dict[str, list[Symbol]] = {}
    for one in sorted(tier, key=lambda one: one.symbol.start):
        inner = one.symbol.container.rpartition(".")[2]
        groups.setdefault(inner, []).append(one.symbol)
    parts = []
    for container, symbols in groups.items():
        names = quoting.listed((symbol.name, symbol.start) for symbol in symbols)
        parts.append(f"in {code(container)} {names}" if container else names)
    return "; ".join(parts)


# -- one definition in detail


def _detail(view: View, one: Definition) -> str:
    """The details of a definition besides its name and line; may be empty."""
    kind = f"{keyword(one.symbol)} " if one.symbol.kind in CLASSES else ""
    is_alone = one.symbol.container == PurePosixPath(one.file.path).stem  # the heading says it
    name = code(one.symbol.name if is_alone or not _is_quotable(one) else one.full_name)
    parts = [given] if (given := _parameters(one.file, _constructor(one) or one.symbol)) else []
    if one.symbol.kind in FUNCTIONS:
        parts += [f" → {calls}"] if (calls := _calls(view, one)) else []
    parts += [f" ← {callers}"] if (callers := _callers(view, one)) else []
    if tests := _tests_naming(view, one):
        parts.append("; 1 test names it" if tests == 1 else f"; {tests} tests name it")
    return "".join((kind, name, *parts)) if parts else ""


def _is_quotable(one: Definition) -> bool:
    """Whether `Class.name` reads as the check knows it: a dotted container with one name."""
    return re.fullmatch(r"[\w.]+[?!]?", one.full_name) is not None


def _constructor(one: Definition) -> Symbol | None:
    """The longest method of a class that has its name."""
    made = (s for s in one.file.outline.symbols if is_constructor(s, [one.symbol]))
    return max(made, key=lambda s: s.end - s.start, default=None)


def _parameters(file: FileView, symbol: Symbol) -> str:
    """The names of a function's parameters, in brackets; nothing where they cannot be read."""
    _, bracket, rest = symbol.signature.partition(symbol.name)[2].partition("(")
    match = PARAMETERS.match(bracket + rest)  # not one of the brackets inside, if it is cut
    if symbol.kind not in FUNCTIONS or match is None:
        return ""
    # Go alone writes a parameter's name before its type, without a colon.
    pattern = FIRST_WORD if file.path.endswith(".go") else PARAMETER
    names = [pattern.match(part) for part in _split(match[1])]
    known = [found[1] for found in names if found is not None and found[1] not in SELF]
    shown = ", ".join(known[:MAX_PARAMETERS]) + (", …" if len(known) > MAX_PARAMETERS else "")
    return f" ({shown})" if shown else ""


def _split(text: str) -> list[str]:
    """The parts of a list at its outer commas."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth <= 0:
            parts.append(text[start:i])
            start = i + 1
    return [part for part in (*parts, text[start:]) if part.strip()]


def _calls(view: View, one: Definition) -> str:
    """The project's functions that a function calls, in order: of many those of the request."""
    called: dict[str, int] = {}
    for call in one.calls:
        name = called_name(call)
        is_first = name != one.symbol.name and is_name(name) and name not in called
        if is_first and is_ours(view, one, call, name):
            called[name] = call.line
    best = sorted(called.items(), key=lambda named: -view.relevance.of(named[0]))[:MAX_CALLS]
    return quoting.listed(sorted(best, key=lambda named: named[1]))


class _Caller(NamedTuple):
    name: str
    path: str
    line: int


def _is_unique(view: View, one: Definition) -> bool:
    """Whether a name is no plain word, and this file alone defines it as far as is known."""
    name = one.symbol.name
    return bool(DISTINCTIVE.search(name)) and set(view.defining(name)) == {one.file.path}


def _is_shared(one: Definition) -> bool:
    """Whether its file also gives its name to something else."""
    named = [s for s in one.file.outline.symbols if s.name == one.symbol.name]
    return len({path_of(s) for s in named if not is_constructor(s, named)}) > 1


def _callers(view: View, one: Definition) -> str:
    """The callers of a definition elsewhere; empty if its name is not distinctive."""
    name = one.symbol.name
    if not _is_unique(view, one):
        return ""
    found: list[_Caller] = []
    candidates = view.candidates(name, ("source",))
    for path in candidates[:MAX_CANDIDATES]:
        found += _callers_in(view, view.any_file(path), one)
    shown = [quoting.anchored(one.name, one.line, one.path) for one in found[:MAX_CALLERS]]
    number = "" if len(candidates) > MAX_CANDIDATES else f"{len(found) - MAX_CALLERS} "
    more = f" and {number}more" if len(found) > MAX_CALLERS else ""
    return ", ".join(shown) + more


def _callers_in(view: View, file: FileView, one: Definition) -> Iterator[_Caller]:
    """The definitions of a file that call it, each once, with the line of the call."""
    seen: set[str] = set()
    is_shared, calls = _is_shared(one), file.details.calls if is_known(file, one.symbol) else ()
    for call in (call for call in calls if _may_call(view, file, call, one)):
        around = enclosing(file.outline, call.line)
        if is_shared and getattr(around, "container", "") != one.symbol.container:
            continue  # another class's method of the same name, perhaps
        if isinstance(around, Symbol) and is_name(around.name):
            is_own = file.path == one.file.path  # the heading says where
            name = around.name if is_own else quoting.qualified(around)
            if name not in seen:
                seen.add(name)
                yield _Caller(name, "" if is_own else file.path, call.line)


def _may_call(view: View, file: FileView, call: Call, one: Definition) -> bool:
    """Whether a call outside of a definition may mean it, by its name."""
    inside = file.path == one.file.path and one.symbol.start <= call.line <= one.symbol.end
    is_named = called_name(call) == one.symbol.name
    return is_named and not inside and not is_foreign(view, file, call.callee)


def _tests_naming(view: View, one: Definition) -> int:
    """How many tests have this name in their text; 0 for plain words and where it is all over."""
    name = one.symbol.name
    if not _is_unique(view, one) or _is_shared(one):
        return 0
    candidates = view.candidates(name, ("test",))
    if len(candidates) > MAX_CANDIDATES:
        return 0
    whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    if one.symbol.kind == "method":  # variables, keys and factories may have its name
        whole = re.compile(rf"(?:[.>#]|::){re.escape(name)}(?!\w)|(?<!\w){re.escape(name)}\(")
    count = 0
    for path in candidates:
        file = view.any_file(path)
        lines = (n for n, line in enumerate(file.lines, 1) if whole.search(line))
        count += len({whole_test_at(file, n) for n in lines} - {None})
    return count


RULE = Rule(
    name="definitions",
    file="codebase.md",
    heading="More files",
    weight=0.8,
    find=find,
    example="`shell_complete` (cli, args) → `source` :48 ← `main` core.py:1626; 3 tests name it",
)
