"""`cognitive_status`: what the next session will be given, and why."""

from pydantic import Field

from preread.gates import attention
from preread.models import Model
from preread.operations.attention import shared
from preread.operations.attention.shared import Change, Item, Proposal
from preread.operations.registry import NothingRequest, Operation, threaded
from preread.services import Services

TOP = 5


class CognitiveReply(Model):
    """Working memory at a glance."""

    top: tuple[Item, ...]
    count: int = Field(description="How many things have attention.")
    boundary: Change | None = Field(None, description="Where the work last changed.")
    facts: tuple[str, ...] = Field(description="The facts that the next session starts with.")
    proposed: tuple[Proposal, ...] = Field((), description="wm_consolidate keeps them.")


def _status(services: Services, _: NothingRequest) -> CognitiveReply:
    found = shared.events(services)
    items, places = shared.items(found), shared.changes(found)
    scores = {item.what: item.score for item in items}
    return CognitiveReply(
        top=tuple(items[:TOP]),
        count=len(items),
        boundary=places[-1] if places else None,
        facts=tuple(attention.relevant_facts(str(services.layout.root), scores)),
        proposed=tuple(shared.proposals(found)),
    )


OPERATION = Operation(
    name="attention.cognitive_status",
    request=NothingRequest,
    reply=CognitiveReply,
    effect="read",
    doc="Show working memory at a glance: what has attention, and which facts the next session "
    "gets because of it.",
    example="preread attention",
    run=threaded(_status),
    command="attention",
)
