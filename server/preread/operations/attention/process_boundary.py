"""`process_boundary`: end a piece of work: what came before fades, and what recurs is proposed."""

from pydantic import Field

from preread.gates.attention import BOUNDARY
from preread.models import Model
from preread.operations.attention import shared
from preread.operations.attention.shared import Item, Proposal
from preread.operations.registry import Context, Operation, Preview, RequestModel, threaded
from preread.services import Services


class ProcessRequest(RequestModel):
    """Why the work changes here."""

    why: str = Field("", max_length=200, description="In a few words.")


class ProcessReply(Model):
    """What still has attention, and what could be kept for good."""

    items: tuple[Item, ...]
    proposed: tuple[Proposal, ...] = Field((), description="wm_consolidate keeps them.")


def _process(services: Services, request: ProcessRequest) -> ProcessReply:
    shared.note(services.layout, BOUNDARY, " ".join(request.why.split()))
    found = shared.events(services)
    return ProcessReply(items=tuple(shared.items(found)), proposed=tuple(shared.proposals(found)))


async def preview(context: Context, request: ProcessRequest) -> Preview:  # noqa: ARG001
    return Preview(notes=("A third of all attention would be left.",))


OPERATION = Operation(
    name="attention.process_boundary",
    request=ProcessRequest,
    reply=ProcessReply,
    effect="write",
    doc="End a piece of work: what had attention fades, and what recurs is proposed.",
    example="""preread call attention.process_boundary '{"why": "the refund is done"}'""",
    run=threaded(_process),
    preview=preview,
    pages="items",
)
