"""`load`: make sure a feature's dossier is there and up to date."""

import time

from pydantic import Field

from preread import aliases, fingerprint, pipeline, published, resolve
from preread.aliases import Served
from preread.builders import locate
from preread.fingerprint import Witness
from preread.models import LoadReply, Request
from preread.operations.registry import (
    DESCRIPTION,
    FEATURE,
    SCOPE,
    TICKET,
    Context,
    Operation,
    RequestModel,
    in_thread,
)
from preread.services import Services
from preread.settings import Level


class LoadRequest(RequestModel):
    """What a dossier is wanted for."""

    feature: str = Field(description=FEATURE)
    ticket: str | None = Field(None, description=TICKET)
    description: str | None = Field(None, description=DESCRIPTION)
    force: bool = Field(False, description="Rebuild even if the published dossier is valid.")
    level: Level | None = Field(
        None, description="How deep. Default: the deepest that can be built here."
    )
    scope: str | None = Field(None, description=SCOPE)


async def load(context: Context, request: LoadRequest) -> LoadReply:
    replies, key = context.reply_cache, (context.start, request)
    if replies is not None and (cached := replies.get(key)) is not None:
        return cached
    begun = time.time_ns()
    services = context.services()
    served = aliases.served(services.layout, request.feature)
    asked = _resolved(services, request, served)
    loaded = await pipeline.load(services, asked, context.jobs, context.caller)
    reply = with_warnings(loaded, served, request.description)
    if replies is not None and reply.state == "cached" and reply.status == "ok":
        depends_on = None
        if services.layout.root == context.start:
            depends_on = await in_thread(context, services, _fingerprint, asked.feature, begun)
        replies.put(key, depends_on, reply)
    return reply


def cached_reply(services: Services, request: LoadRequest) -> LoadReply | None:
    served = aliases.served(services.layout, request.feature)
    reply = pipeline.cached_reply(services, _resolved(services, request, served))
    return None if reply is None else with_warnings(reply, served, request.description)


def _resolved(services: Services, request: LoadRequest, served: Served) -> Request:
    return pipeline.resolve(services, **(request.model_dump() | {"feature": served.feature}))


def with_warnings(reply: LoadReply, served: Served, description: str | None = None) -> LoadReply:
    """The reply, with the warnings about the name and the description that were asked for."""
    warnings = (*served.warnings, *resolve.warnings(description))
    if not warnings:
        return reply
    return reply.model_copy(update={"warnings": (*warnings, *reply.warnings)})


def _fingerprint(services: Services, feature: str, begun: int) -> Witness | None:
    """What the look-up that just succeeded depended on."""
    found = published.read(services.layout, feature)
    if found is None or found.manifest is None:
        return None
    # If Claude Code is installed later, the same request asks for a deeper dossier.
    programs = locate.candidates(services) if found.manifest.level == "light" else ()
    return fingerprint.of(services, found.manifest, begun, programs)


def _limit(services: Services, request: LoadRequest) -> float:
    return services.settings.child_seconds(pipeline.resolve(services, **request.model_dump()).level)


OPERATION = Operation(
    name="context.load",
    request=LoadRequest,
    reply=LoadReply,
    effect="write",
    doc="Make sure a feature's dossier is there and up to date, and return it.",
    example="preread load checkout --ticket SHOP-142",
    run=load,
    command="load",
    limit=_limit,
    immediate=cached_reply,
    positional=("feature",),
)
