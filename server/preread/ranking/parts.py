"""Split a file into parts: one definition each, or a piece of a long one, or what is between."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from preread.syntax import Outline

PART = 40  # longer definitions are split into pieces of about this many lines
FUNCTIONS = frozenset({"function", "method", "component", "test"})
PROSE = frozenset({"test", "heading"})  # their names are sentences: no container in front
LOCAL_KINDS = frozenset({"constant", "type"})  # inside a function they are not split off
LEADING_LINES = ("@", "#", "//", "/*", "*", "--")  # of lines that belong to the definition below


class Definition(NamedTuple):
    name: str
    kind: str
    start: int
    end: int
    container: str

    @property
    def full_name(self) -> str:
        return (
            f"{self.container}.{self.name}"
            if self.container and self.kind not in PROSE
            else self.name
        )


@dataclass(eq=False)
class Part:
    """A run of lines of one definition, or outside all, with its score for a request."""

    start: int
    end: int
    of: Definition | None
    text: str
    score: float = 0.0

    @property
    def length(self) -> int:
        return self.end - self.start + 1


def split(lines: Sequence[str], outline: Outline) -> list[Part]:
    """Split a file by innermost definition, and long runs into pieces, without blank lines at the
    ends.
    """
    parts: list[Part] = []
    start = 1
    for of, run in groupby(_owners(lines, outline)[1 : len(lines) + 1]):
        after = start + len(list(run))
        parts += _pieces(lines, start, after - 1, of)
        start = after
    return parts


def _owners(lines: Sequence[str], outline: Outline) -> list[Definition | None]:
    """The innermost definition of each line; the index is the line number."""
    owners: list[Definition | None] = [None] * (len(lines) + 2)
    for one in sorted(_definitions(outline), key=lambda one: (one.start, -one.end)):
        outer = owners[one.start] if one.start <= len(lines) else None
        if outer is not None and _is_part_of(outer, one):
            continue
        start = one.start
        while owners[start - 1] is outer and _leads(lines, start - 1):
            start -= 1
        end = min(one.end, len(lines))
        owners[start : end + 1] = [one] * (end + 1 - start)
    return owners


def _definitions(outline: Outline) -> Iterator[Definition]:
    """What a file is split by; a document has only headings."""
    symbols = [symbol for symbol in outline.symbols if symbol.kind != "heading"]
    for symbol in symbols or outline.symbols:
        yield Definition(symbol.name, symbol.kind, symbol.start, symbol.end, symbol.container)
    for test in outline.tests:
        yield Definition(test.name, "test", test.start, test.end, test.group)


def _is_part_of(outer: Definition, one: Definition) -> bool:
    """Whether a definition is not split off the function around it."""
    is_inside = outer.kind in FUNCTIONS and one.start > outer.start
    return is_inside and (outer.end - outer.start < PART or one.kind in LOCAL_KINDS)


def _leads(lines: Sequence[str], number: int) -> bool:
    """Whether a line belongs to the definition below it."""
    return number > 0 and lines[number - 1].lstrip().startswith(LEADING_LINES)


def _pieces(lines: Sequence[str], start: int, end: int, of: Definition | None) -> Iterator[Part]:
    while start <= end and not lines[start - 1].strip():
        start += 1
    while end >= start and not lines[end - 1].strip():
        end -= 1
    count = math.ceil((end - start + 1) / PART) if end - start >= 1.5 * PART else 1
    size = (end - start + 1) / count
    for number in range(1, count):
        cut = _cut(lines, round(end + 1 - (count - number) * size))
        yield from _pieces(lines, start, cut - 1, of)
        start = cut
    if start <= end:
        yield Part(start, end, of, "\n".join(lines[start - 1 : end]))


def _cut(lines: Sequence[str], near: int) -> int:
    """The best line to start a piece: after a blank line, else the least indented one."""

    def cost(number: int) -> tuple[bool, int, int]:
        line = lines[number - 1]
        return bool(lines[number - 2].strip()), len(line) - len(line.lstrip()), abs(number - near)

    return min(range(near - PART // 5, near + PART // 5 + 1), key=cost)
