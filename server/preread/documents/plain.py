"""Markdown, reStructuredText and plain text. Nothing is unpacked or run."""

import re
from bisect import bisect_right
from importlib import import_module
from itertools import pairwise

from preread.documents.model import Document, Part, Table
from preread.gates.spans import decoded, lines_of
from preread.syntax.headings import markdown_headings, rst_headings

FIELD = re.compile(r"(?i)^:?(title|author|authors|date|doi|lang|language)\s*:\s*(.+)$")
RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")
KEYS = {"author": "authors", "lang": "language"}
MAX_RST = 300_000  # characters; for more, docutils takes too long
# Open no files, read no configuration of the machine, and report no errors in the markup.
DOCUTILS = {
    "file_insertion_enabled": False, "raw_enabled": False, "_disable_config": True,
    "report_level": 5, "halt_level": 6, "line_length_limit": MAX_RST,
}  # fmt: skip
MAX_HEAD = 60  # lines in which to look for metadata


def text(data: bytes) -> Document:
    """Plain text; form feeds end pages, as in RFCs."""
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
    starts = [(line, title) for line, _, title in headings]
    tables, warnings = _rst_tables(lines, starts)
    parts = _divided(lines, starts)
    return Document(parts, {**about, **_fields(lines)}, tables, warnings)


def _rst_tables(
    lines: list[str], starts: list[tuple[int, str]]
) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """Tables of all kinds, read by docutils, which is set to open no other file; and warnings."""
    try:
        nodes, core = import_module("docutils.nodes"), import_module("docutils.core")
    except ImportError:
        return (), ("its tables were not read: docutils is not installed",)
    if sum(map(len, lines)) > MAX_RST:
        return (), ("its tables were not read: it is too long",)
    try:
        tree = core.publish_doctree("\n".join(lines), settings_overrides=DOCUTILS)
    except Exception:  # docutils may raise anything for damaged markup
        return (), ("its tables were not read: docutils cannot parse it",)
    bounds = [start for start, _ in _bounds(lines, starts)]
    found = []
    for table in tree.findall(nodes.table):
        rows = (
            tuple(" ".join(cell.astext().split()) for cell in row.findall(nodes.entry))
            for row in table.findall(nodes.row)
        )
        found.append(Table(max(1, bisect_right(bounds, table.line or 1)), tuple(rows)))
    return tuple(found), ()


def _divided(lines: list[str], starts: list[tuple[int, str]]) -> tuple[Part, ...]:
    """Parts that start on these lines; any text before the first is a part of its own."""
    bounds = [*_bounds(lines, starts), (len(lines) + 1, "")]
    return tuple(
        Part(tuple(lines[start - 1 : end - 1]), title)
        for (start, title), (end, _) in pairwise(bounds)
    ) or (Part(()),)


def _bounds(lines: list[str], starts: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The first line and title of each part, as in `_divided`."""
    first = starts[0][0] if starts else len(lines) + 1
    return [*([(1, "")] if any(map(str.strip, lines[: first - 1])) else []), *starts]


def _fields(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines[:MAX_HEAD]:
        if match := FIELD.match(line.strip()):
            key = match[1].lower()
            found.setdefault(KEYS.get(key, key), match[2].strip(" \"'[]"))
    return found


def _tables(parts: tuple[Part, ...]) -> list[Table]:
    """Tables with pipes, as in most dialects of Markdown."""
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
