"""`graph.build`: the graph of what documents name and how it is related."""

from preread.literature import extraction, network
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


async def build(context: Context, request: shared.Wanted) -> BuildReply:
    return await in_thread(context, context.services(), _build, request)


def _build(services: Services, request: shared.Wanted) -> BuildReply:
    papers, named, made = shared.entities(services, request)
    related = [
        one
        for one in extraction.relations(papers, named, services.progress.check)
        if one.confidence >= request.threshold
    ]
    found = network.network(papers, named, related, shared.schema(services, request), made)
    name = network.keep(services.layout, found)
    return BuildReply(graph=name, nodes=len(found.nodes), edges=len(found.edges), made=made)


OPERATION = Operation(
    name="graph.build",
    request=shared.Wanted,
    reply=BuildReply,
    effect="read",
    doc="Make a graph of what the documents name and how it is related.",
    example="preread call graph.build",
    run=build,
)
