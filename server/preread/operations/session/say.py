"""`say`: send a message to another session, or to all."""

from pydantic import Field

from preread.infra.secrets import Credentials
from preread.models import Model
from preread.operations.registry import Context, Operation, Preview, RequestModel, in_thread
from preread.operations.session import shared
from preread.records import sessions
from preread.records.messages import Message
from preread.records.sessions import Identity
from preread.services import Services


class SayRequest(RequestModel):
    """What to tell whom."""

    text: str = Field(min_length=1, max_length=4000, description="The message.")
    to: str = Field("", max_length=100, description="A session's id or name; empty for everybody.")


class SayReply(Model):
    """The message as the others get it."""

    sent: Message
    reached: tuple[str, ...] = Field(
        description="Names of the sessions that get it; those that begin later do not."
    )


async def say(context: Context, request: SayRequest) -> SayReply:
    return await in_thread(context, context.services(), _say, shared.me(context), request)


def _say(services: Services, identity: Identity, request: SayRequest) -> SayReply:
    text = Credentials(services.layout.root).hidden(request.text)
    sent, reached = sessions.say(services.layout, identity, text, request.to)
    return SayReply(sent=sent, reached=tuple(one.name for one in reached))


async def preview(context: Context, request: SayRequest) -> Preview:  # noqa: ARG001
    return Preview(notes=(f"{request.to or 'Everybody'} would get the message.",))


OPERATION = Operation(
    name="session.say",
    request=SayRequest,
    reply=SayReply,
    effect="write",
    doc="Send a message to another session in this project, or to all of them.",
    example="preread say 'I rename Cart.total, wait with cart tests' --to payments",
    run=say,
    preview=preview,
    command="say",
    positional=("text",),
)
