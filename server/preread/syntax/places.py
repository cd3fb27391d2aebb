"""Find the definition around a line."""

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


def _names_by_line(entries: tuple[Symbol | TestCase, ...]) -> dict[int, str]:
    """The name of the innermost entry of each line that is inside one."""
    names: dict[int, str] = {}
    # Inner definitions come later in this order and overwrite the outer ones.
    for entry in sorted(entries, key=lambda entry: (entry.start, -entry.end)):
        names.update(dict.fromkeys(range(entry.start, entry.end + 1), entry.name))
    return names
