"""`knowledge.query`: the nodes around one, the path between two, or all of some kind."""

import sqlite3

from pydantic import Field

from preread.errors import PrereadError
from preread.graph.model import Edge, EdgeKind, Node, NodeKind
from preread.graph.reading import MAX_VISITED, Page, Subgraph, listed, related
from preread.graph.walks import Direction, EdgeFilter, around, path
from preread.models import Model
from preread.operations.knowledge import reading
from preread.operations.paging import Window
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.services import Services


class QueryRequest(RequestModel):
    """What to look for."""

    node: str | None = Field(None, description=reading.NODE)
    to: str | None = Field(None, description="Another node: show a shortest path to it.")
    kinds: tuple[NodeKind, ...] = Field((), description="List only nodes of these kinds.")
    name: str = Field("", description="List only nodes whose names have these words.")
    edges: tuple[EdgeKind, ...] = Field((), description="Follow only edges of these kinds.")
    direction: Direction = Field(
        "both", description="Follow edges out of the node, into it, or both."
    )
    depth: int = Field(1, ge=1, le=6, description="How many edges away from the node.")
    confidence: float = Field(0.0, ge=0, le=1, description="The minimum confidence of edges.")
    limit: int = Field(1000, ge=1, le=MAX_VISITED, description=reading.LIMIT)


class QueryReply(Model):
    """A part of the graph, the nearest nodes first; a path's nodes in its order."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = Field(
        description="Between these nodes, and to those on earlier pages."
    )
    total: int = Field(description="How many nodes there are, on all pages.")
    cut: bool = Field(description="Whether there are more nodes than the limit.")


async def query(context: Context, request: QueryRequest) -> QueryReply:
    return await in_thread(context, context.services(), _query, request, context.window)


def _query(services: Services, request: QueryRequest, window: Window | None) -> QueryReply:
    lists = request.kinds or request.edges or request.name.strip()
    if request.node is None and (request.to is not None or not lists):
        raise PrereadError(
            "E_USAGE",
            "knowledge.query needs `node`, or else `kinds`, `name` or `edges`.",
            'Like {"node": "checkout", "depth": 2} or {"kinds": ["decision"]}.',
        )
    page = Page(request.limit, *(window or ()))
    found = reading.current(services, lambda connection: _found(connection, request, page))
    return QueryReply(nodes=found.nodes, edges=found.edges, total=found.total, cut=found.is_cut)


def _found(connection: sqlite3.Connection, request: QueryRequest, page: Page) -> Subgraph:
    sure = request.confidence
    if request.node is None:
        if request.edges:
            return related(connection, request.edges, request.kinds, sure, page)
        return listed(connection, request.kinds, request.name, sure, page)
    start = reading.find(connection, request.node).id
    wanted = EdgeFilter(request.edges, request.direction, sure)
    if request.to is None:
        steps = (wanted,) * request.depth
        return around(connection, start, steps, page, request.kinds, request.edges)
    end = reading.find(connection, request.to).id
    found = path(connection, start, end, wanted, page)
    if found is None:
        raise PrereadError(
            "E_NOT_FOUND",
            f"No path leads from {start} to {end}.",
            "Leave `edges`, `direction` or `confidence` out, if you gave them.",
        )
    return found


OPERATION = Operation(
    name="knowledge.query",
    request=QueryRequest,
    reply=QueryReply,
    effect="read",
    doc="Query the knowledge graph: around a node, a path to another one, or all of a kind.",
    example="""preread call knowledge.query '{"node": "checkout", "depth": 2}'""",
    run=query,
    pages="nodes",
    reads_window=True,
)
