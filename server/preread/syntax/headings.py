"""Headings of Markdown and reStructuredText as symbols that hold their sections."""

import re

from preread.syntax.model import Symbol

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_ADORNMENT = re.compile(r"^([=\-`:.'\"~^_*+#])\1{2,}$")
_SETEXT = re.compile(r" {0,3}(=+|-{3,})[ \t]*")


def markdown_headings(lines: list[str]) -> list[tuple[int, int, str]]:
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
    return next((number for number, line in enumerate(lines[1:200], 2) if line.rstrip() in {"---", "..."}), 0)


def rst_headings(lines: list[str]) -> list[tuple[int, int, str]]:
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
