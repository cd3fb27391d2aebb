"""The operations that build: load, extend."""

import time

from pydantic import Field

from preread import fingerprint, pipeline, published, resolve
from preread.builders import located
from preread.fingerprint import Fingerprint
from preread.gates import aliases
from preread.gates.aliases import Served
from preread.models import LoadReply, Request
from preread.operations.registry import (
    DESCRIPTION,
    FEATURE,
    SCOPE,
    TICKET,
    Asked,
    Context,
    Operation,
    in_thread,
)
from preread.services import Services
from preread.settings import Level


class ExtendRequest(Asked):
    """Which files a model is to draft for which dossier."""

    feature: str = Field(description=FEATURE)
    files: tuple[str, ...] = Field(description="Files of the dossier, like `anti-patterns`.")


class LoadRequest(Asked):
    """What a dossier is wanted for."""

    feature: str = Field(description=FEATURE)
    ticket: str | None = Field(None, description=TICKET)
    description: str | None = Field(None, description=DESCRIPTION)
    force: bool = Field(False, description="Build again even if a dossier stands.")
    level: Level | None = Field(
        None, description="How deep. Default: as deep as can be built here."
    )
    scope: str | None = Field(None, description=SCOPE)


async def load(context: Context, request: LoadRequest) -> LoadReply:
    key = (context.start, request)
    if context.remembered is not None and (again := context.remembered.recall(key)) is not None:
        return again
    begun = time.time_ns()
    services = context.services()
    served = aliases.served(services.layout, request.feature)
    asked = _resolved(services, request, served)
    found = await pipeline.load(services, asked, context.jobs, context.caller)
    reply = _with_warnings(found, served, request.description)
    if context.remembered is not None and reply.state == "cached" and reply.status == "ok":
        at_root = services.layout.root == context.start
        seen = (
            await in_thread(context, services, _fingerprint, asked.feature, begun)
            if at_root
            else None
        )
        context.remembered.keep(key, seen, reply)
    return reply


def standing(services: Services, request: LoadRequest) -> LoadReply | None:
    served = aliases.served(services.layout, request.feature)
    reply = pipeline.standing(services, _resolved(services, request, served))
    return None if reply is None else _with_warnings(reply, served, request.description)


def _resolved(services: Services, request: LoadRequest, served: Served) -> Request:
    return pipeline.resolve(services, **(request.model_dump() | {"feature": served.feature}))


def _with_warnings(reply: LoadReply, served: Served, description: str | None = None) -> LoadReply:
    """The reply with warnings about the name and the description that were asked for."""
    warnings = (*served.warnings, *resolve.warnings(description))
    if not warnings:
        return reply
    return reply.model_copy(update={"warnings": (*warnings, *reply.warnings)})


def _fingerprint(services: Services, feature: str, begun: int) -> Fingerprint | None:
    """The fingerprint of the lookup that has just found a dossier."""
    found = published.read(services.layout, feature)
    if found is None or found.manifest is None:
        return None
    # Where a program could be that was not there: with one, the same request asks for more.
    programs = located.places(services) if found.manifest.level == "light" else ()
    return fingerprint.take(services, found.manifest, begun, programs)


async def extend(context: Context, request: ExtendRequest) -> LoadReply:
    services = context.services()
    served = aliases.served(services.layout, request.feature)
    reply = await pipeline.extend(
        services, served.feature, request.files, context.jobs, context.caller
    )
    return _with_warnings(reply, served)


def _limit(services: Services, request: LoadRequest) -> float:
    return services.settings.child_seconds(pipeline.resolve(services, **request.model_dump()).level)


def _extension_limit(services: Services, request: ExtendRequest) -> float:
    found = published.read(
        services.layout, aliases.served(services.layout, request.feature).feature
    )
    level = found.manifest.level if found is not None and found.manifest is not None else "full"
    return services.settings.child_seconds(level)


LOAD = Operation(
    name="context.load",
    request=LoadRequest,
    reply=LoadReply,
    effect="write",
    doc="Make sure a feature's dossier is there and up to date, and return it.",
    example="preread load checkout --ticket SHOP-142",
    run=load,
    command="load",
    limit=_limit,
    at_once=standing,
    positional=("feature",),
)
EXTEND = Operation(
    name="context.extend",
    request=ExtendRequest,
    reply=LoadReply,
    effect="write",
    doc="Have the model draft single files of a dossier that stands; its other files stay.",
    example="preread extend checkout anti-patterns failures",
    run=extend,
    command="extend",
    limit=_extension_limit,
    positional=("feature", "files"),
)
OPERATIONS = (LOAD, EXTEND)
