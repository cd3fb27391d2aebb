"""Long results, page by page: a cursor names the start of the next page and its call."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from preread.errors import PrereadError

# Default limits of a page: items, and their characters as JSON, about 10,000 tokens.
PAGE, MAX_CHARS = 50, 40_000
MAX_LIMIT = 1000  # items that a call may ask for
CURSOR = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?-([0-9a-f]{8})")


class Place(NamedTuple):
    """Where a page begins: at an item of the list, after some of what belongs to that item."""

    item: int = 0
    skipped: int = 0  # of a list that is read in windows: the item itself, then its edges


class Window(NamedTuple):
    """Which items of its list an operation has to read for a page."""

    begin: int
    size: int


class Page(NamedTuple):
    """One page of a result, and how to get the next."""

    result: dict[str, Any]
    total: int
    next_cursor: str  # empty after the last page


def mark_of(call: Mapping[str, Any]) -> str:
    """The digest at the end of a call's cursors; `call` is the method with its params."""
    return hashlib.sha256(json.dumps(call, sort_keys=True).encode()).hexdigest()[:8]


def place(cursor: str, mark: str) -> Place:
    """Where a cursor's page begins. Raises E_USAGE for a cursor of another call."""
    if not cursor:
        return Place()
    match = CURSOR.fullmatch(cursor)
    if match is None or match[3] != mark:
        raise PrereadError(
            "E_USAGE",
            "The cursor does not belong to this call.",
            "Repeat the call with the same method and params, and `metadata.next_cursor` of its "
            "last reply; or leave the cursor out to begin again.",
        )
    return Place(int(match[1]), int(match[2] or 0))


def window(at: Place, limit: int | None) -> Window:
    """The items that the page that begins `at` a place can contain at most."""
    return Window(at.item, limit or PAGE)


def page(result: Mapping[str, Any], field: str, at: Place, limit: int | None, mark: str) -> Page:
    """The part of `result[field]` that begins `at` a place."""
    items = result.get(field) or []
    end = at.item + (limit or _fitting(items[at.item : at.item + PAGE]))
    following = f"{end}-{mark}" if end < len(items) else ""
    return Page({**result, field: items[at.item : end]}, len(items), following)


def page_of_graph(result: Mapping[str, Any], at: Place, limit: int | None, mark: str) -> Page:
    """A page of nodes and edges that were read in the window `at` a place.

    Each node is an item, followed by its edges to itself and to nodes before it, so that over all
    pages every node and edge is shown once. `result["total"]` also counts nodes outside the window.
    """
    nodes: list[dict[str, Any]] = result["nodes"]
    positions = {node["id"]: position for position, node in enumerate(nodes)}
    groups: list[list[tuple[str, dict[str, Any]]]] = [[("nodes", node)] for node in nodes]
    for edge in result["edges"]:
        later = max(positions.get(edge[end], -1) for end in ("source", "target"))
        groups[later].append(("edges", edge))
    for group in groups:  # in an order that does not depend on the window
        group[1:] = sorted(group[1:], key=lambda item: json.dumps(item, sort_keys=True))
    places = [
        Place(at.item + index, order)
        for index, group in enumerate(groups)
        for order in range(len(group))
    ][at.skipped :]
    items = [item for group in groups for item in group][at.skipped :]
    size = limit or _fitting([item for _, item in items[:PAGE]])
    shown: dict[str, list[dict[str, Any]]] = {"nodes": [], "edges": []}
    for field, item in items[:size]:
        shown[field].append(item)
    after = places[size] if size < len(places) else Place(at.item + len(nodes))
    following = f"{after.item}.{after.skipped}-{mark}" if after.item < result["total"] else ""
    return Page({**result, **shown}, result["total"], following)


def _fitting(items: Sequence[Any]) -> int:
    """How many of the items fit in a page; at least one."""
    sizes = accumulate(len(json.dumps(item, ensure_ascii=False)) for item in items)
    return max(1, sum(size <= MAX_CHARS for size in sizes))
