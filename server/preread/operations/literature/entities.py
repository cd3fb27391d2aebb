"""`documents.entities`: what documents name."""

from pydantic import Field

from preread.literature.model import Entity, EntityKind
from preread.literature.network import Made
from preread.models import Model
from preread.operations.literature import shared
from preread.operations.registry import Context, Operation, in_thread
from preread.services import Services


class EntitiesRequest(shared.DocumentsRequest):
    """Which entities."""

    kinds: tuple[EntityKind, ...] = Field((), description="Only these kinds.")


class EntitiesReply(Model):
    """What documents name, the most frequent first."""

    entities: tuple[Entity, ...]
    made: Made
    cost_usd: float = 0.0


async def entities(context: Context, request: EntitiesRequest) -> EntitiesReply:
    return await in_thread(context, context.services(), _entities, context, request)


def _entities(services: Services, context: Context, request: EntitiesRequest) -> EntitiesReply:
    found = shared.found(context, services, request)
    wanted = tuple(one for one in found.entities if not request.kinds or one.kind in request.kinds)
    return EntitiesReply(entities=wanted, made=found.made, cost_usd=found.cost_usd)


OPERATION = Operation(
    name="documents.entities",
    request=EntitiesRequest,
    reply=EntitiesReply,
    effect="read",
    doc="List the people, organisations, works, methods, symbols and settings that documents name.",
    example="""preread call documents.entities '{"kinds": ["PERSON"]}'""",
    run=entities,
    pages="entities",
)
