"""Reads the graph: nodes by name, lists by kind, counts."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from preread.graph.model import Edge, EdgeKind, Node, NodeKind, NodeState

TABLES = ("nodes", "edges", "origins")
BATCH = 500  # values of one statement
MAX_VISITED, MAX_SAME = 50_000, 20  # nodes of an answer, and with one name
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


class Link(NamedTuple):
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
    links = [Link(*row) for row in connection.execute(sql, values)]
    rows = list(dict.fromkeys(row for link in links[:MAX_VISITED] for row in link.ends))
    found = page_of(connection, rows, links[:MAX_VISITED], page)
    return found._replace(is_cut=found.is_cut or len(links) > MAX_VISITED)


def page_of(
    connection: sqlite3.Connection, rows: list[int], links: Iterable[Link], page: Page
) -> Subgraph:
    """The nodes of a page, with the edges between them, and between them and earlier pages."""
    total = min(len(rows), page.limit)
    until = rows[:total][: page.end]
    shown, before = until[page.begin :], set(until[: page.begin])
    inside = before.union(shown)
    own = [one for one in links if inside.issuperset(one.ends) and not before.issuperset(one.ends)]
    return _found(connection, shown, own, total, is_cut=len(rows) > total)


def nodes_of(connection: sqlite3.Connection, rows: Iterable[int]) -> Iterator[tuple[object, ...]]:
    left = iter(rows)
    while batch := list(islice(left, BATCH)):
        marks = ", ".join("?" * len(batch))
        yield from connection.execute(f"SELECT {NODE} FROM nodes n WHERE n.id IN ({marks})", batch)  # noqa: S608


def _found(
    connection: sqlite3.Connection,
    rows: list[int],
    links: Sequence[Link],
    total: int,
    *,
    is_cut: bool,
) -> Subgraph:
    ends = dict.fromkeys(row for link in links for row in link.ends)  # of earlier pages too
    found = {row[0]: _node(row) for row in nodes_of(connection, dict.fromkeys([*rows, *ends]))}
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
