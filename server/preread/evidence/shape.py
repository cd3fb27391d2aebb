"""The feature's shape: constants, routes, selectors, settings read, and who calls it from outside."""

import re
from collections import defaultdict
from collections.abc import Iterator

from preread import syntax
from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.view import FileView, HotSymbol, View
from preread.models import Finding
from preread.sources import Ref
from preread.syntax import Member

ROUTE = re.compile(r"/[A-Za-z0-9_\-/{}:<>\[\].$*]*[A-Za-z][A-Za-z0-9_\-/{}:<>\[\].$*]*")
ROUTERS = frozenset(
    """
    get post put delete patch head options route add_url_rule add_route path re_path url goto navigate push
    replace redirect handle handlefunc handlerfunc group mount register_path api_route websocket
    """.split()
)
ROUTE_DECORATOR = re.compile(
    r"@[\w.]*(?:route|get|post|put|delete|patch|head|websocket|RequestMapping|\w+Mapping)\(\s*[\"']([^\"']+)[\"']"
)
TEST_IDS = frozenset(
    {"data-testid", "data-test", "data-test-id", "data-cy", "data-qa", "aria-label", "placeholder"}
)
TEST_ID_TEXT = re.compile(
    r"\b(data-testid|data-test|data-cy|aria-label)[\"']?\s*[=,:]\s*[\"']([^\"'{}$]{4,60})[\"']"
)
ENVIRONMENT = re.compile(
    r"""process\.env\.([A-Z][A-Z0-9_]+)|process\.env\[["']([A-Z][A-Z0-9_]+)|import\.meta\.env\.([A-Z][A-Z0-9_]+)"""
    r"""|os\.environ(?:\.get)?[\[(]\s*["']([A-Z][A-Z0-9_]+)|os\.getenv\(\s*["']([A-Z][A-Z0-9_]+)|os\.Getenv\("([A-Z][A-Z0-9_]+)"""
)
EXAMPLES = re.compile(r"(?:^|/)(?:examples?|tutorials?|samples?|demos?)/")
MODIFIERS = re.compile(r"^`(?:\w+(?:<[^<>]*>|\[\])? )+(?=[A-Z][A-Z0-9_]* ?=)")
OPEN = re.compile(r"(?:[=\\({\[,+]|[=(]\s*(?:`|\"\"\"|''')|=>)$")  # goes on, on the next line
MOST_CALLED, MOST_VALUES, WIDE, ALONE = 8, 6, 10, 3
NEAR = 0.45  # heat of what is the feature's own


def constants(view: View) -> Iterator[Finding]:
    """Named values, those that begin alike together, and families of names: enumerations, unions, options."""
    seen: set[str] = set()
    for file in view.sources[:6]:
        families: dict[tuple[str, str], list[Member]] = defaultdict(list)
        values: dict[tuple[str, str], list[Member]] = defaultdict(list)
        for member in file.details.members:
            near = (
                view.is_hot(file, member.line) or view.relevance(member.name, member.owner) >= 0.5
            )
            if near and member.kind == "constant" and member.value:
                before, _, after = member.name.partition("_")
                values[member.owner, before if after and member.name.isupper() else ""].append(
                    member
                )
            elif near and member.kind in {"enum", "union", "option"}:
                families[member.owner, member.kind].append(member)
        for (_, beginning), members in values.items():
            found = {
                m.line: one
                for m in members
                for one in _constant(view, file, m)
                if one.text not in seen
            }
            seen |= {one.text for one in found.values()}
            all_of_one = beginning and len(found) > 2
            for run in [list(found.values())] if all_of_one else _runs(found):
                yield from [_together(run)] if all_of_one or len(run) > ALONE else run
        for (owner, kind), members in families.items():
            many = len({member.name for member in members})
            named = [member for member in members if view.relevance(member.name) >= 1]
            named = named if many > WIDE and view.relevance(owner) < 1 else members
            if many > 1 and named:  # of a wide family the feature's own
                yield _family(view, file, owner, kind, named, many)


def _runs(found: dict[int, Finding]) -> list[list[Finding]]:
    """Values on lines one below the other, in lists."""
    runs: list[list[Finding]] = []
    for line in sorted(found):
        if line - 1 not in found:
            runs.append([])
        runs[-1].append(found[line])
    return runs


def _together(found: list[Finding]) -> Finding:
    """Values whose names begin alike, or that stand together, as one line: the best of them."""
    best = max(found, key=lambda one: one.score)
    chosen = sorted(found, key=lambda one: -one.score)[:MOST_VALUES]
    shown = [one for one in found if one in chosen]
    texts = ", ".join(MODIFIERS.sub("`", one.text) for one in shown)
    sources = tuple(source for one in shown for source in one.sources)
    return best.model_copy(update={"text": texts, "sources": sources})


def _constant(view: View, file: FileView, member: Member) -> Iterator[Finding]:
    below = range(
        member.line, min(member.line + 4, len(file.lines) + 1)
    )  # what is above may be an annotation's line
    at = next(
        (n for n in below if re.search(rf"\b{re.escape(member.name)}\b", file.lines[n - 1])), 0
    )
    line = file.lines[at - 1].strip() if at else ""
    if not re.search(r"[\d\"'TF\[({]", member.value) or len(member.value) > 60 or not line:
        return
    used = any(
        re.search(
            rf"\b{re.escape(member.name)}\b",
            "\n".join(hot.file.lines[hot.symbol.start : hot.symbol.end]),
        )
        for hot in view.symbols
        if hot.score >= NEAR
        and not (hot.file is file and hot.symbol.start <= member.line <= hot.symbol.end)
    )
    at_home = view.whole_project or view.relevance(file.path) >= 1
    if not (used or at_home or view.relevance(member.name) >= 0.5):
        return
    head, _, note = line.partition("  # ") if "  # " in line else line.partition(" // ")
    if OPEN.search(head.rstrip(" ,")):
        return
    text = phrases.quote(re.sub(r"^(?:export\s+)?(?:default\s+)?", "", head.rstrip(" ;,")))
    yield Finding(
        rule="constants",
        kind="constant",
        text=f"{text}: {phrases.plain(phrases.sentence(note, 90))}" if note else text,
        sources=(file.cite(at),),
        reason="a named value of the feature" + (", used by its functions" if used else ""),
        score=0.35 + 0.15 * used + 0.15 * at_home + 0.1 * min(1.0, view.relevance(member.name)),
    )


def _family(
    view: View, file: FileView, owner: str, kind: str, members: list[Member], many: int
) -> Finding:
    first = {
        member.name: member.line for member in sorted(members, key=lambda member: -member.line)
    }
    shown = sorted(first.items(), key=lambda item: item[1])
    lines = [line for _, line in shown[:WIDE]]
    listed = phrases.names([name for name, _ in shown[:WIDE]], WIDE)
    listed += f" and {many - len(lines)} more" if many > len(lines) else ""
    owner = owner.rpartition(".")[2]
    what = f"options of {code(owner)}" if kind == "option" else code(owner)
    above = range(lines[0], max(0, lines[0] - 8), -1)
    named = next((n for n in above if owner and owner in file.lines[n - 1]), 0)
    around = any(s.name == owner and s.start <= lines[0] <= s.end for s in file.outline.symbols)
    proven = phrases.provable(owner) and (named or around)
    return Finding(
        rule="constants",
        kind="constant",
        text=f"{what}: {listed}" if proven else listed,
        sources=(file.cite(named or lines[0], lines[-1]),),
        reason=f"the values that {owner or 'it'} can have",
        score=0.5 + 0.1 * min(1.0, view.relevance(owner)),
    )


def routes(view: View) -> Iterator[Finding]:
    """Addresses that the feature's files serve or go to."""
    seen: set[str] = set()
    for file in view.sources[:6]:
        if EXAMPLES.search(file.path):
            continue  # of another program
        found = [
            (c.line, lit)
            for c in file.details.calls
            if c.callee.rpartition(".")[2].lower() in ROUTERS
            for lit in c.literals[:1]
        ]
        found += [
            (s.start, m)
            for s in file.outline.symbols
            for d in s.decorators
            for m in ROUTE_DECORATOR.findall(d)
        ]
        for line, literal in sorted(found):
            at = next(
                (
                    n
                    for n in range(line, max(0, line - 8), -1)
                    if literal in (file.lines[n - 1] if n <= len(file.lines) else "")
                ),
                0,
            )
            if not at or literal in seen or not ROUTE.fullmatch(literal) or len(literal) > 80:
                continue
            if not (view.is_hot(file, line) or view.relevance(literal)):
                continue
            seen.add(literal)
            yield Finding(
                rule="routes",
                kind="route",
                text=f"route {phrases.quote_line(file, at, 90)}"
                if len(literal) < 4
                else f"route {code(literal)}",
                sources=(file.cite(at),),
                reason="an address in the feature's files",
                score=0.45 + 0.2 * min(1.0, view.relevance(literal)),
            )
            if len(seen) >= 8:
                return


def selectors(view: View) -> Iterator[Finding]:
    """Attributes by which tests find the feature's elements, grouped by file and attribute."""
    for file in view.sources[:6]:
        groups: dict[str, dict[str, int]] = defaultdict(dict)
        for attribute in file.details.attributes:
            if (
                attribute.name in TEST_IDS
                and view.is_hot(file, attribute.line)
                and phrases.provable(attribute.value)
            ):
                groups[attribute.name].setdefault(attribute.value, attribute.line)
        if not groups:
            for number, line in enumerate(file.lines, 1):
                for name, value in (
                    TEST_ID_TEXT.findall(line) if "data-" in line or "aria-" in line else ()
                ):
                    if view.is_hot(file, number):
                        groups[name].setdefault(value, number)
        for name, values in groups.items():
            items = list(values.items())[:8]
            yield Finding(
                rule="selectors",
                kind="selector",
                text=f"{code(name)}: {phrases.names([value for value, _ in items], 8)}",
                sources=tuple(dict.fromkeys(file.cite(line) for _, line in items)),
                reason="elements of the feature that a test can find",
                score=0.6,
            )


def environment(view: View) -> Iterator[Finding]:
    """Environment variables that the feature's code reads."""
    for file in view.sources[:6]:
        seen: dict[str, int] = {}
        for number, line in enumerate(file.lines, 1):
            for groups in ENVIRONMENT.findall(line):
                name = next(filter(None, groups), "")
                if view.is_hot(file, number):
                    seen.setdefault(name, number)
        for name, number in list(seen.items())[:4]:
            yield Finding(
                rule="environment",
                kind="setting",
                text=f"reads {code(name)} from the environment",
                sources=(file.cite(number),),
                reason="a setting of the feature",
                score=0.5,
            )


def callers(view: View) -> Iterator[Finding]:
    """Where the feature's functions are called from outside their own file."""
    for hot in _callables(view)[:MOST_CALLED]:
        sites = list(_sites(view, hot))
        if not sites:
            continue
        (path, _, within), total = sites[0], len(sites)
        where = f"in {code(within)}" if within and phrases.provable(within) else f"in {path}"
        more = (
            f", and in {total - 1} more places"
            if total > 2
            else ", and once more"
            if total == 2
            else ""
        )
        yield Finding(
            rule="callers",
            kind="caller",
            text=f"{code(hot.symbol.name)} is called {where}{more}",
            sources=tuple(str(Ref("lines", p, n, n)) for p, n, _ in sites[:3]),
            reason="a change to it reaches these callers",
            score=0.4 + 0.15 * hot.score,
        )


def _callables(view: View) -> list[HotSymbol]:
    kinds = {"function", "method", "class", "component"}
    return [
        h
        for h in view.symbols
        if h.symbol.kind in kinds and len(h.symbol.name) > 4 and not h.symbol.name.startswith("__")
    ]


def _sites(view: View, hot: HotSymbol) -> Iterator[tuple[str, int, str]]:
    """Calls of one symbol in other sources: path, line, and the symbol around it."""
    call = re.compile(
        rf"(?<![\w.]){re.escape(hot.symbol.name)}\s*\(|<{re.escape(hot.symbol.name)}[\s/>]"
    )
    if hot.symbol.kind == "method":
        call = re.compile(rf"\.{re.escape(hot.symbol.name)}\s*\(")
        if sum(s.name == hot.symbol.name for f in view.sources for s in f.outline.symbols) > 1:
            return  # several classes have a method of this name: a call could mean any of them
    for path in view.candidates(hot.symbol.name, ("source",))[:40]:
        if path == hot.file.path:
            continue
        text = view.services.tree.text(path) or ""
        if (
            hot.symbol.name not in text
            or not call.search(text)
            or (hot.symbol.kind == "method" and hot.symbol.container.rpartition(".")[2] not in text)
        ):
            continue
        outline = view.outline(path)
        if any(s.name == hot.symbol.name for s in outline.symbols):
            continue  # it has its own
        for number, line in enumerate(text.split("\n"), 1):
            if (
                hot.symbol.name in line
                and call.search(line)
                and not re.match(r"\s*(#|//|\*)", line)
            ):
                around = syntax.enclosing(outline, number)
                yield path, number, around.name if around else ""
