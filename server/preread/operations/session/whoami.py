"""`whoami`: the calling session as the others see it."""

from preread.errors import PrereadError
from preread.operations.registry import Context, NothingRequest, Operation, in_thread
from preread.operations.session import shared
from preread.operations.session.shared import MineReply
from preread.records import sessions
from preread.records.sessions import Identity, Session
from preread.services import Services


async def whoami(context: Context, _: NothingRequest) -> MineReply:
    return await in_thread(context, context.services(), _whoami, shared.me(context))


def _whoami(services: Services, identity: Identity) -> MineReply:
    session, overlaps = _registered(services, identity)
    unheard = sessions.waiting(services.layout, identity)
    return MineReply(session=session, unheard=unheard, overlaps=tuple(overlaps))


def _registered(services: Services, identity: Identity) -> tuple[Session, list[Session]]:
    """The session, registered unless the project cannot be written or there is none."""
    layout = services.layout
    if layout.project.is_dir():
        try:
            return sessions.update(layout, identity)
        except PrereadError as error:
            if error.code != "E_WRITE":
                raise
    return sessions.known(layout, identity)


OPERATION = Operation(
    name="session.whoami",
    request=NothingRequest,
    reply=MineReply,
    effect="read",
    doc="Show this session as others see it, and its number of unread messages.",
    example="preread call session.whoami",
    run=whoami,
)
