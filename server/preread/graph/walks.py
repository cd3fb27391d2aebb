"""Walks through the graph: neighbourhoods and shortest paths."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, Literal, NamedTuple, cast

from preread.graph.model import EdgeKind, NodeKind
from preread.graph.reading import BATCH, MAX_VISITED, Link, Page, Subgraph, nodes_of, page_of

Direction = Literal["out", "in", "both"]
ENDS: dict[Direction, tuple[str, ...]] = {
    "out": ("source",), "in": ("target",), "both": ("source", "target"),
}  # fmt: skip
# Paths avoid nodes with MAX_FAN or more incoming edges, which connect everything to everything.
MAX_FAN = 2_000


class EdgeFilter(NamedTuple):
    """Which edges a walk follows; without kinds, all of them."""

    edges: tuple[EdgeKind, ...] = ()
    direction: Direction = "both"
    confidence: float = 0.0  # minimum


# The walk that finds a feature's graph: its facts, what they cite, and what is related to that.
ABOUT_FEATURE = (
    EdgeFilter(edges=("belongs-to",), direction="in"),
    EdgeFilter(edges=("cites", "supersedes"), direction="out"),
    EdgeFilter(edges=("tests", "calls", "changed-with", "fixed-by", "failed-in")),
)


def around(
    connection: sqlite3.Connection,
    start: str,
    steps: Sequence[EdgeFilter],
    page: Page,
    kinds: Sequence[NodeKind] = (),
    between: tuple[EdgeKind, ...] = (),
) -> Subgraph:
    """A node, then its neighbourhood, and the edges of the kinds `between` among these nodes."""
    [first] = connection.execute("SELECT id FROM nodes WHERE key = ?", (start,)).fetchone()
    reached, frontier = {first: None}, [first]
    for wanted in steps:
        ends = (far for _, far in _pairs(connection, frontier, wanted))
        frontier = [row for row in dict.fromkeys(ends) if row not in reached]
        reached |= dict.fromkeys(frontier)
        if not frontier or len(reached) > MAX_VISITED:
            break
    chosen = _of_kinds(connection, reached, kinds)
    # the node itself does not count
    page = page._replace(limit=page.limit + 1)
    rows = [first, *(row for row in chosen if row != first)]
    shown = rows[: page.limit][page.begin : page.end]
    within = EdgeFilter(edges=between, direction="out", confidence=steps[0].confidence)
    links = list(_links(connection, shown, within))
    if page.begin:
        links += _links_from_outside(connection, shown, within)
    return page_of(connection, rows, links, page)


def _links_from_outside(
    connection: sqlite3.Connection, shown: Sequence[int], within: EdgeFilter
) -> Iterator[Link]:
    """The edges that lead to nodes of a page from nodes of other pages."""
    inside = set(shown)
    into = _links(connection, shown, within._replace(direction="in"))
    return (one for one in into if one.source not in inside)


Predecessors = dict[int, int | None]  # node -> the node from which it was reached


def path(
    connection: sqlite3.Connection, start: str, end: str, wanted: EdgeFilter, page: Page
) -> Subgraph | None:
    """One of the shortest paths between two nodes, in order; None if there is none.

    A bidirectional search: each step extends the smaller frontier.
    """
    sql = "SELECT id FROM nodes WHERE key = ?"
    [first], [last] = (connection.execute(sql, (key,)).fetchone() for key in (start, end))
    ways: tuple[Predecessors, Predecessors] = ({first: None}, {last: None})
    frontiers = [[first], [last]]
    against: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}
    turns = (wanted, wanted._replace(direction=against[wanted.direction]))
    met = first if first == last else None
    while met is None and all(frontiers) and sum(map(len, ways)) < MAX_VISITED:
        side = int(len(frontiers[1]) < len(frontiers[0]))
        own, other = ways[side], ways[1 - side]
        frontiers[side], met = _step(connection, frontiers[side], own, other, turns[side])
    if met is None:
        return None
    rows = [*reversed(_trace_back(ways[0], met)), *_trace_back(ways[1], met)[1:]]
    links = [_between(connection, one, other, wanted) for one, other in pairwise(rows)]
    return page_of(connection, rows, links, page)


def _step(
    connection: sqlite3.Connection,
    frontier: list[int],
    own: Predecessors,
    other: Predecessors,
    wanted: EdgeFilter,
) -> tuple[list[int], int | None]:
    """One search step from one end: its new frontier, and the node where the searches met."""
    following: list[int] = []
    narrow = _without_hubs(connection, frontier)
    for near, far in _pairs(connection, narrow, wanted):
        if far not in own:
            own[far] = near
            following.append(far)
            if far in other:
                return following, far
    return following, None


def _pairs(
    connection: sqlite3.Connection, rows: Iterable[int], wanted: EdgeFilter
) -> Iterator[tuple[int, int]]:
    """The edges of these nodes that a walk follows, as pairs of a node and its neighbour."""
    for end, other in (("source", "target"), ("target", "source")):
        if end in ENDS[wanted.direction]:
            yield from _followed(connection, f"{end}, {other}", end, rows, wanted)


def _without_hubs(connection: sqlite3.Connection, rows: list[int]) -> list[int]:
    """The nodes with fewer than MAX_FAN incoming edges."""
    wide: set[int] = set()
    for begin in range(0, len(rows), BATCH):
        batch = rows[begin : begin + BATCH]
        marks = ", ".join("?" * len(batch))
        sql = f"""SELECT target FROM edges WHERE target IN ({marks}) GROUP BY target
            HAVING count(*) >= ?"""  # noqa: S608
        wide.update(row for (row,) in connection.execute(sql, (*batch, MAX_FAN)))
    return [row for row in rows if row not in wide]


def _trace_back(reached: Predecessors, row: int) -> list[int]:
    """The nodes from the meeting point of two searches back to the start of one."""
    rows, at = [], cast("int | None", row)
    while at is not None:
        rows.append(at)
        at = reached[at]
    return rows


def _between(connection: sqlite3.Connection, one: int, other: int, wanted: EdgeFilter) -> Link:
    """The edge of highest confidence between two nodes that a walk follows."""
    links = _links(connection, [one], wanted)
    return max((link for link in links if other in link.ends), key=lambda link: link.confidence)


def _links(
    connection: sqlite3.Connection, rows: Iterable[int], wanted: EdgeFilter
) -> Iterator[Link]:
    """The edges of these nodes that a walk follows."""
    rows = list(rows)
    for end in ENDS[wanted.direction]:
        yield from map(
            Link._make, _followed(connection, ", ".join(Link._fields), end, rows, wanted)
        )


def _followed(
    connection: sqlite3.Connection, columns: str, end: str, rows: Iterable[int], wanted: EdgeFilter
) -> Iterator[tuple[Any, ...]]:
    """Columns of the edges with one of these nodes at an end, batch by batch."""
    kinds = f" AND kind IN ({', '.join('?' * len(wanted.edges))})" if wanted.edges else ""
    min_confidence = " AND confidence >= ?" if wanted.confidence else ""  # no index covers it
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        marks = ", ".join("?" * len(batch))
        sql = f"SELECT {columns} FROM edges WHERE {end} IN ({marks}){kinds}{min_confidence}"  # noqa: S608
        least = (wanted.confidence,) if min_confidence else ()
        yield from connection.execute(sql, (*batch, *wanted.edges, *least))


def _of_kinds(
    connection: sqlite3.Connection, rows: Iterable[int], kinds: Sequence[NodeKind]
) -> list[int]:
    """The rows whose nodes are of these kinds, in order."""
    rows = list(rows)
    if not kinds:
        return rows
    matching = {row for row, _, kind, *_ in nodes_of(connection, rows) if kind in kinds}
    return [row for row in rows if row in matching]
