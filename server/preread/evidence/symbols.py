"""Which symbols of an outline are definitions of their own, as a map names them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from preread.syntax import Outline, Symbol

LONG = 100  # lines: what such a function is made of is listed, as of a composable or a plugin
WRAPPED = 0.8  # of a type's lines: if one inner type has as many, the outer is its namespace
FUNCTIONS = frozenset({"function", "method", "component"})
CLASSES = frozenset({"class", "interface"})  # kinds of what has members, whatever a language says
KEYWORD = re.compile(
    r"(?<!\w)(?:def)?(class|module|struct|interface|trait|protocol|record|union|actor|object|extension)"
    r"(?!\w)"
)


def defined(outline: Outline) -> list[Symbol]:
    """The definitions of a file, in their order.

    Left out are tests and their modules, constructors, overloads, modules that only wrap a type,
    and what is inside a function that is not long.
    """
    symbols = [one for one in _product_code(outline) if one.kind != "heading"]
    functions: dict[str, list[Symbol]] = defaultdict(list)
    for symbol in symbols:
        if symbol.kind in FUNCTIONS:
            functions[path_of(symbol)].append(symbol)

    def is_inside(symbol: Symbol) -> bool:
        around = functions.get(symbol.container, ())  # a class may have the same name
        return any(one.start <= symbol.start <= one.end < one.start + LONG for one in around)

    own = [one for one in symbols if not is_constructor(one, symbols)]
    found = _without_namespaces(_without_overloads(own))
    return [one for one in found if not is_inside(one)]


def path_of(symbol: Symbol) -> str:
    """The name of a symbol behind the names of what it is defined in."""
    return f"{symbol.container}.{symbol.name}" if symbol.container else symbol.name


def keyword(symbol: Symbol) -> str:
    """What a definition among `CLASSES` is by its signature, like "struct"; or else "type".

    Go says it after the name.
    """
    named = re.search(rf"(?<!\w){re.escape(symbol.name)}(?!\w)", symbol.signature)
    start = named.start() if named else len(symbol.signature)
    before, after = symbol.signature[:start], symbol.signature[start:]
    found = KEYWORD.findall(before) or KEYWORD.findall(after)
    return found[-1] if found else "type"


def is_constructor(symbol: Symbol, others: Iterable[Symbol]) -> bool:
    """Whether a method has the name of the class around it, which is one of these."""
    if symbol.kind != "method" or symbol.name != symbol.container.rpartition(".")[2]:
        return False
    classes = (one for one in others if one.name == symbol.name and one.kind == "class")
    return any(one.start <= symbol.start <= one.end for one in classes)


def _product_code(outline: Outline) -> Iterable[Symbol]:
    """All symbols but tests, their modules, and what is inside them."""
    groups = {test.group for test in outline.tests if test.group}
    spans = [(test.start, test.end) for test in outline.tests]
    for symbol in outline.symbols:
        in_test = any(start <= symbol.start <= end for start, end in spans)
        is_named = symbol.name.strip("_")  # unlike Rust's `const _`
        if is_named and not in_test and groups.isdisjoint((symbol.container, symbol.name)):
            yield symbol


def _without_overloads(symbols: Iterable[Symbol]) -> list[Symbol]:
    """Each definition once: of overloads only the longest, the implementation."""
    longest: dict[str, Symbol] = {}
    for symbol in symbols:
        known = longest.setdefault(path_of(symbol), symbol)
        if symbol.end - symbol.start > known.end - known.start:
            longest[path_of(symbol)] = symbol
    return sorted(longest.values(), key=lambda symbol: symbol.start)


def _without_namespaces(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Leave out what is nothing but the outer layer of one type, as Ruby's modules mostly are."""
    inner: dict[str, Symbol] = {}
    for symbol in symbols:
        if symbol.kind == "class":
            inner.setdefault(symbol.container, symbol)

    def wraps(symbol: Symbol) -> bool:
        own = inner.get(path_of(symbol)) if symbol.kind == "class" else None
        lines = symbol.end - symbol.start
        return own is not None and own.end - own.start >= WRAPPED * lines

    return [symbol for symbol in symbols if not wraps(symbol)]
