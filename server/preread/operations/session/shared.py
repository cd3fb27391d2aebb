"""What the operations on sessions share."""

from pydantic import Field

from preread.models import Model
from preread.names import feature_name
from preread.operations.registry import Context, Preview, RequestModel, in_thread
from preread.records import sessions
from preread.records.sessions import Identity, Session
from preread.services import Services


class WorkRequest(RequestModel):
    """What a session works on. What is left out stays as it was."""

    feature: str | None = Field(None, max_length=200, description="The feature that you work on.")
    doing: str | None = Field(None, max_length=500, description="What you do, in a sentence.")
    files: tuple[str, ...] | None = Field(
        None,
        max_length=sessions.MAX_FILES,
        description="The files that you write, from the project's root; they replace earlier ones.",
    )


class MineReply(Model):
    """The calling session."""

    session: Session
    unheard: int = Field(0, description="Unread messages: session.hear returns them.")
    overlaps: tuple[Session, ...] = Field((), description="Sessions that write one of its files.")


def me(context: Context) -> Identity:
    return sessions.caller(context.by, is_person=not context.is_agent)


async def work_on(context: Context, request: WorkRequest, name: str | None) -> MineReply:
    """Record what the caller works on, and tell both sides of an overlap."""
    return await in_thread(context, context.services(), _work_on, me(context), request, name)


def _work_on(
    services: Services, identity: Identity, request: WorkRequest, name: str | None
) -> MineReply:
    feature, files = _checked(services, request)
    session, overlaps = sessions.update(
        services.layout, identity, name=name, feature=feature, doing=request.doing, files=files
    )
    unheard = sessions.waiting(services.layout, identity)
    return MineReply(session=session, unheard=unheard, overlaps=tuple(overlaps))


async def preview(context: Context, request: WorkRequest) -> Preview:
    """Check a request; only what other sessions see would change."""
    _checked(context.services(), request)
    return Preview(notes=("The others would see what you work on.",))


def _checked(services: Services, request: WorkRequest) -> tuple[str | None, tuple[str, ...] | None]:
    """The feature and the files in the form that is compared. Raises E_FEATURE_NAME, E_OUTSIDE."""
    layout = services.layout
    feature = feature_name(request.feature) if request.feature else request.feature
    files = request.files
    if files is not None:
        files = tuple(layout.relative(layout.inside(path)) for path in files)
    return feature, files
