"""`messages`: what sessions wrote to each other, read or not."""

from pydantic import Field

from preread.models import Model
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.operations.session import shared
from preread.records import sessions
from preread.records.messages import Message
from preread.services import Services


class MessagesRequest(RequestModel):
    """Which messages."""

    query: str = Field("", description="Only those with these words.")
    limit: int = Field(50, ge=1, le=200, description="The maximum number of messages.")


class MessagesReply(Model):
    """Messages to everybody, and those to or from the calling session, the latest first."""

    messages: tuple[Message, ...]


async def messages(context: Context, request: MessagesRequest) -> MessagesReply:
    return await in_thread(context, context.services(), _messages, shared.me(context).id, request)


def _messages(services: Services, me: str, request: MessagesRequest) -> MessagesReply:
    latest, words = sessions.latest(services.layout), request.query.casefold().split()
    found = [
        one
        for one in sessions.since(services.layout, max(0, latest - sessions.MAX_SINCE))
        if (me in {one.sender, one.to} or not one.to)
        and all(word in one.text.casefold() for word in words)
    ]
    return MessagesReply(messages=tuple(found[: -request.limit - 1 : -1]))


OPERATION = Operation(
    name="session.messages",
    request=MessagesRequest,
    reply=MessagesReply,
    effect="read",
    doc="List the messages to every session or to this one, read or unread, latest first.",
    example="preread call session.messages",
    run=messages,
)
