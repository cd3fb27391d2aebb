"""`wm_decay`: let attention fade as if some turns had passed."""

from pydantic import Field

from preread.gates.attention import TURN
from preread.operations.attention import shared
from preread.operations.attention.wm_status import StatusReply
from preread.operations.registry import Context, Operation, Preview, RequestModel, threaded
from preread.services import Services


class DecayRequest(RequestModel):
    """How much to let it fade."""

    turns: int = Field(1, ge=1, le=100, description="As after this many prompts of the person.")


def _decay(services: Services, request: DecayRequest) -> StatusReply:
    for _ in range(request.turns):
        shared.note(services.layout, TURN, "")
    return StatusReply(items=tuple(shared.items(shared.events(services))))


async def preview(context: Context, request: DecayRequest) -> Preview:  # noqa: ARG001
    return Preview(notes=(f"A share of {0.9**request.turns:.2f} of all attention would be left.",))


OPERATION = Operation(
    name="attention.wm_decay",
    request=DecayRequest,
    reply=StatusReply,
    effect="write",
    doc="Let attention fade, for clients that keep no transcript from which turns could be read.",
    example="""preread call attention.wm_decay '{"turns": 3}'""",
    run=threaded(_decay),
    preview=preview,
    pages="items",
)
