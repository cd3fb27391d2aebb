"""Plain rules, line by line, for languages without a grammar: definitions, headings, comments, calls."""

import re
from dataclasses import replace

from preread.languages import Language
from preread.syntax.model import Call, Comment, Details, Import, Outline, Symbol, SymbolKind
from preread.syntax.text import comment_text, first_sentence

_MODIFIERS = (
    r"(?:(?:pub(?:\([a-z]+\))?|public|private|protected|internal|open|override|final|abstract|static|sealed|data|inline"
    r"|suspend|async|virtual|partial|extern|unsafe|default|readonly|export|fileprivate|mutating|const|constexpr"
    r"|explicit|annotation|value|inner|companion|operator|infix|tailrec|lateinit|declare|synchronized)\s+)*"
)
_KINDS: dict[str, SymbolKind] = {
    "class": "class", "struct": "class", "record": "class", "actor": "class", "object": "class", "module": "class",
    "namespace": "class", "extension": "class", "impl": "class", "interface": "interface", "protocol": "interface",
    "trait": "interface", "enum": "enum", "enum class": "enum", "union": "type", "type": "type", "typealias": "type",
    "fun": "function", "func": "function", "function": "function", "def": "function", "fn": "function",
    "init": "function", "const": "constant", "val": "constant", "table": "type", "view": "type", "procedure": "function",
}  # fmt: skip
_NAME = r"(?P<name>[A-Za-z_][\w$]*[?!]?)"
_KEYWORD_RULE = re.compile(
    rf"^[ \t]*{_MODIFIERS}(?P<key>enum class|class|struct|record|actor|object|module|namespace|extension|impl|interface"
    rf"|protocol|trait|enum|union|typealias|type|function|func|fun|fn|def)\s+"
    rf"(?:self\.|\([^()]*\)\s+|<[^<>]*>\s+|[A-Za-z_][\w.<>?]*\.(?=[a-z_]\w*\())?&?{_NAME}"
)
# C and its relatives: a type, a name, parameters, and a body that opens on this line or the next.
_C_FUNCTION = re.compile(
    r"^(?P<indent>[ \t]*)(?!(?:return|else|new|throw|case|goto|delete|using|typedef|await|yield)\b)"
    r"(?:[A-Za-z_][\w:<>,.\[\]?]*[ \t*&]+){1,6}(?P<name>~?[A-Za-z_][\w:~]*)\s*\([^;{}]{0,400}\)?[^;{}()]{0,80}(?:\{.*)?$"
)
_SHELL_FUNCTION = re.compile(rf"^[ \t]*(?:function\s+(?P<key>)(?P<a>[\w:.-]+)|(?P<b>[\w:.-]+)\s*\(\s*\))\s*(?:\(\s*\))?\s*[{{(]?\s*$")
_SHELL_INLINE = re.compile(r"^[ \t]*(?:function\s+)?(?P<b>[A-Za-z_][\w:.-]*)\s*\(\s*\)\s*\{")
_SQL_RULE = re.compile(
    r"^\s*create\s+(?:or\s+replace\s+|temporary\s+|temp\s+|unique\s+|materialized\s+)*(?P<key>table|view|function|procedure"
    r"|type|index|trigger)\s+(?:if\s+not\s+exists\s+)?(?P<name>[\w.\"`\[\]]+)",
    re.IGNORECASE,
)
_NOT_NAMES = frozenset("if for while switch catch return else do sizeof when foreach lock using function fun".split())
_IMPORT = re.compile(
    r"^\s*(?:import|using|use|require|require_relative|require_once|include|#\s*include|source|@import|@use)\b\s*\(?"
    r"\s*[\"'<]?(?P<module>[\w./\\:@*-]+)"
)
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_ADORNMENT = re.compile(r"^([=\-`:.'\"~^_*+#])\1{2,}$")
_CALL = re.compile(r"(?<![\w$@#])((?:[A-Za-z_$][\w$]*(?:\.|::|->|\?\.))*[A-Za-z_$][\w$]*[?!]?)\(")
_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'")
_DATA = frozenset("HTML Jinja CSS YAML TOML JSON".split())
_C_LIKE = frozenset(("C", "C++", "C#", "Java"))


def plain_outline(language: Language, text: str) -> Outline:
    """An outline by plain rules; nothing but headings for documents and nothing at all for data."""
    lines = _lines(text)
    if language.name == "Markdown":
        return Outline(tuple(_sections(_markdown_headings(lines), len(lines))))
    if language.name == "reStructuredText":
        return Outline(tuple(_sections(_rst_headings(lines), len(lines))))
    if language.name in _DATA:
        return Outline()
    code, comments = _split_comments(language, lines)
    by_end = {comment.end: comment for comment in comments}
    symbols = []
    imports = []
    for number, line in enumerate(code, 1):
        if not line.strip():
            continue
        found = _IMPORT.match(line)
        if found:
            imports.append(Import(found["module"].rstrip(".*"), (), number))
            continue
        symbol = _definition(language, code, number)
        if symbol is not None:
            above = by_end.get(number - 1)
            symbols.append(replace(symbol, doc=first_sentence(above.text)) if above else symbol)
    return Outline(tuple(_contained(symbols)), (), tuple(imports))


def plain_details(language: Language, text: str) -> Details:
    """Comments and calls by plain rules."""
    if language.name in ("Markdown", "reStructuredText", "JSON"):
        return Details()
    found = plain_outline(language, text)
    names = _names_by_line(found)
    code, comments = _split_comments(language, _lines(text))
    calls = []
    definitions = {(symbol.start, symbol.name) for symbol in found.symbols}
    for number, line in enumerate(code, 1):
        for match in _CALL.finditer(line):
            callee = match[1]
            if callee in _NOT_NAMES or (number, callee) in definitions:
                continue
            end = _closing(line, match.end() - 1)
            whole = line[match.start() : end]
            literals = tuple(first or second for first, second in _STRING.findall(line[match.end() : end]))
            within = names.get(number, "")
            calls.append(Call(callee, " ".join(whole.split())[:120], number, number, literals, (), within, ""))
    placed = tuple(replace(comment, within=names.get(comment.start, "")) for comment in comments)
    return Details(tuple(calls), placed)


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.split("\n")]


def _definition(language: Language, code: list[str], number: int) -> Symbol | None:
    line = code[number - 1]
    name, key = "", ""
    if language.name == "Shell":
        found = _SHELL_FUNCTION.match(line) or _SHELL_INLINE.match(line)
        if found:
            name, key = found.groupdict().get("a") or found["b"], "function"
    elif language.name == "SQL":
        found = _SQL_RULE.match(line)
        if found:
            name, key = found["name"].strip('"`[]'), found["key"].lower()
    else:
        found = _KEYWORD_RULE.match(line)
        if found:
            name, key = found["name"], found["key"]
        elif language.name in _C_LIKE:
            found = _C_FUNCTION.match(line)
            opens = line.rstrip().endswith("{") or "{" in line or (number < len(code) and code[number].strip() == "{")
            if found and opens and found["name"] not in _NOT_NAMES:
                name, key = found["name"], "function"
    if not name:
        return None
    end = _block_end(language, code, number)
    signature = " ".join(line.split()).rstrip("{ ")[:160]
    return Symbol(name, _KINDS.get(key, "type"), number, end, "", signature, "", ())


def _block_end(language: Language, code: list[str], number: int) -> int:
    """The last line of the block that opens at this line, by braces or by Ruby's indented `end`."""
    first = code[number - 1]
    indent = len(first) - len(first.lstrip())
    bound = min(len(code), number + 4000)
    if language.name == "Ruby":
        for at in range(number, bound):
            line = code[at]
            if line.strip() == "end" and len(line) - len(line.lstrip()) <= indent:
                return at + 1
        return number
    depth = 0
    opened = False
    for at in range(number - 1, bound):
        line = code[at]
        depth += line.count("{") - line.count("}")
        opened = opened or "{" in line
        if opened and depth <= 0:
            return at + 1
        if not opened and (line.rstrip().endswith(";") or at > number + 8):
            return number if at > number + 8 else at + 1
    return bound if opened else number


def _contained(symbols: list[Symbol]) -> list[Symbol]:
    """The symbols with their containers, told from their lines; a function in a class is a method."""
    placed: list[Symbol] = []
    open_: list[Symbol] = []
    for symbol in symbols:
        while open_ and open_[-1].end < symbol.start:
            open_.pop()
        if open_:
            container = ".".join(outer.name for outer in open_[-6:])
            kind = symbol.kind
            if kind == "function" and open_[-1].kind in ("class", "interface", "enum"):
                kind = "method"
            symbol = replace(symbol, container=container, kind=kind)
        placed.append(symbol)
        open_.append(symbol)
    return placed


def _names_by_line(outline: Outline) -> dict[int, str]:
    """The innermost symbol of each line that stands in one."""
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


def _split_comments(language: Language, lines: list[str]) -> tuple[list[str], list[Comment]]:
    """The lines with comments blanked out, and the comments; strings are told apart within a line only."""
    code: list[str] = []
    comments: list[Comment] = []
    run: list[tuple[int, str]] = []
    block: list[str] | None = None
    block_start = 0
    opener, closer = language.block_comment or ("", "")
    at_line_start = opener == "=begin"

    def flush() -> None:
        if run:
            text = "\n".join(comment_text(part) for _, part in run)
            comments.append(Comment(text, run[0][0], run[-1][0], ""))
            run.clear()

    for number, line in enumerate(lines, 1):
        rest = line
        kept = ""
        while True:
            if block is not None:
                end = rest.find(closer)
                if end < 0:
                    block.append(rest)
                    break
                block.append(rest[: end + len(closer)])
                comments.append(Comment(comment_text("\n".join(block)), block_start, number, ""))
                rest, block = rest[end + len(closer) :], None
            position, marker = _comment_start(rest, language.line_comment, "" if at_line_start else opener)
            if at_line_start and rest.startswith(opener) and not kept:
                position, marker = 0, opener
            if position < 0:
                kept += rest
                break
            kept += rest[:position]
            if marker == opener and marker:
                flush()
                block, block_start, rest = [marker], number, rest[position + len(marker) :]
                continue
            if kept.strip() or (run and run[-1][0] != number - 1):
                flush()
            run.append((number, rest[position:]))
            if kept.strip():
                flush()
            break
        if run and run[-1][0] != number:
            flush()
        code.append(kept)
    flush()
    if block is not None:
        comments.append(Comment(comment_text("\n".join(block)), block_start, len(lines), ""))
    return code, comments


def _comment_start(line: str, line_comment: str, opener: str) -> tuple[int, str]:
    """Where a comment starts outside of strings, and its marker; (-1, "") for none."""
    markers = [marker for marker in (line_comment, opener) if marker and marker in line]
    if not markers:
        return -1, ""
    quote = ""
    at = 0
    while at < len(line):
        char = line[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "\"'`":
            quote = char if char in line[at + 1 :] else ""  # an apostrophe opens nothing
        else:
            for marker in markers:
                if line.startswith(marker, at) and not (marker == "#" and at and not line[at - 1].isspace()):
                    if not (marker == "//" and at and line[at - 1] == ":"):
                        return at, marker
        at += 1
    return -1, ""


def _closing(line: str, opening: int) -> int:
    """The offset after the bracket that closes the one at `opening`, or the line's end; looks 400 characters far."""
    depth = 0
    for at in range(opening, min(len(line), opening + 400)):
        depth += (line[at] == "(") - (line[at] == ")")
        if depth == 0:
            return at + 1
    return min(len(line), opening + 400)


def _markdown_headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """(line, level, title) of each ATX or Setext heading outside fences."""
    found = []
    fence = ""
    for number, line in enumerate(lines, 1):
        opening = _FENCE.match(line)
        if opening:
            mark = opening[1]
            if not fence:
                fence = mark
            elif mark[0] == fence[0] and len(mark) >= len(fence):
                fence = ""
            continue
        if fence:
            continue
        heading = _HEADING.match(line)
        if heading:
            found.append((number, len(heading[1]), heading[2]))
        elif number > 1 and re.fullmatch(r" {0,3}(=+|-{3,})[ \t]*", line):
            title = lines[number - 2].strip()
            if title and not title.startswith(("#", "-", "*", ">", "|", "=", "```")):
                found.append((number - 1, 1 if "=" in line else 2, title))
    return found


def _rst_headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """(line, level, title) of each heading; a level is the order in which its adornment first appears."""
    found = []
    styles: list[str] = []
    for number in range(2, len(lines) + 1):
        adornment = _ADORNMENT.match(lines[number - 1].rstrip())
        title = lines[number - 2].strip()
        if not adornment or not title or _ADORNMENT.match(title) or len(lines[number - 1].rstrip()) < len(title):
            continue
        above = lines[number - 3].rstrip() if number > 2 else ""
        style = adornment[1] * (2 if _ADORNMENT.match(above) else 1)
        if style not in styles:
            styles.append(style)
        found.append((number - 1, styles.index(style) + 1, title))
    return found


def _sections(headings: list[tuple[int, int, str]], last: int) -> list[Symbol]:
    """Headings as symbols that reach to the next heading of their level or above."""
    ends = [last] * len(headings)
    open_: list[int] = []
    containers: list[str] = []
    for index, (line, level, _) in enumerate(headings):
        while open_ and headings[open_[-1]][1] >= level:
            ends[open_.pop()] = line - 1
        containers.append(".".join(headings[outer][2] for outer in open_))
        open_.append(index)
    return [
        Symbol(title, "heading", line, ends[index], containers[index], title[:160], "", ())
        for index, (line, _, title) in enumerate(headings)
    ]
