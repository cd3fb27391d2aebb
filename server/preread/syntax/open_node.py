"""Nodes of the syntax tree that are open while definitions are extracted."""

from dataclasses import dataclass, field

from preread.syntax.captures import Captured
from preread.syntax.model import SymbolKind

TYPES = frozenset(("class", "interface", "enum"))
FUNCTIONS = frozenset(("function", "method", "component", "test", "group"))
# The kinds in queries, mapped to the kinds of symbols.
KINDS: dict[str, SymbolKind] = {
    "function": "function",
    "method": "method",
    "class": "class",
    "interface": "interface",
    "type": "type",
    "enum": "enum",
    "constant": "constant",
    "component": "component",
    "module": "class",
    "object": "class",
    "macro": "function",
}


@dataclass(slots=True)
class OpenNode:
    """A node of the syntax tree, open up to the offset `end`."""

    kind: str  # of a symbol, or "file", "scope", "anonymous", "test", "group"
    name: str
    end: int
    container: str = ""  # its own container
    inside: str = ""  # the container of its contents
    group: str = ""
    group_inside: str = ""
    in_function: bool = False
    is_test: bool = False
    found: Captured | None = None
    begin: int = 0  # the offset after its decorators
    comments: list[str] = field(default_factory=list)
    decorators: list[str] = field(default_factory=list)
    docstring: str = ""
    params: list[str] = field(default_factory=list)
    markers: list[str] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)  # calls in a test that skip it
    inherits: list[str] = field(default_factory=list)  # markers for all tests inside
