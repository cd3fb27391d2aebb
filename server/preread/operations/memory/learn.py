"""`learn`: keep a lesson; it replaces an older one on the same topic."""

from pydantic import Field

from preread.operations.memory import keeping
from preread.operations.memory.keeping import KeptReply, New
from preread.operations.registry import Context, Operation, Preview, RequestModel


class LearnRequest(RequestModel):
    """What was learned."""

    lesson: str = Field(
        min_length=1,
        description="One true sentence. Put only text that its sources contain in backticks.",
    )
    context: str = Field("", description=keeping.CONTEXT)
    topic: str = Field("", description=keeping.TOPIC)
    tags: tuple[str, ...] = Field((), description=keeping.TAGS)
    collection: str = Field("Lessons", min_length=1, description=keeping.COLLECTION)
    sources: tuple[str, ...] = Field((), description=keeping.SOURCES)
    personal: bool = Field(False, description=keeping.PERSONAL)


def _new(request: LearnRequest) -> New:
    return New(
        keeping.with_reason(request.lesson, request.context),
        request.collection,
        request.sources,
        request.tags,
        request.topic,
        request.personal,
    )


async def learn(context: Context, request: LearnRequest) -> KeptReply:
    return await keeping.keep(context, _new(request))


async def preview(context: Context, request: LearnRequest) -> Preview:
    return await keeping.preview(context, _new(request))


OPERATION = Operation(
    name="memory.learn",
    request=LearnRequest,
    reply=KeptReply,
    effect="write",
    doc="Keep a lesson; it replaces an older one on the same topic.",
    example="""preread call memory.learn '{"lesson": "wait for the address, not for a time"}'""",
    run=learn,
    preview=preview,
)
