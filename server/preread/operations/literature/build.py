"""`graph.build`: the graph of what documents name and how it is related."""

from collections import Counter
from collections.abc import Iterator

from pydantic import Field

from preread.literature import network
from preread.literature.network import Made, Network
from preread.models import Model
from preread.operations.literature import shared
from preread.operations.registry import Context, Operation, in_thread
from preread.services import Services


class Share(Model):
    """How much of a graph one rule, or the model, found, and how sure that is."""

    rule: str
    confidence: float = Field(description="The lowest confidence among what it found.")
    nodes: int
    edges: int


class BuildReply(Model):
    """A graph, kept until the cache is deleted; the same documents give the same name."""

    graph: str
    nodes: int
    edges: int
    found_by: tuple[Share, ...] = Field(description="Each rule, the one that found most first.")
    made: Made
    cost_usd: float = 0.0


async def build(context: Context, request: shared.DocumentsRequest) -> BuildReply:
    return await in_thread(context, context.services(), _build, context, request)


def _build(services: Services, context: Context, request: shared.DocumentsRequest) -> BuildReply:
    read, found = shared.network_of(context, services, request)
    name = network.store(services.layout, found)
    return BuildReply(
        graph=name,
        nodes=len(found.nodes),
        edges=len(found.edges),
        found_by=tuple(_shares(found)),
        made=read.made,
        cost_usd=read.cost_usd,
    )


def _shares(found: Network) -> Iterator[Share]:
    nodes = Counter(one.rule for one in found.nodes)
    edges = Counter(one.rule for one in found.edges)
    both = (*found.nodes, *found.edges)
    for rule, _ in (nodes + edges).most_common():
        least = min(one.confidence for one in both if one.rule == rule)
        yield Share(rule=rule, confidence=least, nodes=nodes[rule], edges=edges[rule])


OPERATION = Operation(
    name="graph.build",
    request=shared.DocumentsRequest,
    reply=BuildReply,
    effect="read",
    doc="Build a graph of the entities in the documents and how they are related.",
    example="preread call graph.build",
    run=build,
)
