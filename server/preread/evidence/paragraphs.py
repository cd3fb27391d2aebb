"""Paragraphs: which lines of a document are prose, in Markdown and reStructuredText; code and markup are not."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from preread.evidence import phrases
from preread.evidence.pieces import FileView

ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
FIELD = re.compile(r"\s*:\w+ [^:`]+:\s")  # `:param str name: …`
QUOTED = re.compile(r"^\s*(?:>\s?)+")
FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(.*)")
SPOKEN = re.compile(
    r"\{?(?:eval_rst|note|warning|important|caution|attention|danger|admonition|tip)\b"
)  # fences of prose
BOX = re.compile(
    r"\s*(?:\.\. (?:warning|caution|danger|attention|important|note)::|!!! ?\w+|\?\?\?)"
)
MARKUP = re.compile(
    r"\s*(?:[#|<=]|\+[-=]|\{[%{]|\.\. |import |export |:[\w-]+:(?!\S)|:::|---|===|\[!)"
)
DIRECTIVE = re.compile(r"\.\. (?:([\w:-]+)::(.*)|.*)")
BODIES = re.compile(  # directives whose body is no prose of this place
    r"(?:code|source|parsed|literal|math|image|figure|toctree|(?:csv-|list-)?table$|test|doctest|production|raw|graph|high"
    r"|contents|index|auto|include|version|deprecated|seealso|tab)"
)
NAMES = re.compile(
    r"(?:\w+:)?(?:attribute|data|method|function|class|option|setting|confval|property|\w*method)$"
)
CELL = re.compile(r"(?<!\\)\|")
NAME = re.compile(r"`+([^`]+?)`+|(\w+(?:[._-]\w+)+)")
DEEP = 4  # columns that make code of a line


class Paragraph(NamedTuple):
    """A paragraph, a list item or the last cell of a table's row; `of` is the option or definition it is about."""

    lines: tuple[str, ...]
    start: int
    of: str = ""
    named: int = 0  # the line of that name


class _Line(NamedTuple):
    text: str
    of: str = ""
    named: int = 0
    alone: bool = False  # no part of a paragraph with others


def paragraphs(doc: FileView) -> Iterator[Paragraph]:
    """A document's paragraphs; the marks of list items and block quotes are left out."""
    at: list[str] = []
    first = _Line("")
    read = _structured if doc.path.endswith((".rst", ".txt")) else _markdown
    for number, line in enumerate((*read(doc.lines), None), 1):
        if at and (line is None or line.alone or ITEM.match(line.text) or FIELD.match(line.text)):
            yield Paragraph(tuple(at), number - len(at), first.of, first.named)
            at = []
        if line is not None:
            first = first if at else line
            at.append(line.text.strip() if at else ITEM.sub("", line.text).strip())
            if line.alone:
                yield Paragraph(tuple(at), number, line.of, line.named)
                at = []


def _markdown(lines: list[str]) -> Iterator[_Line | None]:
    """Each line's prose, or None."""
    head = (
        next((n for n, line in enumerate(lines[1:60], 2) if line == "---"), 0)
        if lines[:1] == ["---"]
        else 0
    )
    fence, spoken, code, inner = (
        "",
        False,
        False,
        0,
    )  # inner: the column where the text of a list item begins
    goes_on = False  # whether the line before was prose
    for number, raw in enumerate(lines, 1):
        line = QUOTED.sub("", raw).expandtabs(DEEP)
        opening = FENCE.match(line)
        if opening and not fence and "`" not in opening[2]:
            fence, spoken, goes_on = opening[1], SPOKEN.match(opening[2]) is not None, False
            yield None
            continue
        if fence and opening and not opening[2].strip() and opening[1].startswith(fence):
            fence, goes_on = "", False
            yield None
            continue
        indent, item = phrases.indent(line), ITEM.match(line)
        if number <= head or (fence and not spoken) or not line.strip():
            goes_on = False
            yield None
            continue
        if not goes_on:
            inner = inner if indent or item else 0
            code = indent >= inner + DEEP
        if code or BOX.match(line):
            inner = inner if code else indent + DEEP
            yield None
        elif line.lstrip().startswith("|"):
            yield _row(line, number)
        elif MARKUP.match(line):
            yield None
        else:
            inner = item.end() if item else inner
            goes_on = True
            yield _Line(line)
            continue
        goes_on = False


def _row(line: str, number: int) -> _Line | None:
    """The last cell of a table's row, about what the first one names."""
    cells = [cell.strip() for cell in CELL.split(line.strip().strip("|"))]
    name = NAME.search(cells[0])
    return (
        _Line(cells[-1], (name[1] or name[2]).strip(), number, alone=True)
        if name and len(cells) > 1
        else None
    )


def _structured(lines: list[str]) -> Iterator[_Line | None]:
    """Each line's prose, or None; with the definition in whose body it stands."""
    skipped: int | None = None  # what is deeper than this column is no prose
    over: list[tuple[int, str, int]] = []  # definitions that a line stands in: column, name, line
    for number, raw in enumerate(lines, 1):
        line = raw.expandtabs(8)
        indent = phrases.indent(line)
        if not line.strip():
            skipped = None if skipped == -1 else skipped
            yield None
            continue
        if skipped is not None and indent > skipped:
            yield None
            continue
        over = [one for one in over if one[0] < indent]
        skipped = None
        if directive := DIRECTIVE.match(line.lstrip()):
            name, about = directive[1] or "", (directive[2] or "").strip()
            if not name or BODIES.match(name):
                skipped = indent
            elif NAMES.match(name) and (words := about.partition("(")[0].split()):
                over.append((indent, words[-1], number))
        elif line.lstrip().startswith(">>>"):
            skipped = -1  # up to a blank line
        elif not MARKUP.match(line):
            skipped = indent if line.rstrip().endswith("::") else None
            yield _Line(line, *(over[-1][1:] if over else ()))
            continue
        yield None
