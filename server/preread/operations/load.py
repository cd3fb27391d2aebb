"""`load`: make sure a feature's dossier is there and up to date."""

import time
from functools import partial

from pydantic import Field

from preread import aliases, cache, fingerprint, resolve
from preread.aliases import Resolved
from preread.builders import locate
from preread.builds import build_key, pipeline
from preread.dossier import published
from preread.fingerprint import Fingerprint
from preread.models import LoadReply, Request
from preread.operations.registry import (
    DESCRIPTION,
    FEATURE,
    SCOPE,
    TICKET,
    Context,
    Operation,
    Preview,
    RequestModel,
    in_thread,
)
from preread.services import Services
from preread.settings import Level


class LoadRequest(RequestModel):
    """What to load a dossier for."""

    feature: str = Field(description=FEATURE)
    ticket: str | None = Field(None, description=TICKET)
    description: str | None = Field(None, description=DESCRIPTION)
    force: bool = Field(False, description="Rebuild even if the published dossier is valid.")
    level: Level | None = Field(None, description="Default: the deepest that can be built here.")
    scope: str | None = Field(None, description=SCOPE)


async def load(context: Context, request: LoadRequest) -> LoadReply:
    replies, key = context.reply_cache, (context.start, request)
    cached: LoadReply | None = replies.get(key) if replies is not None else None
    if cached is not None:
        return cached
    begun = time.time_ns()
    services = context.services()
    served = aliases.resolve(services.layout, request.feature)
    resolved = _resolved(services, request, served)
    loaded = await pipeline.load(services, resolved, context.jobs, context.caller)
    reply = with_warnings(services, loaded, served, request.description)
    is_cached = reply.state == "cached" and reply.refresh is None
    if replies is not None and is_cached and reply.status == "ok" and not reply.code:
        depends_on = None
        if services.layout.root == context.start:
            depends_on = await in_thread(context, services, _fingerprint, resolved.feature, begun)
        replies.put(key, depends_on, reply)
    return reply


WOULD = {
    "nothing": "The published dossier covers the request: nothing would change.",
    "words": "What the description asks for would be added to the published dossier, without a "
    "model.",
    "refresh": "The published dossier would be refreshed, without a model.",
}


async def preview(context: Context, request: LoadRequest) -> Preview:
    """Whether it would build; what the dossier would say cannot be previewed."""
    services = context.services()
    served = aliases.resolve(services.layout, request.feature)
    resolved = _resolved(services, request, served)
    key = partial(build_key.build_key, services)
    found = await in_thread(context, services, cache.lookup, resolved, key)
    path = services.layout.relative(services.layout.dossier(resolved.feature))
    build = f"A dossier of level {resolved.level} would be built in {path}/."
    return Preview(notes=(WOULD.get(found.needs, build),))


def cached_reply(services: Services, request: LoadRequest) -> LoadReply | None:
    served = aliases.resolve(services.layout, request.feature)
    reply = pipeline.cached_reply(services, _resolved(services, request, served))
    return None if reply is None else with_warnings(services, reply, served, request.description)


def _resolved(services: Services, request: LoadRequest, served: Resolved) -> Request:
    return pipeline.resolve(services, **(request.model_dump() | {"feature": served.feature}))


def with_warnings(
    services: Services, reply: LoadReply, served: Resolved, description: str | None = None
) -> LoadReply:
    """The reply, with warnings about the settings and about what was asked for."""
    notes = (*served.warnings, *resolve.warnings(description))
    warnings = (*services.settings.broken, *notes)
    if not warnings:
        return reply
    return reply.model_copy(update={"warnings": (*warnings, *reply.warnings)})


def _fingerprint(services: Services, feature: str, begun: int) -> Fingerprint | None:
    """The fingerprint of the look-up that just succeeded."""
    found = published.read(services.layout, feature)
    if found is None or found.manifest is None:
        return None
    # If Claude Code is installed later, the same request asks for a deeper dossier.
    programs = locate.candidates(services) if found.manifest.level == "light" else ()
    return fingerprint.take(services, found.manifest, begun, programs)


def _limit(services: Services, request: LoadRequest) -> float:
    return services.settings.child_seconds(pipeline.resolve(services, **request.model_dump()).level)


OPERATION = Operation(
    name="context.load",
    request=LoadRequest,
    reply=LoadReply,
    effect="write",
    doc="Make sure a feature's dossier is there and up to date, and return it. Calling again with "
    "another `description` is free: a model runs again only for `force`, another ticket, a deeper "
    "level or changed code.",
    example="preread load checkout --ticket SHOP-142",
    run=load,
    preview=preview,
    command="load",
    limit=_limit,
    immediate=cached_reply,
    positional=("feature",),
)
