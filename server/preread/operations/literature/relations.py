"""`documents.relations`: what documents cite, define, extend, contradict and mention."""

from pydantic import Field

from preread.literature import extraction
from preread.literature.model import Relation, RelationKind
from preread.literature.network import Made
from preread.models import Model
from preread.operations.literature import shared
from preread.operations.registry import Context, Operation, in_thread
from preread.services import Services


class RelationsRequest(shared.Wanted):
    """Which relations."""

    kinds: tuple[RelationKind, ...] = Field((), description="Only these kinds.")


class RelationsReply(Model):
    """How what documents name is related."""

    relations: tuple[Relation, ...]
    made: Made


async def relations(context: Context, request: RelationsRequest) -> RelationsReply:
    return await in_thread(context, context.services(), _relations, request)


def _relations(services: Services, request: RelationsRequest) -> RelationsReply:
    papers, named, made = shared.entities(services, request)
    found = extraction.relations(papers, named, services.progress.check)
    return RelationsReply(
        relations=tuple(
            one
            for one in found
            if one.confidence >= request.threshold
            and (not request.kinds or one.kind in request.kinds)
        ),
        made=made,
    )


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
