"""`status`: say what the calling session works on now, and learn who writes the same files."""

from preread.operations.registry import Context, Operation
from preread.operations.session import shared
from preread.operations.session.shared import MineReply, WorkRequest


async def status(context: Context, request: WorkRequest) -> MineReply:
    return await shared.work_on(context, request, None)


OPERATION = Operation(
    name="session.status",
    request=WorkRequest,
    reply=MineReply,
    effect="write",
    doc="Say what this session works on; if another one writes the same file, both get a message.",
    example="""preread call session.status '{"files": ["src/cart.py"]}'""",
    run=status,
    preview=shared.preview,
)
