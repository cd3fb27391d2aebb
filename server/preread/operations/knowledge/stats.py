"""`knowledge.stats`: how much the project knows, what is cited most, what cites nothing."""

import sqlite3

from pydantic import Field

from preread.graph.model import Node
from preread.graph.reading import counts
from preread.models import Model
from preread.operations.knowledge import reading
from preread.operations.registry import Operation, RequestModel, threaded
from preread.services import Services


class StatsRequest(RequestModel):
    """How much to list."""

    limit: int = Field(10, ge=1, le=1000, description="The maximum length of each list.")


class Cited(Model):
    """A node, and how many facts cite it."""

    node: Node
    facts: int


class StatsReply(Model):
    """Counts of the graph."""

    nodes: dict[str, int] = Field(description="Nodes by kind.")
    edges: dict[str, int] = Field(description="Edges by kind.")
    states: dict[str, int] = Field(description="Facts and decisions by state.")
    most_cited: tuple[Cited, ...]
    orphans: tuple[Node, ...] = Field(
        description="Facts that cite no node of the graph, such as a person's or agent's statement."
    )
    orphaned: int = Field(description="How many of these there are.")


def _stats(services: Services, request: StatsRequest) -> StatsReply:
    return reading.current(services, lambda connection: _counted(connection, request.limit))


def _counted(connection: sqlite3.Connection, limit: int) -> StatsReply:
    found = counts(connection, limit)
    return StatsReply(
        nodes=found.nodes,
        edges=found.edges,
        states=found.states,
        most_cited=tuple(Cited(node=node, facts=facts) for node, facts in found.most_cited),
        orphans=tuple(found.orphans),
        orphaned=found.orphaned,
    )


OPERATION = Operation(
    name="knowledge.stats",
    request=StatsRequest,
    reply=StatsReply,
    effect="read",
    doc="Count the knowledge graph's nodes and edges; list what is cited most, and facts that cite "
    "nothing.",
    example="preread call knowledge.stats",
    run=threaded(_stats),
)
