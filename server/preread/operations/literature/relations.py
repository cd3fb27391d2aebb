"""`documents.relations`: what documents cite, define, extend, contradict and mention."""

from pydantic import Field

from preread.literature.model import Relation, RelationKind
from preread.literature.network import Made
from preread.models import Model
from preread.operations.literature import shared
from preread.operations.registry import Context, Operation, in_thread
from preread.services import Services


class RelationsRequest(shared.DocumentsRequest):
    """Which relations."""

    kinds: tuple[RelationKind, ...] = Field((), description="Only these kinds.")


class RelationsReply(Model):
    """The relations between the things that documents name."""

    relations: tuple[Relation, ...]
    made: Made
    cost_usd: float = 0.0


async def relations(context: Context, request: RelationsRequest) -> RelationsReply:
    return await in_thread(context, context.services(), _relations, context, request)


def _relations(services: Services, context: Context, request: RelationsRequest) -> RelationsReply:
    found = shared.found(context, services, request)
    wanted = tuple(one for one in found.relations if not request.kinds or one.kind in request.kinds)
    return RelationsReply(relations=wanted, made=found.made, cost_usd=found.cost_usd)


OPERATION = Operation(
    name="documents.relations",
    request=RelationsRequest,
    reply=RelationsReply,
    effect="read",
    doc="List what documents cite, define, extend, contradict and mention, with the sentences.",
    example="""preread call documents.relations '{"kinds": ["cites"]}'""",
    run=relations,
    pages="relations",
)
