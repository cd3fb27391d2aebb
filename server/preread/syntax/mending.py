"""Where a grammar loses its way, what the plain rules find: one misread token can cost a whole class."""

import re
from typing import TYPE_CHECKING

from preread.languages import language_of
from preread.syntax.grammars import Source, first_line, last_line
from preread.syntax.model import Outline, Symbol, TestCase
from preread.syntax.plain import plain_outline
from preread.syntax.table import TYPES, Table

if TYPE_CHECKING:
    from tree_sitter import Node

_LEAST_LINES = 3  # of an error that may hide a definition
_MOST_NODES = 20_000  # looked at for errors
_MARKS_ABOVE = 4  # lines


def mended(source: Source, table: Table, found: Outline, misread: list["Node"]) -> Outline:
    """The outline of a file that a grammar cannot read whole, with what plain rules find in the rest of it."""
    text = source.data.decode("utf-8", "ignore")
    lines = text.split("\n")
    broken = _broken_lines(source.root, table, len(lines))
    for node in misread:
        broken.update(range(first_line(node), last_line(node) + 1))
    language = language_of(source.path)
    if not broken or language is None:
        return found
    entries: list[Symbol | TestCase] = sorted(
        (*found.symbols, *found.tests), key=lambda entry: (entry.start, -entry.end)
    )
    outer = _outer_functions(entries)
    starts = {entry.start for entry in entries}
    added: list[Symbol | TestCase] = []
    for symbol in plain_outline(language, text).symbols:
        if symbol.start not in broken or symbol.start in starts or not symbol.name.isprintable():
            continue
        within = outer.get(symbol.start)
        if within is not None and _indent(lines, symbol.start) > _indent(lines, within.start):
            continue
        before = added[-1] if added else None
        if before is not None and symbol.start <= before.end and _is_function(before):
            if _indent(lines, symbol.start) > _indent(lines, before.start):
                continue
            added[-1] = before._replace(end=symbol.start - 1)
        added.append(_test_of(symbol, lines, table) or symbol)
    known = [entry for entry in entries if _is_function(entry)]
    return (
        _joined(entries, [_cut(entry, known, lines) for entry in added], found) if added else found
    )


def _cut(
    entry: Symbol | TestCase, known: list[Symbol | TestCase], lines: list[str]
) -> Symbol | TestCase:
    """A function that ends where the next one begins: its braces may not be balanced."""
    if not _is_function(entry):
        return entry
    indent = _indent(lines, entry.start)
    within = (other.start for other in known if entry.start < other.start <= entry.end)
    following = next((start for start in within if _indent(lines, start) <= indent), None)
    return entry._replace(end=following - 1) if following is not None else entry


def _broken_lines(root: "Node", table: Table, last: int) -> set[int]:
    """The lines of errors, of what is not in the tree, and of functions that hold an error: they swallow the next."""
    lines = (
        set(range(last_line(root.children[-1]) + 1, last + 1))
        if root.children and root.has_error
        else set()
    )
    stack = [root]
    for _ in range(_MOST_NODES):
        if not stack:
            break
        node = stack.pop()
        swallows = table.kinds.get(node.type) in ("function", "method")
        if node.type == "ERROR" or swallows:
            if last_line(node) - first_line(node) >= _LEAST_LINES:
                lines.update(range(first_line(node), last_line(node) + 1))
        else:
            stack.extend(child for child in node.children if child.has_error)
    return lines


def _outer_functions(entries: list[Symbol | TestCase]) -> dict[int, Symbol | TestCase]:
    """For each line in a function or test, the outermost one."""
    outer: dict[int, Symbol | TestCase] = {}
    last = 0
    for entry in entries:
        if entry.start > last and _is_function(entry):
            outer.update(dict.fromkeys(range(entry.start, entry.end + 1), entry))
            last = entry.end
    return outer


def _is_function(entry: Symbol | TestCase) -> bool:
    return isinstance(entry, TestCase) or entry.kind in ("function", "method")


def _indent(lines: list[str], number: int) -> int:
    line = lines[number - 1] if number <= len(lines) else ""
    return len(line) - len(line.lstrip())


def _test_of(symbol: Symbol, lines: list[str], table: Table) -> TestCase | None:
    """The symbol as a test, when an annotation above it says so."""
    if symbol.kind not in ("function", "method"):
        return None
    marks = []
    for number in range(symbol.start - 1, max(0, symbol.start - 1 - _MARKS_ABOVE), -1):
        line = lines[number - 1].strip()
        if not re.match(r"@\w|\[\w|#\[", line):
            break
        marks.append(line)
    if not any(table.tests.marks.search(mark) for mark in marks):
        return None
    others = tuple(mark[:160] for mark in reversed(marks) if not table.tests.marks.search(mark))
    return TestCase(symbol.name, symbol.start, symbol.end, symbol.container, (), others)


def _joined(
    entries: list[Symbol | TestCase], added: list[Symbol | TestCase], found: Outline
) -> Outline:
    """All of them in order: what an added definition ends does end, and what an added type holds is in it."""
    starts = sorted(entry.start for entry in added)
    types = [entry for entry in added if isinstance(entry, Symbol) and entry.kind in TYPES]
    symbols: list[Symbol] = []
    tests: list[TestCase] = []
    for entry in entries:
        placed = entry
        cut = next((start for start in starts if entry.start < start <= entry.end), None)
        if cut is not None and _is_function(entry):
            placed = placed._replace(end=cut - 1)
        home = next(
            (outer for outer in reversed(types) if outer.start < entry.start <= outer.end), None
        )
        if isinstance(placed, TestCase):
            tests.append(
                placed._replace(group=home.name)
                if home is not None and not placed.group
                else placed
            )
        elif home is not None and not placed.container:
            kind = "method" if placed.kind == "function" else placed.kind
            symbols.append(placed._replace(container=home.name, kind=kind))
        else:
            symbols.append(placed)
    symbols += [entry for entry in added if isinstance(entry, Symbol)]
    tests += [entry for entry in added if isinstance(entry, TestCase)]
    return Outline(
        tuple(sorted(symbols, key=lambda symbol: (symbol.start, -symbol.end))),
        tuple(sorted(tests, key=lambda test: (test.start, -test.end))),
        found.imports,
    )
