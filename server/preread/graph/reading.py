"""Reads the graph: neighbours, shortest paths, lists by kind, counts."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, Literal, NamedTuple, cast

from preread.graph.model import Edge, EdgeKind, Node, NodeKind, NodeState

Direction = Literal["out", "in", "both"]
ENDS: dict[Direction, tuple[str, ...]] = {
    "out": ("source",), "in": ("target",), "both": ("source", "target"),
}  # fmt: skip
TABLES = ("nodes", "edges", "origins")
BATCH = 500  # values of one statement
# Paths avoid nodes with MAX_FAN or more incoming edges, which connect everything to everything.
MAX_FAN, MAX_VISITED, MAX_SAME = 2_000, 50_000, 20
# How nodes are looked up for a caller's text: the first condition that matches any decides.
MEANINGS = (
    "n.key = :it",
    "n.key IN ('fact:' || :it, 'feature:' || :it, 'ticket:' || :it)",
    "n.kind IN ('file', 'document') AND n.path = :it",
    "n.kind != 'fact' AND n.name = :it",
    "n.key >= :sha AND n.key < :sha || 'g'",
    "n.kind = 'fact' AND n.name = :it",  # its full text, which is not indexed
)
NODE = "n.id, n.key, n.kind, n.name, n.path, n.line, n.state, n.confidence"


class EdgeFilter(NamedTuple):
    """Which edges a walk follows; without kinds, all of them."""

    edges: tuple[EdgeKind, ...] = ()
    direction: Direction = "both"
    confidence: float = 0.0  # minimum


class Subgraph(NamedTuple):
    """A part of the graph, nearest nodes first."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    total: int = 0  # nodes, within the limit
    is_cut: bool = False


class Page(NamedTuple):
    """Which nodes of an answer to return: of the first `limit`, `size` nodes from `begin` on."""

    limit: int
    begin: int = 0
    size: int = MAX_VISITED

    @property
    def end(self) -> int:
        return self.begin + self.size


class _Link(NamedTuple):
    """An edge between two nodes, given by row ids."""

    source: int
    kind: EdgeKind
    target: int
    cited: str
    state: NodeState
    confidence: float

    @property
    def ends(self) -> tuple[int, int]:
        return self.source, self.target


def find(connection: sqlite3.Connection, wanted: str) -> list[Node]:
    """The nodes that a text can refer to: by id, else by key or name."""
    sha = wanted.removeprefix("commit:")[:12]
    values = {"it": wanted, "sha": f"commit:{sha}" if len(sha) >= 7 else "commit:-"}
    for condition in MEANINGS:
        sql = f"SELECT {NODE} FROM nodes n WHERE {condition} ORDER BY n.key LIMIT {MAX_SAME}"  # noqa: S608
        if found := [_node(row) for row in connection.execute(sql, values)]:
            return found
    return []


def similar_ids(connection: sqlite3.Connection, wanted: str) -> list[str]:
    """Ids that contain a text, shortest first; for an error's hint."""
    sql = "SELECT key FROM nodes WHERE instr(lower(key), ?) ORDER BY length(key), key LIMIT 5"
    return [key for (key,) in connection.execute(sql, (wanted.lower(),))]


def listed(
    connection: sqlite3.Connection, kinds: Sequence[NodeKind], text: str, confidence: float,
    page: Page,
) -> Subgraph:  # fmt: skip
    """The nodes of the given kinds, or of all kinds, whose names contain every word of a text.

    Sorted by id; with a text, shortest names first.
    """
    words = text.casefold().split()
    where = ["n.confidence >= ?", *["instr(lower(n.name), ?)"] * len(words)]
    where += [f"n.kind IN ({', '.join('?' * len(kinds))})"] if kinds else []
    order = "length(n.name), n.key" if words else "n.key"
    found, values = f"FROM nodes n WHERE {' AND '.join(where)}", (confidence, *words, *kinds)
    [there] = connection.execute(f"SELECT count(*) {found}", values).fetchone()
    total = min(there, page.limit)
    sql = f"SELECT {NODE} {found} ORDER BY {order} LIMIT ? OFFSET ?"
    count = max(0, min(page.end, total) - page.begin)
    rows = connection.execute(sql, (*values, count, page.begin))
    return Subgraph(tuple(map(_node, rows)), (), total, there > total)


def related(
    connection: sqlite3.Connection,
    edges: Sequence[EdgeKind],
    kinds: Sequence[NodeKind],
    confidence: float,
    page: Page,
) -> Subgraph:
    """The ends of edges of some kinds between nodes of some kinds, by the edges' confidence."""
    marks, ends = ", ".join("?" * len(edges)), ", ".join("?" * len(kinds))
    between = f"AND s.kind IN ({ends}) AND t.kind IN ({ends})" if kinds else ""
    sql = f"""SELECT e.source, e.kind, e.target, e.cited, e.state, e.confidence FROM edges e
        JOIN nodes s ON s.id = e.source JOIN nodes t ON t.id = e.target
        WHERE e.kind IN ({marks}) AND e.confidence >= ? {between}
        ORDER BY e.confidence DESC, s.key, t.key LIMIT ?"""  # noqa: S608
    values = (*edges, confidence, *kinds, *kinds, MAX_VISITED + 1)
    links = [_Link(*row) for row in connection.execute(sql, values)]
    rows = list(dict.fromkeys(row for link in links[:MAX_VISITED] for row in link.ends))
    found = _page(connection, rows, links[:MAX_VISITED], page)
    return found._replace(is_cut=found.is_cut or len(links) > MAX_VISITED)


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
    """A node, first, then its neighbourhood; and the edges of kinds `between` these nodes."""
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
    return _page(connection, rows, links, page)


def _links_from_outside(
    connection: sqlite3.Connection, shown: Sequence[int], within: EdgeFilter
) -> Iterator[_Link]:
    """The edges that lead to nodes of a page from nodes of other pages."""
    inside = set(shown)
    into = _links(connection, shown, within._replace(direction="in"))
    return (one for one in into if one.source not in inside)


def _page(
    connection: sqlite3.Connection, rows: list[int], links: Iterable[_Link], page: Page
) -> Subgraph:
    """The nodes of a page, with the edges between them, and between them and earlier pages."""
    total = min(len(rows), page.limit)
    until = rows[:total][: page.end]
    shown, before = until[page.begin :], set(until[: page.begin])
    inside = before.union(shown)
    own = [one for one in links if inside.issuperset(one.ends) and not before.issuperset(one.ends)]
    return _found(connection, shown, own, total, is_cut=len(rows) > total)


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
    return _page(connection, rows, links, page)


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


def _between(connection: sqlite3.Connection, one: int, other: int, wanted: EdgeFilter) -> _Link:
    """The edge of highest confidence between two nodes that a walk follows."""
    links = _links(connection, [one], wanted)
    return max((link for link in links if other in link.ends), key=lambda link: link.confidence)


def _links(
    connection: sqlite3.Connection, rows: Iterable[int], wanted: EdgeFilter
) -> Iterator[_Link]:
    """The edges of these nodes that a walk follows."""
    rows = list(rows)
    for end in ENDS[wanted.direction]:
        yield from map(
            _Link._make, _followed(connection, ", ".join(_Link._fields), end, rows, wanted)
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
    matching = {row for row, _, kind, *_ in _nodes(connection, rows) if kind in kinds}
    return [row for row in rows if row in matching]


def _nodes(connection: sqlite3.Connection, rows: Iterable[int]) -> Iterator[tuple[object, ...]]:
    left = iter(rows)
    while batch := list(islice(left, BATCH)):
        marks = ", ".join("?" * len(batch))
        yield from connection.execute(f"SELECT {NODE} FROM nodes n WHERE n.id IN ({marks})", batch)  # noqa: S608


def _found(
    connection: sqlite3.Connection,
    rows: list[int],
    links: Sequence[_Link],
    total: int,
    *,
    is_cut: bool,
) -> Subgraph:
    ends = dict.fromkeys(row for link in links for row in link.ends)  # of earlier pages too
    found = {row[0]: _node(row) for row in _nodes(connection, dict.fromkeys([*rows, *ends]))}
    nodes = tuple(found[row] for row in rows if row in found)
    edges = (
        Edge(
            source=found[link.source].id,
            kind=link.kind,
            target=found[link.target].id,
            sources=(link.cited,),
            state=link.state,
            confidence=link.confidence,
        )
        for link in links
        if link.source in found and link.target in found
    )
    return Subgraph(nodes, tuple(edges), total, is_cut)


def _node(row: Sequence[object]) -> Node:
    _, key, kind, name, path, line, state, confidence = row
    where = f"{path}:{line}" if path and line else str(path)
    if not where:
        where = str(key).partition(":")[2] if kind == "document" else str(key)
    values = {"id": key, "kind": kind, "name": name, "state": state, "confidence": confidence}
    return Node.model_validate({**values, "sources": (where,)})


class Counts(NamedTuple):
    """The numbers of nodes and edges."""

    nodes: dict[str, int]
    edges: dict[str, int]
    states: dict[str, int]  # of facts and decisions
    most_cited: list[tuple[Node, int]]
    orphans: list[Node]
    orphaned: int


def counts(connection: sqlite3.Connection, limit: int) -> Counts:
    """Counts, the most cited nodes, and facts that cite no known node."""
    tally = {
        table: dict(
            connection.execute(f"SELECT kind, count(*) FROM {table} GROUP BY kind ORDER BY kind")  # noqa: S608
        )
        for table in ("nodes", "edges")
    }
    states = Counter(
        dict(
            connection.execute(
                """SELECT state, count(*) FROM nodes WHERE kind IN ('fact', 'decision')
                GROUP BY state ORDER BY state"""
            )
        )
    )
    sql = f"""SELECT {NODE}, c.times FROM (SELECT target, count(DISTINCT source) AS times
        FROM edges WHERE kind = 'cites' GROUP BY target ORDER BY times DESC, target LIMIT ?) c
        JOIN nodes n ON n.id = c.target ORDER BY c.times DESC, n.key"""  # noqa: S608
    cited = [(_node(row[:-1]), row[-1]) for row in connection.execute(sql, (limit,))]
    orphaned = """FROM nodes n WHERE n.kind IN ('fact', 'decision') AND NOT EXISTS
        (SELECT 1 FROM edges e WHERE e.source = n.id AND e.kind = 'cites')"""
    sql = f"SELECT {NODE} {orphaned} ORDER BY n.path, n.line LIMIT ?"
    orphans = [_node(row) for row in connection.execute(sql, (limit,))]
    [total] = connection.execute(f"SELECT count(*) {orphaned}").fetchone()
    return Counts(tally["nodes"], tally["edges"], dict(states), cited, orphans, total)
