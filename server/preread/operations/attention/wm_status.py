"""`wm_status`: what has attention."""

from preread.models import Model
from preread.operations.attention import shared
from preread.operations.attention.shared import Item
from preread.operations.registry import NothingRequest, Operation, threaded
from preread.services import Services


class StatusReply(Model):
    """What has attention now, the highest score first."""

    items: tuple[Item, ...]


def _status(services: Services, _: NothingRequest) -> StatusReply:
    return StatusReply(items=tuple(shared.items(shared.events(services))))


OPERATION = Operation(
    name="attention.wm_status",
    request=NothingRequest,
    reply=StatusReply,
    effect="read",
    doc="List what has attention: files and dossiers that sessions used, and notes.",
    example="preread call attention.wm_status",
    run=threaded(_status),
    pages="items",
)
