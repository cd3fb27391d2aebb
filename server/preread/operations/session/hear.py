"""`hear`: the calling session's unread messages."""

from pydantic import Field

from preread.models import Model
from preread.operations.registry import Context, Operation, Preview, RequestModel, in_thread
from preread.operations.session import shared
from preread.records import sessions
from preread.records.messages import Message
from preread.records.sessions import Identity
from preread.services import Services


class HearRequest(RequestModel):
    """How many messages to return."""

    limit: int = Field(50, ge=1, le=1000, description="The maximum number of messages.")


class HearReply(Model):
    """Messages in the order in which they were sent. Each is returned once."""

    messages: tuple[Message, ...]
    left: int = Field(description="How many more are unread.")


async def hear(context: Context, request: HearRequest) -> HearReply:
    return await in_thread(context, context.services(), _hear, shared.me(context), request.limit)


def _hear(services: Services, identity: Identity, limit: int) -> HearReply:
    messages, left = sessions.hear(services.layout, identity, limit)
    return HearReply(messages=tuple(messages), left=left)


async def preview(context: Context, request: HearRequest) -> Preview:  # noqa: ARG001
    services = context.services()
    count = await in_thread(context, services, _waiting, shared.me(context))
    return Preview(notes=(f"{count} unread messages would be marked as read.",))


def _waiting(services: Services, identity: Identity) -> int:
    return sessions.waiting(services.layout, identity)


OPERATION = Operation(
    name="session.hear",
    request=HearRequest,
    reply=HearReply,
    effect="write",
    doc="Return the new messages from other sessions, each one once.",
    example="preread hear",
    run=hear,
    preview=preview,
    command="hear",
)
