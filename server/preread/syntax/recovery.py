"""Fill parse errors with the line-based outline: one misread token can lose a whole class."""

from functools import cache
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING

from preread.languages import Language
from preread.syntax.grammars import Source, first_line, grammar_of, last_line
from preread.syntax.model import Outline, Symbol, TestCase
from preread.syntax.plain import plain_outline

if TYPE_CHECKING:
    from tree_sitter import Node, Query

_MIN_LINES = 3  # of a parse error that may hide a definition
_MAX_DEFINITIONS = 2_000  # definitions of a file: they are compared pairwise
_TYPES = frozenset(("class", "interface", "enum"))
_FUNCTIONS = frozenset(("function", "method"))


def recovered(source: Source, language: Language, found: Outline, misread: list["Node"]) -> Outline:
    """The outline of a file with parse errors, completed by the line-based rules there."""
    lines = source.data.decode("utf-8", "ignore").split("\n")
    found = _completed(source, language, found, misread, lines)
    return found._replace(symbols=_with_ends(found.symbols, lines))


def _completed(
    source: Source, language: Language, found: Outline, misread: list["Node"], lines: list[str]
) -> Outline:
    broken = _broken_lines(source, language, found, len(lines))
    for node in misread:
        broken.update(range(first_line(node), last_line(node) + 1))
    every: list[Symbol | TestCase] = [*found.symbols, *found.tests]
    known = every[:_MAX_DEFINITIONS]
    added = _missed(language, known, broken, lines)
    if not broken or len(known) + len(added) > _MAX_DEFINITIONS:
        return found
    types = [symbol for symbol in added if symbol.kind in _TYPES]
    read = [one for one in found.symbols if not any(_includes(one, other) for other in added)]
    symbols = [*read, *added]
    placed = [_place(symbol, types, symbols, lines) for symbol in symbols]
    placed.sort(key=lambda symbol: (symbol.start, -symbol.end))
    tests = [_with_group(test, types) for test in found.tests]
    return Outline(tuple(placed), tuple(tests), found.imports)


def _missed(
    language: Language, known: list[Symbol | TestCase], broken: set[int], lines: list[str]
) -> list[Symbol]:
    """The definitions that the line-based rules find in broken lines, but the grammar did not."""
    missed = broken - {entry.start for entry in known}
    plain = plain_outline(language, "\n".join(lines)).symbols if broken else ()
    return [
        symbol
        for symbol in plain
        if symbol.start in missed and symbol.name.isprintable()
        if not any(_contains(entry, symbol, lines) for entry in known)
    ]


def _with_ends(symbols: tuple[Symbol, ...], lines: list[str]) -> tuple[Symbol, ...]:
    """Types end before a definition that is indented no deeper: an error hid their end.

    Not namespaces, whose contents often are not indented.
    """
    found = list(symbols)
    for index, one in enumerate(symbols):
        if one.kind not in _TYPES or "namespace" in lines[one.start - 1]:
            continue
        beyond = _beyond(symbols, index, lines)
        for at in beyond:
            found[at] = _moved_out(found[at], one)
        if beyond:
            last = _closing_line(lines, one, symbols[beyond[0]].start - 1)
            found[index] = found[index]._replace(end=last)
    return tuple(found)


def _beyond(symbols: tuple[Symbol, ...], index: int, lines: list[str]) -> list[int]:
    """The numbers of the symbols from the first one on that cannot be in the type around them."""
    one, indent = symbols[index], _indent(lines, symbols[index].start)
    inside = takewhile(lambda at: symbols[at].start <= one.end, range(index + 1, len(symbols)))
    return list(
        dropwhile(
            lambda at: symbols[at].start == one.start or _indent(lines, symbols[at].start) > indent,
            inside,
        )
    )


def _closing_line(lines: list[str], type_: Symbol, last: int) -> int:
    """The line with the bracket that closes the type, at most `last`, else that."""
    indent = _indent(lines, type_.start)
    numbers = range(last, type_.start, -1)
    closing = (number for number in numbers if lines[number - 1].startswith("}", indent))
    return next(closing, last)


def _moved_out(symbol: Symbol, type_: Symbol) -> Symbol:
    """A definition that is in what contains the type, instead of in the type."""
    path = ".".join(filter(None, (type_.container, type_.name)))
    # In a namespace, what is inside a type has only the type's name before it.
    prefixes = (f"{path}.", f"{type_.name}.")
    prefix = next((one for one in prefixes if f"{symbol.container}.".startswith(one)), "")
    if not prefix:
        return symbol
    inner = symbol.container[len(prefix) :]
    container = ".".join(filter(None, (type_.container, inner)))
    kind = "function" if symbol.kind == "method" and not container else symbol.kind
    return symbol._replace(container=container, kind=kind)


def _broken_lines(source: Source, language: Language, found: Outline, last: int) -> set[int]:
    """Lines in parse errors, in functions with errors (they swallow the next), or past the tree."""
    root, lines = source.root, set[int]()
    if root.children:
        lines.update(range(last_line(root.children[-1]) + 1, last + 1))
    errors = [(first_line(node), last_line(node)) for node in _errors(source, language)]
    for start, end in errors:
        if end - start >= _MIN_LINES:
            lines.update(range(start, end + 1))
    for symbol in found.symbols:
        has_error = any(symbol.start <= start and end <= symbol.end for start, end in errors)
        if has_error and symbol.kind in _FUNCTIONS:
            lines.update(range(symbol.start + 1, symbol.end + 1))
    return lines


def _errors(source: Source, language: Language) -> list["Node"]:
    from tree_sitter import QueryCursor

    query = _error_query(language)
    return QueryCursor(query).captures(source.root).get("error", []) if query is not None else []


@cache
def _error_query(language: Language) -> "Query | None":
    from tree_sitter import Query

    grammar = grammar_of(language)
    return Query(grammar, "(ERROR) @error (MISSING) @error") if grammar is not None else None


def _contains(entry: Symbol | TestCase, symbol: Symbol, lines: list[str]) -> bool:
    """Whether a function contains a symbol: it has to be indented deeper."""
    is_function = isinstance(entry, TestCase) or entry.kind in ("function", "method")
    inside = is_function and entry.start < symbol.start <= entry.end
    return inside and _indent(lines, symbol.start) > _indent(lines, entry.start)


def _includes(symbol: Symbol, other: Symbol) -> bool:
    """Whether another is this definition without what was misread as a part of it above."""
    return symbol.name == other.name and symbol.start < other.start <= symbol.end


def _place(symbol: Symbol, types: list[Symbol], others: list[Symbol], lines: list[str]) -> Symbol:
    """A definition put into the type around it; a function ends where the next one begins."""
    following = [
        one.start
        for one in others
        if symbol.start < one.start <= symbol.end
        if symbol.kind in _FUNCTIONS and one.kind in _FUNCTIONS
        if _indent(lines, one.start) <= _indent(lines, symbol.start)
    ]
    if following:
        symbol = symbol._replace(end=min(following) - 1)
    home = _type_around(symbol.start, types)
    if home is None or symbol.container:
        return symbol
    kind = "method" if symbol.kind == "function" else symbol.kind
    return symbol._replace(container=home.name, kind=kind)


def _with_group(test: TestCase, types: list[Symbol]) -> TestCase:
    home = _type_around(test.start, types)
    return test._replace(group=home.name) if home is not None and not test.group else test


def _type_around(line: int, types: list[Symbol]) -> Symbol | None:
    return next((one for one in reversed(types) if one.start < line <= one.end), None)


def _indent(lines: list[str], number: int) -> int:
    line = lines[number - 1] if number <= len(lines) else ""
    return len(line) - len(line.lstrip())
