"""`wm_status`: what has attention."""

from preread.models import Model
from preread.operations.attention import shared
from preread.operations.attention.shared import Item, NothingRequest
from preread.operations.registry import Context, Operation, in_thread
from preread.services import Services


class StatusReply(Model):
    """What has attention now, the highest score first."""

    items: tuple[Item, ...]


async def status(context: Context, request: NothingRequest) -> StatusReply:  # noqa: ARG001
    return await in_thread(context, context.services(), _status)


def _status(services: Services) -> StatusReply:
    return StatusReply(items=tuple(shared.items(shared.events(services))))


OPERATION = Operation(
    name="attention.wm_status",
    request=NothingRequest,
    reply=StatusReply,
    effect="read",
    doc="List what has attention: files and dossiers that sessions used, and notes.",
    example="preread call attention.wm_status",
    run=status,
    pages="items",
)
