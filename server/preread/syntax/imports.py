"""Extract the imports of a file from captures."""

from collections.abc import Iterable

from preread.syntax.captures import Captured
from preread.syntax.grammars import Source, first_line
from preread.syntax.model import Import
from preread.syntax.text import unquoted


def imports_of(source: Source, found: Iterable[Captured]) -> tuple[Import, ...]:
    """One entry per module in a statement, with the names imported from it."""
    patterns: dict[tuple[int, int], int] = {}  # by statement: the first pattern that captured it
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
    """The module of a match, and the names imported from it."""
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
