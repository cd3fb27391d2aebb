"""What a query finds in a file: one entry a match, in the order of the text."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from preread.syntax.grammars import Source
from preread.syntax.queries import Section

if TYPE_CHECKING:
    from tree_sitter import Node

# A capture of one of these names, or of one that begins with it and a dot, is what was found.
_ROLES = frozenset(
    "definition test scope anonymous import comment decorator docstring reference string keyword"
    " block member family misread raise hook attribute".split()
)
_MAX_STATES = 2_000  # of patterns that are under way at once


class Captured(NamedTuple):
    """One match of a pattern: the node that was found, and its parts by the names of captures."""

    role: str
    start: int  # in bytes
    end: int
    pattern: int
    node: "Node"
    parts: dict[str, list["Node"]]
    given_name: str  # of a definition that has none itself

    def part(self, name: str) -> "Node | None":
        """The first part of this name; a name or body is also what the node's field is called."""
        found = self.parts.get(name)
        if found:
            return found[0]
        return self.node.child_by_field_name(name) if name in ("name", "body") else None


def captured(section: Section, source: Source, in_tests: bool) -> list[Captured]:
    """Everything that a query finds, outer nodes before the inner ones that start with them."""
    from tree_sitter import QueryCursor

    # The binding can also stop a query that takes long, but crashes on the way (0.26.1).
    cursor = QueryCursor(section.query, match_limit=_MAX_STATES)
    matches = cursor.matches(source.root)
    found: list[Captured] = []
    for pattern, parts in matches:
        if in_tests or "only.tests" not in parts:
            found += _found(pattern, parts, section.names.get(pattern, ""))
    found.sort(key=lambda entry: (entry.start, -entry.end, entry.pattern))
    return found


def _found(pattern: int, parts: dict[str, list["Node"]], given_name: str) -> Iterable[Captured]:
    role = next((name for name in parts if name.partition(".")[0] in _ROLES), None)
    for node in parts[role] if role is not None else ():
        yield Captured(role or "", node.start_byte, node.end_byte, pattern, node, parts, given_name)
