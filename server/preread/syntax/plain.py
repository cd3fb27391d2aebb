"""Line-based parsing for languages without a grammar: definitions, headings, comments, calls."""

import re
from collections.abc import Callable

from preread.languages import Language
from preread.syntax.blocks import block_ends
from preread.syntax.comments import split_comments
from preread.syntax.headings import (
    markdown_headings,
    markup_headings,
    rst_headings,
    sections,
    template_parts,
    yaml_headings,
)
from preread.syntax.model import Call, Details, Import, Outline, Symbol, SymbolKind
from preread.syntax.signatures import split_name
from preread.syntax.text import first_sentence

_MODIFIERS = (
    r"(?:(?:pub(?:\([a-z]+\))?|public|private|protected|internal|open|override|final|abstract"
    r"|static|sealed|data|inline"
    r"|suspend|async|virtual|partial|extern|unsafe|default|readonly|export|fileprivate|mutating"
    r"|const|constexpr"
    r"|explicit|annotation|value|inner|companion|operator|infix|tailrec|lateinit|declare"
    r"|synchronized)\s+)*"
)
_KINDS: dict[str, SymbolKind] = {
    **dict.fromkeys(
        "class struct record actor object model module namespace extension impl".split(), "class"
    ),
    **dict.fromkeys("interface protocol trait".split(), "interface"),
    **dict.fromkeys(("enum", "enum class"), "enum"),
    **dict.fromkeys("union type typealias table view".split(), "type"),
    **dict.fromkeys("fun func function def fn init procedure".split(), "function"),
    **dict.fromkeys("const val".split(), "constant"),
}
_NAME = r"(?P<name>[A-Za-z_][\w$]*[?!]?)"
_KEYWORD_RULE = re.compile(
    rf"^[ \t]*{_MODIFIERS}(?P<key>enum class|class|struct|record|actor|object|module|namespace"
    rf"|extension|impl|interface|model"
    rf"|protocol|trait|enum|union|typealias|type|function|func|fun|fn|def)[ \t]"
    rf"(?:self\.|\([^()]*\)\s+|<[^<>]*>\s+|[A-Za-z_][\w.<>?]*\.(?=[a-z_]\w*\())?&?{_NAME}"
)
# C-like: a type, a name, parameters, and a body that opens on this line or the next.
_C_FUNCTION = re.compile(
    r"^[ \t]*(?!(?:return|else|new|throw|case|goto|delete|using|typedef|await|yield)\b)"
    r"(?:[A-Za-z_][\w:<>,.\[\]?]*[ \t*&]+){1,6}(?P<name>~?[A-Za-z_][\w:~]*)\s*"
    r"\([^;{}]{0,400}\)?[^;{}()]{0,80}(?:\{.*)?$"
)
_SHELL_FUNCTION = re.compile(
    r"^[ \t]*(?:function\s+(?P<a>[\w:.-]+)|(?P<b>[\w:.-]+)\s*\(\s*\))\s*(?:\(\s*\))?\s*[{(]?\s*$"
)
_SHELL_INLINE = re.compile(r"^[ \t]*(?:function\s+)?(?P<b>[A-Za-z_][\w:.-]*)\s*\(\s*\)\s*\{")
_SQL_RULE = re.compile(
    r"^\s*create\s+(?:or\s+replace\s+|temporary\s+|temp\s+|unlogged\s+|virtual\s+|unique\s+"
    r"|materialized\s+|recursive\s+)*"
    r"(?P<key>table|view|function|procedure|type|domain|index|trigger|schema|sequence"
    r"|policy)\s+(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?(?P<name>[\w.\"`\[\]]+)",
    re.IGNORECASE,
)
_NOT_NAMES = frozenset(
    "if for while switch catch return else do sizeof when foreach lock using function fun".split()
)
_IMPORT = re.compile(
    r"^\s*(?:import|using|use|require|require_relative|require_once|include|#\s*include|source"
    r"|@import|@use)\b\s*\(?"
    r"\s*[\"'<]?(?P<module>[\w./\\:@*-]+)"
)
_CALL = re.compile(r"(?<![\w$@#])((?:[A-Za-z_$][\w$]*(?:\.|::|->|\?\.))*[A-Za-z_$][\w$]*[?!]?)\(")
# What precedes a name that is declared, not called.
_DECLARES = re.compile(r"\b(?:func|fun|def|function|fn)\s+$")
_C_DECLARES = re.compile(
    r"(?<![\w])(?!(?:return|await|throw|new|else|case|in|do|yield|co_await)\b)[A-Za-z_]\w*[\s*&]+$"
)
_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'")
_DATA = frozenset("CSS TOML JSON".split())
_HEADINGS = {
    "Markdown": markdown_headings,
    "reStructuredText": rst_headings,
    "HTML": markup_headings,
    "Jinja": markup_headings,
    "YAML": yaml_headings,
}
_TEMPLATES = frozenset(("HTML", "Jinja"))
_C_LIKE = frozenset(("C", "C++", "C#", "Java"))


def plain_outline(language: Language, text: str) -> Outline:
    """An outline by line-based rules; only headings for documents, empty for data."""
    lines = _lines(text)
    if language.name in _HEADINGS:
        headings = sections(_HEADINGS[language.name](lines), len(lines))
        parts = template_parts(lines) if language.name in _TEMPLATES else []
        return Outline(
            tuple(sorted((*headings, *parts), key=lambda symbol: (symbol.start, -symbol.end)))
        )
    if language.name in _DATA:
        return Outline()
    code, comments = split_comments(language, lines)
    by_end = {comment.end: comment for comment in comments}
    ends = block_ends(language, code)
    symbols = []
    imports = []
    for number, line in enumerate(code, 1):
        if not line.strip():
            continue
        found = _IMPORT.match(line)
        if found:
            imports.append(Import(found["module"].rstrip(".*"), (), number))
            continue
        symbol = _definition(language, code, number, ends)
        if symbol is not None:
            above = by_end.get(number - 1)
            symbols.append(symbol._replace(doc=first_sentence(above.text)) if above else symbol)
    return Outline(tuple(_contained(symbols)), (), tuple(imports))


def plain_details(language: Language, text: str) -> Details:
    """Comments and calls by line-based rules."""
    if language.name in ("Markdown", "reStructuredText", "JSON"):
        return Details()
    found = plain_outline(language, text)
    names = _names_by_line(found)
    code, comments = split_comments(language, _lines(text))
    declares = _C_DECLARES if language.name in _C_LIKE else _DECLARES
    definitions = {(symbol.start, symbol.name) for symbol in found.symbols}
    calls = [
        _call(line, number, match, names.get(number, ""))
        for number, line in enumerate(code, 1)
        for match in _CALL.finditer(line)
        if match[1] not in _NOT_NAMES
        and (number, match[1]) not in definitions
        and not declares.search(line, 0, match.start())
    ]
    placed = tuple(comment._replace(within=names.get(comment.start, "")) for comment in comments)
    return Details(tuple(calls), placed)


def _call(line: str, number: int, match: re.Match[str], within: str) -> Call:
    end = _closing(line, match.end() - 1)
    text = " ".join(line[match.start() : end].split())[:120]
    strings = _STRING.findall(line[match.end() : end])
    literals = tuple(first or second for first, second in strings)
    return Call(match[1], text, number, number, literals, (), within, "")


def _lines(text: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":  # the text after the last newline is no line
        lines.pop()
    return lines


def _definition(
    language: Language, code: list[str], number: int, ends: Callable[[int], int]
) -> Symbol | None:
    line = code[number - 1]
    following = code[number] if number < len(code) else ""
    name, key = _name_and_key(language, line, following)
    if not name:
        return None
    signature = " ".join(line.split()).rstrip("{ ")[:160]
    return Symbol(name, _KINDS.get(key, "type"), number, ends(number), "", signature, "", ())


def _name_and_key(language: Language, line: str, following: str) -> tuple[str, str]:
    """The name that a line defines and the keyword of its kind; empty if it defines none."""
    if language.name == "Shell":
        return _shell_function(line)
    if language.name == "SQL":
        found = _SQL_RULE.match(line)
        return (found["name"].strip('"`[]'), found["key"].lower()) if found else ("", "")
    if found := _KEYWORD_RULE.match(line):
        return found["name"], found["key"]
    if language.name in _C_LIKE and ("{" in line or following.strip() == "{"):
        return _c_function(line)
    return "", ""


def _shell_function(line: str) -> tuple[str, str]:
    found = _SHELL_FUNCTION.match(line) or _SHELL_INLINE.match(line)
    return (found.groupdict().get("a") or found["b"], "function") if found else ("", "")


def _c_function(line: str) -> tuple[str, str]:
    found = _C_FUNCTION.match(line)
    is_name = found is not None and found["name"] not in _NOT_NAMES
    return (found["name"], "function") if found and is_name else ("", "")


def _contained(symbols: list[Symbol]) -> list[Symbol]:
    """The symbols with containers, derived from lines; a function in a class is a method."""
    placed: list[Symbol] = []
    open_: list[Symbol] = []
    for found in symbols:
        while open_ and open_[-1].end < found.start:
            open_.pop()
        in_type = bool(open_) and open_[-1].kind in ("class", "interface", "enum")
        owner, name = split_name(found.name)  # `void Cart::add() {` in C++
        is_method = (in_type or owner) and found.kind == "function"
        container = ".".join((*(outer.name for outer in open_[-6:]), *filter(None, (owner,))))
        kind: SymbolKind = "method" if is_method else found.kind
        symbol = found._replace(name=name, container=container, kind=kind)
        placed.append(symbol)
        open_.append(symbol)
    return placed


def _names_by_line(outline: Outline) -> dict[int, str]:
    """The innermost symbol of each line that is inside one."""
    names: dict[int, str] = {}
    open_: list[Symbol] = []
    starts = {symbol.start: symbol for symbol in outline.symbols}
    last = max((symbol.end for symbol in outline.symbols), default=0)
    for line in range(1, last + 1):
        while open_ and open_[-1].end < line:
            open_.pop()
        if line in starts:
            open_.append(starts[line])
        if open_:
            names[line] = open_[-1].name
    return names


def _closing(line: str, opening: int) -> int:
    """The offset after the bracket that closes the one at `opening`, within 400 characters; else
    that limit or the line's end.
    """
    depth = 0
    for at in range(opening, min(len(line), opening + 400)):
        depth += (line[at] == "(") - (line[at] == ")")
        if depth == 0:
            return at + 1
    return min(len(line), opening + 400)
