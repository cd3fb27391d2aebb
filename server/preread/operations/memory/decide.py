"""`decide`: keep a decision with its reasons; it replaces an older one on the same topic."""

from pydantic import Field

from preread.operations.memory import keeping
from preread.operations.memory.keeping import KeptReply, New
from preread.operations.registry import Context, Operation, Preview, RequestModel


class DecideRequest(RequestModel):
    """What was decided, and why."""

    decision: str = Field(min_length=1, description="What was decided, in one sentence.")
    reasoning: str = Field("", description="Why.")
    alternatives: tuple[str, ...] = Field((), description="What was decided against.")
    topic: str = Field("", description=keeping.TOPIC)
    tags: tuple[str, ...] = Field((), description=keeping.TAGS)
    sources: tuple[str, ...] = Field((), description=keeping.SOURCES)
    personal: bool = Field(False, description=keeping.PERSONAL)


def _new(request: DecideRequest) -> New:
    reasons = [f"because {request.reasoning}"] if request.reasoning else []
    reasons += [f"instead of {' or '.join(request.alternatives)}"] if request.alternatives else []
    return New(
        keeping.with_reason(request.decision, "; ".join(reasons)),
        "Decisions",
        request.sources,
        request.tags,
        request.topic,
        request.personal,
    )


async def decide(context: Context, request: DecideRequest) -> KeptReply:
    return await keeping.keep(context, _new(request))


async def preview(context: Context, request: DecideRequest) -> Preview:
    return await keeping.preview(context, _new(request))


OPERATION = Operation(
    name="memory.decide",
    request=DecideRequest,
    reply=KeptReply,
    effect="write",
    doc="Keep a decision with its reasons; it replaces an older one on the same topic.",
    example='preread decide "amounts are whole cents" --reasoning "floats lose some" --topic money',
    run=decide,
    preview=preview,
    command="decide",
    positional=("decision",),
)
