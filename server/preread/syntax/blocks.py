"""Find where code blocks end in one pass: by braces, Ruby's `end` or Python's indentation."""

import re
from collections.abc import Callable

from preread.languages import Language

_BRACE = re.compile(r"[{}]")
_HEADER_LINES = 8  # lines that parameters may take before the block opens


def block_ends(language: Language, code: list[str]) -> Callable[[int], int]:
    """A function from a definition's line to the last line of its block. `code` must have no
    comments.
    """
    if language.name in ("Ruby", "Python"):
        ends = _by_indentation(code, closed_by_end=language.name == "Ruby")
        return lambda number: ends.get(number, number)
    closes = _by_braces(code)

    def end(number: int) -> int:
        for at in range(number, min(number + _HEADER_LINES, len(code) + 1)):
            if at in closes:
                return closes[at]
            if code[at - 1].rstrip().endswith(";"):
                return at
        return number

    return end


def _by_braces(code: list[str]) -> dict[int, int]:
    """For each line that opens a brace, the line that closes the first one it opens."""
    closes: dict[int, int] = {}
    open_: list[int] = []  # line of each open brace
    for number, line in enumerate(code, 1):
        for brace in _BRACE.finditer(line):
            if brace[0] == "{":
                open_.append(number)
            elif open_:
                opened = open_.pop()
                if not open_ or open_[-1] != opened:
                    # The first block of a line counts, unless it was empty: `f(a = {}) {`
                    closes[opened] = number
    for number in open_:
        closes[number] = len(code)
    return closes


def _by_indentation(code: list[str], closed_by_end: bool) -> dict[int, int]:
    """For each line, the last following line indented deeper, or the `end` at its own depth."""
    ends: dict[int, int] = {}
    open_: list[tuple[int, int]] = []  # (indentation, line)
    last = 0
    for number, line in enumerate(code, 1):
        stripped = line.strip()
        if not stripped:
            continue
        indent = len(line) - len(line.lstrip())
        while open_ and open_[-1][0] >= indent:
            depth, opened = open_.pop()
            closes_here = closed_by_end and depth == indent and stripped.startswith("end")
            ends[opened] = number if closes_here else last
        open_.append((indent, number))
        last = number
    ends.update((opened, last) for _, opened in open_)
    return ends
