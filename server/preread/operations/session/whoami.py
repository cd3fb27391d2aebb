"""`whoami`: the calling session as the others see it."""

from preread import sessions
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.operations.session import shared
from preread.operations.session.shared import MineReply
from preread.services import Services
from preread.sessions import Identity


class WhoamiRequest(RequestModel):
    """It needs nothing."""


async def whoami(context: Context, request: WhoamiRequest) -> MineReply:  # noqa: ARG001
    return await in_thread(context, context.services(), _whoami, shared.me(context))


def _whoami(services: Services, identity: Identity) -> MineReply:
    session, overlaps = sessions.update(services.layout, identity)
    unheard = sessions.waiting(services.layout, identity)
    return MineReply(session=session, unheard=unheard, overlaps=tuple(overlaps))


OPERATION = Operation(
    name="session.whoami",
    request=WhoamiRequest,
    reply=MineReply,
    effect="read",
    doc="Show this session as others see it, and how many messages wait for it.",
    example="preread call session.whoami",
    run=whoami,
)
