"""Imports of a file out of what the query of its language captured."""

from collections.abc import Iterable

from preread.syntax.captures import Captured
from preread.syntax.grammars import Source, first_line
from preread.syntax.model import Import
from preread.syntax.text import unquoted


def imports_of(source: Source, found: Iterable[Captured]) -> tuple[Import, ...]:
    """One entry for each module that a statement names, with the names taken from it."""
    patterns: dict[tuple[int, int], int] = {}  # which reads a statement: the first that captures it
    names: dict[tuple[int, str], list[str]] = {}
    lines: dict[tuple[int, str], int] = {}
    for entry in found:
        if entry.role != "import":
            continue
        if patterns.setdefault((entry.start, entry.end), entry.pattern) != entry.pattern:
            continue
        module, taken = _module(source, entry)
        key = (entry.start, module)
        lines[key] = first_line(entry.node)
        names.setdefault(key, []).extend(name for name in taken if name not in names.get(key, ()))
    imports = [Import(key[1], tuple(taken), lines[key]) for key, taken in names.items()]
    return tuple(sorted(imports, key=lambda entry: entry.line))


def _module(source: Source, entry: Captured) -> tuple[str, list[str]]:
    """The module that a match names, and the names that it takes from it."""
    node = entry.part("module")
    module = source.fold(node) if node is not None else ""
    if node is not None and ("string" in node.type or node.type == "path"):
        module = unquoted(module)
    taken = [source.fold(name) for name in entry.parts.get("imported", ())]
    taken = ["*" if name[:1] == "*" else name for name in taken]
    if "module.dotted" in entry.parts and "." in module:
        module, _, last = module.rpartition(".")
        taken = [last]
    if "module.relative" in entry.parts and not module.startswith("."):
        module = f"./{module}"
    return module, taken
