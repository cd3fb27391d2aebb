"""Find the definitions around lines, and the names that they go by."""

import re
from pathlib import PurePosixPath

from preread.syntax.model import Outline, Symbol, TestCase

_TYPES = frozenset(("class", "interface", "enum"))


class Places:
    """The name of the innermost definition of each line."""

    def __init__(self, outline: Outline) -> None:
        types = tuple(symbol for symbol in outline.symbols if symbol.kind in _TYPES)
        self._within = _names_by_line((*outline.symbols, *outline.tests))
        self._types = _names_by_line(types)

    def within(self, line: int) -> str:
        """The name of the innermost test or symbol on a line, "" at module level."""
        return self._within.get(line, "")

    def type_at(self, line: int) -> str:
        """The name of the innermost class, interface or enum on a line."""
        return self._types.get(line, "")


def enclosing(outline: Outline, line: int) -> Symbol | TestCase | None:
    """The innermost symbol or test that contains this 1-based line."""
    entries: list[Symbol | TestCase] = [*outline.symbols, *outline.tests]
    around = (entry for entry in entries if entry.start <= line <= entry.end)
    return max(around, key=lambda entry: (entry.start, -entry.end), default=None)


def names_between(outline: Outline, path: str, start: int, end: int) -> frozenset[str]:
    """Every name of the definitions that overlap these lines: `b`, `A.b`, `module.A.b`."""
    modules = _module_names(path)
    names: set[str] = set()
    entries: list[Symbol | TestCase] = [*outline.symbols, *outline.tests]
    for entry in entries:
        if entry.start <= end and entry.end >= start:
            names |= _ways_to_say(entry, modules)
    return frozenset(names)


def _ways_to_say(entry: Symbol | TestCase, modules: tuple[str, ...]) -> set[str]:
    container = entry.container if isinstance(entry, Symbol) else entry.group
    parts = [part for part in re.split(r"\.| > ", container) if part] + [entry.name]
    names = {".".join(parts[n:]) for n in range(len(parts))}
    names |= {".".join(parts[:n]) for n in range(1, len(parts))}
    names |= {container, f"{container} > {entry.name}"} if container else set()
    return names | {f"{module}.{'.'.join(parts)}" for module in modules}


def _module_names(path: str) -> tuple[str, ...]:
    """What other code calls the module of a file: by its name, or by its folder's."""
    pure = PurePosixPath(path)
    return tuple(name for name in (pure.stem, pure.parent.name) if name)


def _names_by_line(entries: tuple[Symbol | TestCase, ...]) -> dict[int, str]:
    """The name of the innermost entry of each line that is inside one."""
    names: dict[int, str] = {}
    # Inner definitions come later in this order and overwrite the outer ones.
    for entry in sorted(entries, key=lambda entry: (entry.start, -entry.end)):
        names.update(dict.fromkeys(range(entry.start, entry.end + 1), entry.name))
    return names
