"""`extend`: have the model draft single files of a published dossier."""

from pydantic import Field

from preread import aliases
from preread.builds import pipeline
from preread.dossier import published
from preread.models import LoadReply
from preread.operations.load import with_warnings
from preread.operations.registry import (
    FEATURE,
    Context,
    Operation,
    Preview,
    RequestModel,
    in_thread,
)
from preread.services import Services


class ExtendRequest(RequestModel):
    """Which files of which dossier the model should draft."""

    feature: str = Field(description=FEATURE)
    files: tuple[str, ...] = Field(description="Files of the dossier, like `anti-patterns`.")


async def extend(context: Context, request: ExtendRequest) -> LoadReply:
    services = context.services()
    served = aliases.resolve(services.layout, request.feature)
    reply = await pipeline.extend(
        services, served.feature, request.files, context.jobs, context.caller
    )
    return with_warnings(services, reply, served)


async def preview(context: Context, request: ExtendRequest) -> Preview:
    """Which files the model would draft; their contents cannot be previewed."""
    services = context.services()
    served = aliases.resolve(services.layout, request.feature)
    await in_thread(context, services, pipeline.extension, served.feature, request.files)
    path = services.layout.relative(services.layout.dossier(served.feature))
    names = ", ".join(request.files)
    return Preview(notes=(f"A paid model run would draft again, in {path}/: {names}.",))


def _limit(services: Services, request: ExtendRequest) -> float:
    feature = aliases.resolve(services.layout, request.feature).feature
    found = published.read(services.layout, feature)
    level = found.manifest.level if found is not None and found.manifest is not None else "full"
    return services.settings.child_seconds(level)


OPERATION = Operation(
    name="context.extend",
    request=ExtendRequest,
    reply=LoadReply,
    effect="write",
    doc="Have the model draft single files of a published dossier; its other files stay the same.",
    example="preread extend checkout anti-patterns failures",
    run=extend,
    preview=preview,
    command="extend",
    limit=_limit,
    positional=("feature", "files"),
)
