"""`recent`: what was remembered last."""

from pydantic import Field

from preread.models import Model
from preread.operations.memory import entries
from preread.operations.memory.entries import Memory
from preread.operations.registry import Operation, RequestModel, threaded
from preread.services import Services


class RecentRequest(RequestModel):
    """How much to list."""

    limit: int = Field(10, ge=1, le=1000, description="The maximum number of facts.")
    tags: tuple[str, ...] = Field((), description="Only facts with all of these tags.")
    collection: str | None = Field(None, description="Only this collection.")


class RecentReply(Model):
    """What is remembered, the latest first; people's own lines have no date and come last."""

    entries: tuple[Memory, ...]


def _recent(services: Services, request: RecentRequest) -> RecentReply:
    found = entries.chosen(
        entries.all_memories(services), tags=request.tags, collection=request.collection
    )
    live = [one for one in found if one.state != "retired"]
    # Within one second, what is further down in the file came later.
    live.sort(key=lambda one: (one.at, one.line), reverse=True)
    return RecentReply(entries=tuple(live[: request.limit]))


OPERATION = Operation(
    name="memory.recent",
    request=RecentRequest,
    reply=RecentReply,
    effect="read",
    doc="List what was remembered last.",
    example="""preread call memory.recent '{"limit": 5}'""",
    run=threaded(_recent),
    pages="entries",
)
