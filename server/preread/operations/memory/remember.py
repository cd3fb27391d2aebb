"""`remember`: keep a fact about the project."""

from pydantic import Field

from preread.operations.memory import keeping
from preread.operations.memory.keeping import KeptReply, New
from preread.operations.registry import Context, Operation, Preview, RequestModel


class RememberRequest(RequestModel):
    """What to keep."""

    content: str = Field(
        min_length=1,
        description="One true sentence. Put only text that its sources contain in backticks.",
    )
    context: str = Field("", description=keeping.CONTEXT)
    tags: tuple[str, ...] = Field((), description=keeping.TAGS)
    collection: str = Field("Notes", min_length=1, description=keeping.COLLECTION)
    sources: tuple[str, ...] = Field((), description=keeping.SOURCES)
    personal: bool = Field(False, description=keeping.PERSONAL)


def _new(request: RememberRequest) -> New:
    return New(
        keeping.with_reason(request.content, request.context),
        request.collection,
        request.sources,
        request.tags,
        personal=request.personal,
    )


async def remember(context: Context, request: RememberRequest) -> KeptReply:
    return await keeping.keep(context, _new(request))


async def preview(context: Context, request: RememberRequest) -> Preview:
    return await keeping.preview(context, _new(request))


OPERATION = Operation(
    name="memory.remember",
    request=RememberRequest,
    reply=KeptReply,
    effect="write",
    doc="Keep a fact about the project, for every later dossier and session.",
    example='preread remember "the gateway answers within 12 s" --tags payment',
    run=remember,
    preview=preview,
    command="remember",
    positional=("content",),
)
