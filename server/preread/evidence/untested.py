"""What the feature's own code is about and its tests leave out: texts it sends and looks up, members of its families,
codes it compares with, functions that tests put others in place of."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.proofs import absent, gap, is_exported, tests_for
from preread.evidence.spelled import is_reached_otherwise
from preread.evidence.view import FileView, HotSymbol, View
from preread.models import Finding
from preread.syntax import Call, Member, Symbol
from preread.syntax.languages import language_of

MOST_CODES, SHOWN, NEAR = 2, 4, 0.45
NAMES = re.compile(  # what another program or part is told or asked: of an event, a header, a key
    r"[.?](?:on|once|off|emit|send|publish|subscribe|pop|get|set|setdefault|has|append|delete|remove|\w*[hH]eaders?\[)\b"
)
LITERAL = re.compile(r"(?<![\w\\])[bB]?[\"']([A-Za-z][\w:./-]*)[\"']")
SKIPPED = re.compile(
    r"\b(?:import|require|include|__all__|raise|throw|panic|DeprecationWarning)\b|\b(?:debug|log|logger)\.?\w*\("
)
PLAIN = re.compile(r"[a-z]\w*")  # a word that may well be a variable's
FORM = re.compile(r"(?i)^utf-?\d|[./]$|\.(?:js|ts|py|go|rs|html?|css)$")  # an encoding, a module
ERRORS = re.compile(r"(?:Err|Errors?|Exceptions?|ErrorKind)$")
FAMILIES = frozenset({"enum", "union", "option"})
LONG = 120  # lines of a function that are looked at
TEXT = re.compile(r"[A-Za-z][\w:./-]*[-_:./A-Z][\w:./-]+")
REFERENCE = re.compile(r"(?<![\w.])[A-Za-z_]\w*\.([A-Z][A-Z0-9]*_[A-Z0-9_]+|[A-Z]{4,})\b")
CODE = re.compile(r"\d{3,}")
REPLACES = re.compile(r"(?:^|\.)(?:setattr|patch|patch\.object|spyOn|stub|replace)$")


class _Unnamed(NamedTuple):
    """A member of a family that no test has."""

    name: str
    line: int
    proof: tuple[str, ...]
    is_field: bool


class _Text(NamedTuple):
    """A name in quotes that no test holds."""

    text: str
    line: int
    score: float
    proof: tuple[str, ...]


def unmentioned_texts(view: View) -> Iterator[Finding]:
    """Names of events, headers, keys and settings in the feature's functions that no test holds, by file."""
    if not view.cases or view.whole_project:
        return
    for file in view.sources[:4]:
        found: dict[str, _Text] = {}
        for text, line in _texts(view, file):
            if (
                text not in found
                and (proof := absent(view, text, view.test_paths))
                and not _is_cased(view, text)
            ):
                known = 0.3 * bool(NAMES.search(file.lines[line - 1])) + 0.2 * min(
                    1.0, view.relevance(text)
                )
                found[text] = _Text(text, line, view.heat(file, line) + known, proof)
        ordered = sorted(found.values(), key=lambda one: (-one.score, one.line))
        if ordered:
            yield _unheld_texts(file, ordered[:SHOWN])


def _texts(view: View, file: FileView) -> Iterator[tuple[str, int]]:
    """What stands in quotes in the feature's functions and is a name that another program or part knows."""
    prose = {n for comment in file.details.comments for n in range(comment.start, comment.end + 1)}
    functions = [s for s in file.outline.symbols if s.kind in {"function", "method", "component"}]
    functions = [s for s in functions if view.heat(file, s.start) >= NEAR]
    lines = {n for s in functions for n in range(s.start, min(s.end, s.start + LONG) + 1)} - prose
    for number in sorted(lines):
        if (
            number <= len(file.lines)
            and view.heat(file, number) >= NEAR
            and not SKIPPED.search(file.lines[number - 1])
        ):
            for text in LITERAL.findall(file.lines[number - 1]):
                told = not PLAIN.fullmatch(text) or NAMES.search(file.lines[number - 1]) is not None
                if 6 <= len(text) <= 40 and told and TEXT.fullmatch(text) and not FORM.search(text):
                    yield text, number


def _is_cased(view: View, text: str) -> bool:
    """Whether tests have a header's name in other letters: `User-Agent` for `user-agent`."""
    return "-" in text and any(
        view.holds(other, view.test_paths) for other in {text.title(), text.lower()} - {text}
    )


def _unheld_texts(file: FileView, chosen: list[_Text]) -> Finding:
    cites = [file.cite(one.line) for one in chosen]
    proofs = [source for one in chosen for source in one.proof]
    text = f"no test holds {phrases.names([one.text for one in chosen], SHOWN)}"
    reason = "names that the feature's functions use, in no test"
    return gap("unmentioned_texts", text, [*cites, *proofs], reason, 0.6 + 0.1 * chosen[0].score)


def unmentioned_members(view: View) -> Iterator[Finding]:
    """Values of the feature's enumerations and options that stand in no test, one fact a family."""
    for file in view.sources[:6]:
        families: dict[str, list[_Unnamed]] = defaultdict(list)
        sizes: Counter[str] = Counter()
        for member in file.details.members:
            is_field = member.kind == "field"
            if len(member.name) < 4 or not (
                member.kind in FAMILIES or (is_field and _is_open(view, file, member))
            ):
                continue
            if not _is_owner_open(view, file, member):
                continue
            sizes[member.owner] += 1
            near = view.heat(file, member.line) >= NEAR or view.relevance(member.name) >= 1
            provable = (
                near
                and (is_field or _is_used(view, member))
                and phrases.provable(member.name)
                and member.name.isidentifier()
            )
            if provable and (unnamed := _unnamed(view, file, member)):
                families[member.owner].append(unnamed)
        for owner, members in families.items():
            # Where tests name none of many, or few of the fields, they reach them by another way.
            most = (
                sizes[owner] / 2
                if members[0].is_field
                else sizes[owner] - 1
                if sizes[owner] > 3
                else sizes[owner]
            )
            if len(members) <= most:
                yield _members(view, file, owner, members[:SHOWN])


def _is_used(view: View, member: Member) -> bool:
    """Whether code about the feature has a member, or its family is the feature's own."""
    if view.whole_project or view.relevance(member.owner) >= 1:
        return True
    name = re.compile(rf"\b{re.escape(member.name)}\b")
    for file in view.sources[:6]:
        for symbol in file.outline.symbols if name.search(file.text) else ():
            body = "\n".join(file.lines[symbol.start - 1 : symbol.end])
            if (
                symbol.kind in {"function", "method"}
                and name.search(body)
                and view.relevance(name.sub("", body)) >= 1
            ):
                return True
    return False


def _is_owner_open(view: View, file: FileView, member: Member) -> bool:
    """Whether callers can name a member's family; those of errors are tested by their messages."""
    owner = member.owner.rpartition(".")[2]
    made = next(
        (s for s in file.outline.symbols if s.name == owner and s.start <= member.line), None
    )
    return not ERRORS.search(owner) and (made is None or is_exported(view, file, made))


def _is_open(view: View, file: FileView, field: Member) -> bool:
    """Whether a field of one of the feature's own types can be set by callers."""
    owner = field.owner.rpartition(".")[2]
    if file.path.endswith(".py") or not any(
        h.symbol.name == owner and h.score >= NEAR for h in view.symbols
    ):
        return False
    language, line = language_of(file.path), file.lines[field.line - 1]
    if language is not None and language.name == "Go":
        return field.name[0].isupper()
    if language is not None and language.name in {"Rust", "C#"}:
        return bool(re.search(r"\b(?:pub|public)\b", line))
    return (
        not re.search(r"\b(?:private|protected|internal|static)\b", line)
        and field.name[0] not in "_#"
    )


def _unnamed(view: View, file: FileView, member: Member) -> _Unnamed | None:
    """A member with the proof that no test has its name, nor its value, nor what sets and gets it."""
    value, name = member.value.strip("\"' "), member.name
    if member.kind == "enum" and member.owner and name.isupper():
        name = f"{member.owner.rpartition('.')[2]}.{name}"
        if not view.holds(name.partition(".")[0] + ".", view.test_paths):
            return None  # tests reach them by another way
    elif view.candidates(name, ("test", "support")):
        return None
    if member.kind == "field":
        other = name[0].upper() + name[1:]  # of a method
    else:
        other = (
            value
            if value != member.name and len(value) > 3 and re.fullmatch(r"[\w.:/ -]+", value)
            else ""
        )
    if (other and view.holds(other, view.test_paths)) or is_reached_otherwise(view, file, member):
        return None
    found = absent(view, name, view.test_paths)
    return _Unnamed(name, member.line, found, member.kind == "field") if found else None


def _members(view: View, file: FileView, owner: str, members: list[_Unnamed]) -> Finding:
    cites = [file.cite(min(one.line for one in members), max(one.line for one in members))]
    for one in members:
        used = (
            (f, n)
            for f in view.sources[:6]
            for n, line in enumerate(f.lines, 1)
            if one.name in line
        )
        cites += [f.cite(n) for f, n in used if "." in one.name and view.heat(f, n) >= NEAR][:1]
    of = f" of {owner}" if owner and "." not in members[0].name else ""
    text = f"no test names {phrases.names([one.name for one in members], SHOWN)}{of}"
    reason = "values of the feature that stand in no test"
    return gap(
        "unmentioned_members",
        text,
        [*cites, *(s for one in members for s in one.proof)],
        reason,
        0.66,
    )


def unmentioned_codes(view: View) -> Iterator[Finding]:
    """Named codes that a function of the feature compares with, when tests have neither their names nor values."""
    told, n = set[str](), 0
    for hot in view.symbols:
        if (
            hot.symbol.kind not in {"function", "method"}
            or hot.score < NEAR
            or hot.symbol.end - hot.symbol.start > 120
        ):
            continue
        found = []
        for line in range(hot.symbol.start, min(hot.symbol.end, len(hot.file.lines)) + 1):
            for name in set(REFERENCE.findall(hot.file.lines[line - 1])) - told:
                told.add(name)
                if (
                    len(told) <= 40
                    and (value := _value(view, name))
                    and (held := _unheld(view, hot, name, value))
                ):
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
        who = (
            f"the fixture {code(fixture)} replaces"
            if fixture and phrases.provable(fixture)
            else "tests replace"
        )
        yield gap(
            "replaced_functions",
            f"{who} {code(shown)}: no test that does reaches what is there",
            [
                test.cite(_defined(test, fixture) or call.line, call.end),
                file.cite(symbol.start, symbol.end),
            ],
            "a function of the feature that its tests put another in place of",
            0.7,
        )


def _targets(call: Call) -> Sequence[str]:
    """What a call that replaces something names: the last part of a dotted text, or a text of its own."""
    return [
        text.rpartition(".")[2]
        for text in call.literals[:2]
        if text.rpartition(".")[2].isidentifier()
    ]


def _is_of(own: _Own, call: Call) -> bool:
    """Whether a call names the class or the module of a function too."""
    home = (
        own.symbol.container.rpartition(".")[2]
        or own.file.path.rpartition("/")[2].partition(".")[0]
    )
    return home in call.text


def _defined(test: FileView, fixture: str) -> int:
    return next((s.start for s in test.outline.symbols if s.name == fixture), 0) if fixture else 0
