"""`graph.build`: the graph of what documents name and how it is related."""

from preread.literature import network
from preread.literature.network import Made
from preread.models import Model
from preread.operations.literature import shared
from preread.operations.registry import Context, Operation, in_thread
from preread.services import Services


class BuildReply(Model):
    """A graph that is kept until the cache is deleted; the same documents give the same name."""

    graph: str
    nodes: int
    edges: int
    made: Made
    cost_usd: float = 0.0


async def build(context: Context, request: shared.Wanted) -> BuildReply:
    return await in_thread(context, context.services(), _build, context, request)


def _build(services: Services, context: Context, request: shared.Wanted) -> BuildReply:
    read, found = shared.network_of(context, services, request)
    name = network.keep(services.layout, found)
    nodes, edges = len(found.nodes), len(found.edges)
    return BuildReply(graph=name, nodes=nodes, edges=edges, made=read.made, cost_usd=read.cost_usd)


OPERATION = Operation(
    name="graph.build",
    request=shared.Wanted,
    reply=BuildReply,
    effect="read",
    doc="Build a graph of the entities in the documents and how they are related.",
    example="preread call graph.build",
    run=build,
)
