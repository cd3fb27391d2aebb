"""Traps: notes on versions, deprecated helpers, parameters that are never read."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases, saying
from preread.evidence.passages import FUNCTIONS, passages
from preread.evidence.view import FileView, View
from preread.index import words
from preread.models import Finding
from preread.syntax import Symbol

DEPRECATED = re.compile(
    r"(?i)@deprecated\b|\bdeprecated\b|DeprecationWarning|PendingDeprecationWarning"
)
INSTEAD = re.compile(
    r"(?i)(?:use|call|prefer|replaced by|superseded by|in favou?r of|instead of \w+,? use|switch to|see)\s+"
    r"(?:\{@link\s+)?[`'\":]*(?:\w+:`)?[~.]*([A-Za-z_][\w.]*(?:\(\))?)"
)
HOT = 0.45  # of a definition that belongs to the feature
CHANGERS = frozenset(  # words of names that say so
    """
    add append apply assign bind build change clear collect configure copy delete drop extend fill init inject insert
    install load merge mutate normalize parse patch populate prepare process push put read register remove rename
    replace reset set setup store sort transform update visit walk write
    """.split()
)
# Languages that hand over values: how a parameter reads through which the caller's own is changed.
BY_REFERENCE = dict.fromkeys(
    ("c", "cc", "cpp", "cxx", "h", "hpp", "php"), r"[&*]\s*\$?{name}\b"
) | {
    "rs": r"\b{name}\s*:\s*&(?:'\w+\s+)?mut\b",
    "swift": r"\b{name}\s*:\s*inout\b",
}
NOTE = 12  # lines of a note on a version
HEAD = 160  # characters of an overload that is told
NEAR = 0.2  # of a passage whose function is looked at for what it changes
VERSION_NOTE = re.compile(
    r"\s*\.\. (versionchanged|deprecated|warning|caution|danger|attention)::\s*([\d.]*)\s*(.*)$"
)


def version_notes(view: View) -> Iterator[Finding]:
    """What docstrings of the feature's symbols say of versions and warn about."""
    for hot in view.symbols[:10]:
        lines, n = hot.file.lines, 0
        for number in range(hot.symbol.start, min(hot.symbol.end, hot.symbol.start + 160)):
            match = VERSION_NOTE.match(lines[number - 1])
            if not match or n >= 3:
                continue
            rest = (
                n for n in range(number + 1, min(number + 3, len(lines))) if lines[n - 1].strip()
            )
            first = number if match[3].strip() else next(rest, number + 1)
            said, end = phrases.paragraph(lines, first, NOTE)
            said = (
                said.partition("::")[2].strip().removeprefix(match[2]).strip()
                if first == number
                else said
            )
            said = _whole(said.partition('"""')[0].strip())
            if not phrases.provable(said):
                continue
            n += 1
            what = (
                f"{match[1]} {match[2]}".strip()
                if match[1].startswith(("version", "deprecated"))
                else match[1]
            )
            yield Finding(
                rule="version_notes",
                kind="warning",
                text=f"{code(hot.symbol.name)}, {what}: {phrases.quote(said, saying.WHOLE)}",
                sources=(hot.file.cite(number, end),),
                reason="its docstring says so",
                score=0.5 + 0.2 * hot.score,
            )


def _whole(said: str) -> str:
    """As many sentences of a note as can be told; none if the first is too long."""
    ends = [end for _, end in saying.sentences(said) if end <= saying.WHOLE]
    return said[: ends[-1]] if ends else ""


def deprecated(view: View) -> Iterator[Finding]:
    """Deprecated names in the feature's files, with what replaces them."""
    for file in (*view.sources[:8], *view.tests[:6]):
        seen: set[str] = set()
        for symbol in file.outline.symbols:
            if (
                symbol.kind == "heading"
                or f"{symbol.name} {symbol.signature}" in seen
                or not _near(view, file, symbol)
            ):
                continue
            first = max(1, symbol.start - 14)
            above = _comment_above(file, symbol.start, first)
            body = file.lines[symbol.start - 1 : min(symbol.end, symbol.start + 25)]
            marked = any(DEPRECATED.search(d) for d in symbol.decorators) or re.search(
                r"@deprecated", "\n".join(above)
            )
            warns = symbol.kind not in {"class", "interface"} and _warns_first(body)
            makes = symbol.name == symbol.container.rpartition(".")[2]
            if not (marked or warns) or (
                makes and _does_nothing(body[: symbol.end - symbol.start + 1])
            ):
                continue
            seen.add(f"{symbol.name} {symbol.signature}")
            block = [*above, *body] if marked else body
            start = symbol.start - len(above) if marked else symbol.start
            yield from _deprecated(
                view, file, symbol.name, block, start, symbol.start, bool(marked)
            )


def _near(view: View, file: FileView, symbol: Symbol) -> bool:
    """Whether a definition belongs to the feature, or to a helper of its tests."""
    if view.heat(file, symbol.start) >= HOT or view.relevance(symbol.name, symbol.container) >= 0.5:
        return True
    return file.role == "support" and view.case_text_holds(symbol.name)


def _warns_first(body: list[str]) -> bool:
    """Whether a function announces its own deprecation, at the level of its body and not for one argument."""
    indent = min((len(line) - len(line.lstrip()) for line in body[1:] if line.strip()), default=0)
    for i, line in enumerate(body[1:], 1):
        if (
            re.match(r"\s*(?:warnings\.)?warn\(|\s*console\.warn\(", line)
            and len(line) - len(line.lstrip()) == indent
        ):
            return bool(re.search(r"DeprecationWarning|(?i:deprecated)", " ".join(body[i : i + 6])))
    return False


def _does_nothing(body: list[str]) -> bool:
    """Whether a constructor stands there for others to call or not to call, with no statement in it."""
    code = " ".join(re.sub(r"//.*|^\s*/?\*.*", "", line) for line in body)
    return code.count("{") == 1 and re.search(r"\{\s*\}\s*$", code) is not None


def _comment_above(file: FileView, start: int, first: int) -> list[str]:
    """The comment and decorator lines right above a definition."""
    at = start - 1
    while at >= first and re.match(r"\s*(//|/\*|\*|#|@)", file.lines[at - 1]):
        at -= 1
    return file.lines[at : start - 1]


def _is_name(file: FileView, word: str, text: str) -> bool:
    """Whether a word of a sentence is the name of something: spelled as code, or defined beside it."""
    spelled = re.search(r"[A-Z_.(]", word[1:]) or re.search(
        rf"[`{{]\s*(?:@link )?{re.escape(word)}", text
    )
    return bool(spelled) or any(symbol.name == word.strip("()") for symbol in file.outline.symbols)


def _words_of(lines: list[str], marked: bool) -> str:
    """What lines say in comments, or in the call that warns, without the code that follows a mark."""
    said: list[str] = []
    for line in "\n".join(lines).partition("*/")[0].split("\n"):
        bare = re.sub(r"^\s*(/?\*+|///?|#|\"\"\")\s?", "", line).strip()
        if marked and bare == line.strip() and not line.lstrip().startswith("."):
            bare = (
                re.sub(r"^@\w+(\(.*\))?\s*(//)?", r"\1", bare)
                if bare.startswith("@") and not said
                else ""
            )
        if said and not bare:
            break
        said.append(bare)
    return " ".join(filter(None, said))


def _deprecated(
    view: View, file: FileView, name: str, block: list[str], start: int, at: int, marked: bool
) -> Iterator[Finding]:
    i = next((i for i, line in enumerate(block) if DEPRECATED.search(line)), 0)
    text = _words_of(block[i : i + 5], marked)
    instead = next(
        (m[1] for m in INSTEAD.finditer(text) if m[1] != name and _is_name(file, m[1], text)), ""
    )
    end = max(at, min(start + i + 4, start + len(block) - 1))
    if instead and phrases.provable(instead.strip("()")):
        what = f": use {code(instead)}"
    else:
        what = (
            f": {phrases.plain(phrases.sentence(re.sub(r'^.*?@?deprecated:?', '', text, flags=re.IGNORECASE), 90))}"
            if text
            else ""
        )
    shared = (
        sum(symbol.name == name for symbol in file.outline.symbols) > 1
    )  # overloads: which one is it
    line = next((n for n in range(at, end + 1) if shared and f"{name}(" in file.lines[n - 1]), 0)
    which, last = _head(file, line) if line else (code(name), end)
    yield Finding(
        rule="deprecated",
        kind="deprecated",
        text=f"{which} is deprecated{what if len(what) > 6 else ''}",
        sources=(file.cite(min(start + i, at), max(end, last)),),
        reason="marked as deprecated in the feature's files",
        score=0.7 + 0.2 * min(1.0, view.relevance(name)),
    )


def _head(file: FileView, line: int) -> tuple[str, int]:
    """A definition's first line, or as many as its brackets are open, as far as that is short; and the last of them."""
    last, text = line, file.lines[line - 1].strip()
    while (
        not phrases.balanced(text.removesuffix("{")) and last < len(file.lines) and len(text) < HEAD
    ):
        last, text = last + 1, f"{text} {file.lines[last].strip()}"
    text = re.sub(r"\s*[{;]$", "", text)
    return (
        (phrases.quote(text, HEAD), last)
        if len(text) <= HEAD
        else (phrases.quote_line(file, line, 90), line)
    )


def _is_handed_on(view: View, symbol: Symbol) -> bool:
    """Whether a function stands anywhere without being called: whoever takes it fixes its parameters."""
    name = re.escape(symbol.name)
    used = re.compile(rf"(?<![\w.])(?:\w+\.)*{name}\b(?!\s*[(:<=])")
    defined = re.compile(rf"\b(?:def|function|func|fn|import|from)\b.*\b{name}\b|^\s*(?:#|//|\*)")
    paths = view.candidates(symbol.name, ("source",))[:12]
    lines = (
        line
        for path in paths
        for line in view.services.tree.lines(path) or ()
        if symbol.name in line
    )
    return any(used.search(line) and not defined.search(line) for line in lines)


def unread_parameters(view: View) -> Iterator[Finding]:
    """Parameters of the feature's own functions whose names their bodies never hold."""
    defined = Counter(symbol.name for file in view.sources for symbol in file.outline.symbols)
    for file in view.sources[:6]:
        unread = Counter(p.name for p in file.details.parameters if not p.used)
        lists: dict[str, tuple[str, ...]] = defaultdict(tuple)
        for parameter in file.details.parameters:
            lists[parameter.function] += (parameter.name,)
        alike = Counter(lists.values())
        owners: dict[str, list[str]] = defaultdict(list)
        for symbol in file.outline.symbols:
            if symbol.kind == "class":
                owners[symbol.name] = re.findall(r"\((.*)\)", symbol.signature)[:1]
        for parameter in file.details.parameters:
            symbol_ = next(
                (
                    s
                    for s in file.outline.symbols
                    if s.name == parameter.function.rpartition(".")[2]
                    and s.start <= parameter.line <= s.end
                ),
                None,
            )
            if (
                parameter.used
                or symbol_ is None
                or not view.is_hot(file, parameter.line)
                or symbol_.decorators
                or symbol_.name.startswith("__")
            ):
                continue
            if symbol_.container and symbol_.container.rpartition(".")[2] not in owners:
                continue  # a callback in an object: whoever calls it decides what it is given
            shared = len(lists[parameter.function]) > 1 and alike[lists[parameter.function]] > 1
            shared |= bool(symbol_.container) and defined[symbol_.name] > 1
            if shared or unread[parameter.name] > 1 or _is_handed_on(view, symbol_):
                continue  # one signature for several functions: each reads what it needs
            bases = (owners.get(symbol_.container.rpartition(".")[2]) or [""])[0]
            if bases or re.search(
                r"\b(implements|extends)\b",
                next(
                    (s.signature for s in file.outline.symbols if s.name == symbol_.container), ""
                ),
            ):
                continue  # a base class may ask for it
            yield Finding(
                rule="unread_parameters",
                kind="unread",
                text=f"{code(parameter.name)} of {code(symbol_.name)} is never read: setting it changes nothing",
                sources=(
                    file.cite(
                        min(parameter.line, symbol_.start),
                        max(parameter.line, symbol_.start),
                    ),
                ),
                reason="a parameter that its function does not use",
                score=0.8,
            )


def _changeable(file: FileView, symbol: Symbol) -> Iterator[str]:
    """The parameters of a function, not of those within it, through which it can change what its caller holds."""
    by_reference = BY_REFERENCE.get(file.path.rpartition(".")[2])
    for parameter in file.details.parameters:
        own = (
            parameter.function.rpartition(".")[2] == symbol.name
            and symbol.start <= parameter.line <= symbol.end
        )
        name = parameter.name
        if (
            not own
            or not parameter.used
            or name in {"self", "cls", "this", "ctx", "kwargs"}
            or len(name) <= 2
        ):
            continue
        head = "\n".join(file.lines[symbol.start - 1 : parameter.line])
        if by_reference is None or re.search(by_reference.format(name=re.escape(name)), head):
            yield name


def changed_arguments(view: View) -> Iterator[Finding]:
    """Parameters that the feature's functions change in place: what the caller handed over is changed with them."""
    near = {(p.file.path, p.symbol.start): p for p in reversed(passages(view)) if p.near >= NEAR}
    for file, symbol in ((p.file, p.symbol) for p in reversed(near.values())):
        if symbol.end - symbol.start > 200 or CHANGERS.intersection(
            map(str.lower, words.parts(symbol.name))
        ):
            continue
        if any(
            s.name == symbol.container.rpartition(".")[2] and s.kind in FUNCTIONS
            for s in file.outline.symbols
        ):
            continue  # a function's own helper: both know
        names = list(dict.fromkeys(_changeable(file, symbol)))
        body = "\n".join(file.lines[symbol.start : symbol.end])
        for name in names:
            if f"{name}." not in body and f"{name}[" not in body:
                continue  # a plain look is cheap, a pattern for each name is not
            again = re.compile(
                rf"(?<![\w.]){re.escape(name)}\s*(?::[^=]+)?=(?!=)|(?:let|const|var)\s+{re.escape(name)}\b"
            )
            change = re.compile(
                rf"(?<![\w.\[]){re.escape(name)}"
                r"(?:\.(?:append|extend|insert|push|unshift|splice|setdefault|update|clear|add|delete|remove)\("
                r"|\[[^\]]+\]\s*=(?!=))"
            )
            for number in range(symbol.start + 1, min(symbol.end, len(file.lines)) + 1):
                line = file.lines[number - 1]
                if again.search(line) and not change.search(line):
                    break  # from here on it is its own
                if not change.match(line.strip()):
                    continue
                yield Finding(
                    rule="changed_arguments",
                    kind="changed",
                    text=f"{code(symbol.name)} changes what it is given: {phrases.quote_line(file, number, 70)}",
                    sources=(file.cite(symbol.start, number),),
                    reason="a parameter that is changed in place",
                    score=0.7,
                )
                break
