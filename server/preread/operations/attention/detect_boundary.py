"""`detect_boundary`: where the work last changed, by which rule."""

from pydantic import Field

from preread.models import Model
from preread.operations.attention import shared
from preread.operations.attention.shared import Change
from preread.operations.registry import NothingRequest, Operation, threaded
from preread.services import Services


class BoundaryReply(Model):
    """The places where the work changed."""

    latest: Change | None = Field(None, description="The latest; null if it never changed.")
    boundaries: tuple[Change, ...]


def _detect(services: Services, _: NothingRequest) -> BoundaryReply:
    found = shared.changes(shared.events(services))
    return BoundaryReply(latest=found[-1] if found else None, boundaries=tuple(found[::-1]))


OPERATION = Operation(
    name="attention.detect_boundary",
    request=NothingRequest,
    reply=BoundaryReply,
    effect="read",
    doc="Show where the work changed: another feature, a long pause, another part of the tree, a "
    "finished run.",
    example="preread call attention.detect_boundary",
    run=threaded(_detect),
    pages="boundaries",
)
