"""What the feature's own functions are about and its tests leave out: texts they send and look up, codes they compare
with, functions that tests put others in place of."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.proofs import absent, gap, proof, tests_for
from preread.evidence.view import FileView, HotSymbol, View
from preread.models import Finding
from preread.syntax import Call, Symbol

MOST_CODES, SHOWN, NEAR = 2, 3, 0.45
# Calls whose first text is a name that another program or part knows: of an event, a header, a key.
NAMES = re.compile(
    r"(?:^|[.?])(?:on|once|off|emit|send|publish|subscribe|pop|set|setdefault|has|append|delete|remove)$"
)
TEXT = re.compile(r"[A-Za-z][\w:.-]*[-_:.A-Z][\w:.-]+")
REFERENCE = re.compile(r"(?<![\w.])[A-Za-z_]\w*\.([A-Z][A-Z0-9]*_[A-Z0-9_]+|[A-Z]{4,})\b")
CODE = re.compile(r"\d{3,}")
REPLACES = re.compile(r"(?:^|\.)(?:setattr|patch|patch\.object|spyOn|stub|replace)$")


def unmentioned_texts(view: View) -> Iterator[Finding]:
    """Names of events, headers and keys that the feature's functions use and its tests do not hold, one fact a file."""
    counts = Counter(hot.file.path for hot in view.cases)
    tests = [path for path, n in counts.most_common(3) if n * 4 >= len(view.cases)]
    if not tests or view.whole_project:
        return
    for file in view.sources[:4]:
        found: dict[str, tuple[float, int]] = {}
        for call in file.details.calls:
            text = call.literals[0] if call.literals else ""
            if not (6 <= len(text) <= 40 and NAMES.search(call.callee) and TEXT.fullmatch(text)) or text in found:
                continue
            lines = range(call.line, min(call.end, call.line + 4) + 1)
            at = next((n for n in lines if re.search(rf"[\"']{re.escape(text)}[\"']", file.lines[n - 1])), 0)
            heat = view.heat(file, at) if at else 0.0
            if heat >= NEAR and not view.holds(text, tests):
                found[text] = heat, at
        ordered = sorted(found.items(), key=lambda item: (-item[1][0], item[1][1]))[:SHOWN]
        if ordered:
            cites = [file.cite(line) for _, (_, line) in ordered]
            proofs = [source for text, _ in ordered for source in proof(tests[:1], text)]
            yield gap(
                "unmentioned_texts",
                f"no test of it looks at {phrases.names([text for text, _ in ordered], SHOWN)}",
                [*cites, *proofs],
                "names that the feature's functions use, in none of its tests",
                0.55 + 0.1 * (len(ordered) > 1) + 0.1 * ordered[0][1][0],
            )


def unmentioned_codes(view: View) -> Iterator[Finding]:
    """Named codes that a function of the feature compares with, when tests have neither their names nor values."""
    told, n = set[str](), 0
    for hot in view.symbols:
        if hot.symbol.kind not in {"function", "method"} or hot.score < NEAR or hot.symbol.end - hot.symbol.start > 120:
            continue
        found = []
        for line in range(hot.symbol.start, min(hot.symbol.end, len(hot.file.lines)) + 1):
            for name in set(REFERENCE.findall(hot.file.lines[line - 1])) - told:
                told.add(name)
                if len(told) <= 40 and (value := _value(view, name)) and (held := _unheld(view, hot, name, value)):
                    found.append((name, value, line, held))
        if found and n < MOST_CODES:
            n += 1
            values = ", ".join(value for _, value, _, _ in found[:SHOWN])
            yield gap(
                "unmentioned_codes",
                f"{values} in no test: {phrases.names([name for name, _, _, _ in found], SHOWN)}"
                f" of {code(hot.symbol.name)}",
                [s for _, _, line, held in found[:SHOWN] for s in (hot.file.cite(line), *held)],
                "values that the feature compares with, and no test",
                0.6,
            )


def _unheld(view: View, hot: HotSymbol, name: str, value: str) -> tuple[str, ...]:
    """Sources for that no test has a code by its value, nor by its name."""
    tests = tests_for(view, hot.file)
    return absent(view, value, tests)[:1] if absent(view, name, tests) else ()


def _value(view: View, name: str) -> str:
    """The number or text that a name stands for, when the project defines it in one line."""
    words = r"(?:(?:export|static|final|public|const)\s+)*"
    pattern = re.compile(rf"^\s*{words}{name}\s*[=:(]\s*\(?\s*[\"']?([\w-]+)")
    for path in view.candidates(name, ("source",))[:12]:
        for line in view.services.tree.lines(path) or ():
            if name in line and (match := pattern.match(line)) and CODE.fullmatch(match[1]):
                return match[1]
    return ""


class _Own(NamedTuple):
    """A function of the feature."""

    file: FileView
    symbol: Symbol


def replaced_functions(view: View) -> Iterator[Finding]:
    """Functions of the feature that its tests put others in place of: what they do runs in no such test."""
    own: dict[str, _Own] = {}
    for file in view.sources[:4]:
        for symbol in file.outline.symbols:
            if symbol.kind in {"function", "method"} and view.heat(file, symbol.start) >= NEAR:
                own.setdefault(symbol.name, _Own(file, symbol))
    seen: dict[str, list[tuple[FileView, Call]]] = defaultdict(list)
    for test in view.tests[:6]:
        for call in test.details.calls:
            if REPLACES.search(call.callee):
                for name in _targets(call):
                    if name in own and _is_of(own[name], call):
                        seen[name].append((test, call))
    for name, places in seen.items():
        file, symbol = own[name]
        test, call = places[0]
        whole = f"{symbol.container.rpartition('.')[2]}.{name}"
        shown = whole if symbol.container and whole in call.text else name
        fixture = call.hook.partition(":")[2]
        who = f"the fixture {code(fixture)} replaces" if fixture and phrases.provable(fixture) else "tests replace"
        yield gap(
            "replaced_functions",
            f"{who} {code(shown)}: no test that does reaches what is there",
            [test.cite(_defined(test, fixture) or call.line, call.end), file.cite(symbol.start, symbol.end)],
            "a function of the feature that its tests put another in place of",
            0.7,
        )


def _targets(call: Call) -> Sequence[str]:
    """What a call that replaces something names: the last part of a dotted text, or a text of its own."""
    return [text.rpartition(".")[2] for text in call.literals[:2] if text.rpartition(".")[2].isidentifier()]


def _is_of(own: _Own, call: Call) -> bool:
    """Whether a call names the class or the module of a function too."""
    home = own.symbol.container.rpartition(".")[2] or own.file.path.rpartition("/")[2].partition(".")[0]
    return home in call.text


def _defined(test: FileView, fixture: str) -> int:
    return next((s.start for s in test.outline.symbols if s.name == fixture), 0) if fixture else 0
