"""`register`: give the calling session a name, and say what it works on."""

from pydantic import Field

from preread.operations.registry import Context, Operation
from preread.operations.session import shared
from preread.operations.session.shared import MineReply, WorkRequest


class RegisterRequest(WorkRequest):
    """The session's name and work."""

    name: str | None = Field(
        None,
        min_length=1,
        max_length=60,
        description="What others call you. Default: your client's name.",
    )


async def register(context: Context, request: RegisterRequest) -> MineReply:
    return await shared.work_on(context, request, request.name)


OPERATION = Operation(
    name="session.register",
    request=RegisterRequest,
    reply=MineReply,
    effect="write",
    doc="Give this session a name, and say what it works on; others see it, and can write to it.",
    example="""preread call session.register '{"name": "payments", "feature": "checkout"}'""",
    run=register,
    preview=shared.preview,
)
