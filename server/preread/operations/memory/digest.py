"""`digest`: the inventory of what is remembered."""

from collections import Counter

from pydantic import Field

from preread.models import Model
from preread.operations.memory import entries
from preread.operations.memory.entries import Memory
from preread.operations.registry import Operation, RequestModel, threaded
from preread.services import Services


class DigestRequest(RequestModel):
    """What to list."""

    all: bool = Field(False, description="Also what was replaced or forgotten.")
    tags: tuple[str, ...] = Field((), description="Only facts with all of these tags.")
    collection: str | None = Field(None, description="Only this collection.")


class DigestReply(Model):
    """Everything that is remembered, in the order of its files, and how much there is of it."""

    collections: dict[str, int] = Field(description="Facts in use of each collection.")
    tags: dict[str, int] = Field(description="Facts in use with each tag.")
    in_use: int
    retired: int = Field(description="Facts that were replaced or forgotten.")
    failed: int = Field(description="Facts in use whose sources are invalid now.")
    entries: tuple[Memory, ...]


def _digest(services: Services, request: DigestRequest) -> DigestReply:
    found = entries.chosen(
        entries.all_memories(services), tags=request.tags, collection=request.collection
    )
    live = [one for one in found if one.state != "retired"]
    return DigestReply(
        collections=dict(Counter(one.collection for one in live)),
        tags=dict(Counter(tag for one in live for tag in one.tags)),
        in_use=len(live),
        retired=len(found) - len(live),
        failed=sum(one.state == "failed" for one in live),
        entries=tuple(found if request.all else live),
    )


OPERATION = Operation(
    name="memory.digest",
    request=DigestRequest,
    reply=DigestReply,
    effect="read",
    doc="List everything that is remembered, with counts; with `all`, also what was replaced.",
    example="preread call memory.digest",
    run=threaded(_digest),
    pages="entries",
)
