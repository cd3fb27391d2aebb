"""Markdown, reStructuredText and plain text. Nothing is unpacked or run, so no child is needed."""

import re
from itertools import pairwise

from preread.documents.model import Document, Part, Table
from preread.gates.spans import decoded, lines_of
from preread.syntax.headings import markdown_headings, rst_headings

FIELD = re.compile(r"(?i)^:?(title|author|authors|date|doi|lang|language)\s*:\s*(.+)$")
RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")
KEYS = {"author": "authors", "lang": "language"}
MAX_HEAD = 60  # lines that may say what the document is


def text(data: bytes) -> Document:
    """Form feeds end pages, as in RFCs."""
    content = decoded(data) or ""
    parts = tuple(Part(tuple(lines_of(page))) for page in content.split("\f"))
    return Document(parts, _fields(list(parts[0].lines)))


def markdown(data: bytes) -> Document:
    lines = lines_of(decoded(data) or "")
    headings = markdown_headings(lines)
    starts = [(line, title) for line, _, title in headings]
    document = _divided(lines, starts)
    about = _fields(lines) if lines[:1] == ["---"] else {}
    first = next((title for _, level, title in headings if level == 1), "")
    about = {**({"title": first} if first else {}), **about}
    return Document(document, about, tuple(_tables(document)))


def rst(data: bytes) -> Document:
    lines = lines_of(decoded(data) or "")
    headings = rst_headings(lines)
    about = {"title": headings[0][2]} if headings else {}
    document = _divided(lines, [(line, title) for line, _, title in headings])
    return Document(document, {**about, **_fields(lines)})


def _divided(lines: list[str], starts: list[tuple[int, str]]) -> tuple[Part, ...]:
    """Parts that begin on these lines; what is before the first is a part if it has text."""
    bounds = [(1, ""), *starts, (len(lines) + 1, "")]
    found = [
        Part(tuple(lines[start - 1 : end - 1]), title)
        for (start, title), (end, _) in pairwise(bounds)
    ]
    return tuple(part for part in found if part.title or any(map(str.strip, part.lines))) or (
        Part(()),
    )


def _fields(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines[:MAX_HEAD]:
        if match := FIELD.match(line.strip()):
            key = match[1].lower()
            found.setdefault(KEYS.get(key, key), match[2].strip(" \"'[]"))
    return found


def _tables(parts: tuple[Part, ...]) -> list[Table]:
    """Tables with pipes, as most dialects of Markdown have them."""
    found = []
    for number, part in enumerate(parts, 1):
        for place, line in enumerate(part.lines[1:], 1):
            if "|" in line and RULE.match(line):
                rows = [part.lines[place - 1]]
                for row in part.lines[place + 1 :]:
                    if "|" not in row:
                        break
                    rows.append(row)
                found.append(Table(number, tuple(map(_cells, rows))))
    return found


def _cells(row: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in row.strip().strip("|").split("|"))
