"""`hear`: the messages that the calling session has not heard yet."""

from pydantic import Field

from preread import sessions
from preread.models import Model
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.operations.session import shared
from preread.services import Services
from preread.sessions import Identity, Message


class HearRequest(RequestModel):
    """How many messages to hear."""

    limit: int = Field(50, ge=1, le=1000, description="The maximum number of messages.")


class HearReply(Model):
    """Messages in the order in which they were sent. Each is returned once."""

    messages: tuple[Message, ...]
    left: int = Field(description="How many more wait.")


async def hear(context: Context, request: HearRequest) -> HearReply:
    return await in_thread(context, context.services(), _hear, shared.me(context), request.limit)


def _hear(services: Services, identity: Identity, limit: int) -> HearReply:
    messages, left = sessions.hear(services.layout, identity, limit)
    return HearReply(messages=tuple(messages), left=left)


OPERATION = Operation(
    name="session.hear",
    request=HearRequest,
    reply=HearReply,
    effect="read",
    doc="Return what other sessions told this one since it last asked, each message once.",
    example="preread hear",
    run=hear,
    command="hear",
)
