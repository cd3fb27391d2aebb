"""Run a query on a file: one entry per match, in source order."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from preread.syntax.grammars import Source
from preread.syntax.queries import Section

if TYPE_CHECKING:
    from tree_sitter import Node

# The matched node is the capture with one of these names, or one of them, a dot and a suffix.
_ROLES = frozenset(
    "definition test scope anonymous import comment decorator docstring reference string keyword"
    " block member family misread raise hook attribute local".split()
)
_MAX_STATES = 2_000  # of partial matches at the same time


class Captured(NamedTuple):
    """One match of a pattern: the node, and its parts by capture name."""

    role: str
    start: int  # in bytes
    end: int
    pattern: int
    node: "Node"
    parts: dict[str, list["Node"]]
    given_name: str  # for a definition without a name of its own

    def part(self, name: str) -> "Node | None":
        """The first part with this name; `name` and `body` fall back to the node's own fields."""
        found = self.parts.get(name)
        if found:
            return found[0]
        return self.node.child_by_field_name(name) if name in ("name", "body") else None


def captured(section: Section, source: Source, in_tests: bool) -> list[Captured]:
    """All matches of a query in source order, outer nodes before inner ones."""
    from tree_sitter import QueryCursor

    # The binding also has a progress callback to stop slow queries, but it crashes (0.26.1).
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
