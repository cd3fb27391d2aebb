"""`knowledge.node`: all that is known about one node."""

import sqlite3
from collections import Counter

from pydantic import Field

from preread.graph.model import Edge, Node
from preread.graph.reading import Page
from preread.graph.walks import EdgeFilter, around
from preread.models import Model
from preread.operations.knowledge import reading
from preread.operations.registry import Operation, RequestModel, threaded
from preread.services import Services

MANY = 20_000


class NodeRequest(RequestModel):
    """Which node."""

    node: str = Field(description=reading.NODE)
    limit: int = Field(50, ge=1, le=1000, description="The maximum number of edges.")


class NodeReply(Model):
    """A node with its edges and the nodes at their other ends, the surest first."""

    node: Node
    edges: tuple[Edge, ...]
    nodes: tuple[Node, ...]
    counts: dict[str, int] = Field(description="How many edges there are of each kind, in all.")


def _node(services: Services, request: NodeRequest) -> NodeReply:
    return reading.current(services, lambda connection: _about(connection, request))


def _about(connection: sqlite3.Connection, request: NodeRequest) -> NodeReply:
    found = reading.find(connection, request.node)
    near = around(connection, found.id, (EdgeFilter(),), Page(MANY))
    own = [edge for edge in near.edges if found.id in {edge.source, edge.target}]
    own.sort(key=lambda edge: -edge.confidence)
    shown = own[: request.limit]
    ends = {id_ for edge in shown for id_ in (edge.source, edge.target)} - {found.id}
    return NodeReply(
        node=found,
        edges=tuple(shown),
        nodes=tuple(one for one in near.nodes if one.id in ends),
        counts=dict(Counter(edge.kind for edge in own).most_common()),
    )


OPERATION = Operation(
    name="knowledge.node",
    request=NodeRequest,
    reply=NodeReply,
    effect="read",
    doc="Show one node of the knowledge graph: its place, its confidence, its related nodes.",
    example="""preread call knowledge.node '{"node": "checkout"}'""",
    run=threaded(_node),
)
