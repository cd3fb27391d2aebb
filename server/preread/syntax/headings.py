"""Headings of documents, markup, templates and YAML as symbols that hold their sections."""

import re

from preread.syntax.model import Symbol, SymbolKind

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_ADORNMENT = re.compile(r"^([=\-`:.'\"~^_*+#])\1{2,}$")
_MARKUP_HEADING = re.compile(r"<h([1-6])\b[^>]*>(.{1,400}?)</h\1\s*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_TEMPLATE = re.compile(r"\{%-?\s*(end)?(block|macro)\b\s*(\w*)([^%]{0,160})")
_KEY = re.compile(
    r"""( *)(?:"([^"]+)"|'([^']+)'|([\w$./@-][^:#"'{}\[\]]*?))\s*:\s*"""
    r"""(?:[&!][\w!/.-]+\s*)?(?:#.*)?$"""
)
_SCALAR = re.compile(r":\s*(?:[&!]\S+\s+)?[|>][+\-\d]{0,2}\s*(?:#.*)?$")
_MAX_KEYS = 1000
_SETEXT = re.compile(r" {0,3}(=+|-{3,})[ \t]*")


def markdown_headings(lines: list[str]) -> list[tuple[int, int, str]]:  # noqa: C901 - one kind of line each
    """(line, level, title) of each ATX or Setext heading outside fences."""
    found = []
    fence = ""
    first = _after_front_matter(lines)
    for number, line in enumerate(lines[first:], first + 1):
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
        elif number > first + 1 and _SETEXT.fullmatch(line):
            title = lines[number - 2].strip()
            if title and not title.startswith(("#", "-", "*", ">", "|", "=", "```")):
                found.append((number - 1, 1 if "=" in line else 2, title))
    return found


def _after_front_matter(lines: list[str]) -> int:
    """How many lines a YAML front matter takes; its closing rule is no Setext heading."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next(
        (number for number, line in enumerate(lines[1:200], 2) if line.rstrip() in {"---", "..."}),
        0,
    )


def rst_headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """(line, level, title) of each heading; a level is the order in which its adornment first
    appears.
    """
    found = []
    styles: list[str] = []
    for number in range(2, len(lines) + 1):
        adornment = _ADORNMENT.match(lines[number - 1].rstrip())
        title = lines[number - 2].strip()
        if (
            not adornment
            or not title
            or _ADORNMENT.match(title)
            or len(lines[number - 1].rstrip()) < len(title)
        ):
            continue
        above = lines[number - 3].rstrip() if number > 2 else ""
        style = adornment[1] * (2 if _ADORNMENT.match(above) else 1)
        if style not in styles:
            styles.append(style)
        found.append((number - 1, styles.index(style) + 1, title))
    return found


def markup_headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """(line, level, title) of each heading element that stands on one line."""
    found = []
    for number, line in enumerate(lines, 1):
        for heading in _MARKUP_HEADING.finditer(line) if "<h" in line or "<H" in line else ():
            title = " ".join(_TAG.sub(" ", heading[2]).split())
            if title:
                found.append((number, int(heading[1]), title[:160]))
    return found


def template_parts(lines: list[str]) -> list[Symbol]:
    """The named blocks of a template as headings, its macros as functions."""
    found: list[Symbol] = []
    open_: list[Symbol] = []
    for number, line in enumerate(lines, 1):
        for end, what, name, rest in _TEMPLATE.findall(line) if "{%" in line else ():
            if end:
                if open_:
                    found.append(open_.pop()._replace(end=number))
            elif name:
                signature = f"{what} {name}{rest}".rstrip(" -")
                kind: SymbolKind = "function" if what == "macro" else "heading"
                container = ".".join(outer.name for outer in open_[-6:])
                open_.append(Symbol(name, kind, number, number, container, signature[:160], "", ()))
    return sorted((*found, *open_), key=lambda symbol: (symbol.start, -symbol.end))


def yaml_headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """(line, level, key) of the keys that hold more than a value, on the two outer levels."""
    found: list[tuple[int, int, str]] = []
    inner = 0  # indentation of the second level, once it is known
    scalar = -1  # indentation of the key whose text runs on
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if not stripped or stripped[0] == "#":
            continue
        indent = len(line) - len(line.lstrip())
        if scalar >= 0 and indent > scalar:
            continue
        scalar = indent if _SCALAR.search(line) else -1
        key = _KEY.fullmatch(line.rstrip())
        if indent == 0:
            inner = 0
        elif not inner:
            inner = indent
        if key and indent in (0, inner) and len(found) < _MAX_KEYS:
            found.append((number, 1 if indent == 0 else 2, (key[2] or key[3] or key[4]).strip()))
    return found


def sections(headings: list[tuple[int, int, str]], last: int) -> list[Symbol]:
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
