"""A build under its feature's lock: look up again, then add facts, refresh, or build."""

import time
from functools import partial

from preread import cache, publish
from preread.builds import (
    feature_lock,
    lost_files,
    lost_manifests,
    recording,
    replies,
    staleness,
)
from preread.builds.build import RefreshDeferred, build
from preread.builds.build_key import build_key
from preread.builds.widening import widen
from preread.dossier import build_records, published
from preread.dossier.build_records import BuildRecord
from preread.dossier.published import Published
from preread.models import LoadReply, Request
from preread.services import Services, step


async def run(services: Services, request: Request) -> LoadReply:
    """Hold the feature's lock, recover what killed builds left, then look up again or build."""
    called = time.time()
    await step(feature_lock.recover_all, services)
    async with feature_lock.hold(services, request.feature):
        await step(publish.recover, services, request.feature)
        note = await step(lost_manifests.restore, services, request.feature)
        notes = await step(lost_files.restore, services, request.feature)
        doubts = await step(_left_out, services, request)
        reply = await _look_up_or_build(services, request, called)
    if reply.status != "error" and reply.state != "joined":
        reply = reply.model_copy(update={"warnings": (*doubts, *reply.warnings)})
    notes = [note, *notes] if note else notes
    if not notes:
        return reply
    state = "cached" if reply.state == "joined" else reply.state  # nobody else restored it
    return reply.model_copy(update={"warnings": (*notes, *reply.warnings), "state": state})


def _left_out(services: Services, request: Request) -> list[str]:
    """A warning if a forced build lacks what is not checked out here, although a refresh waits."""
    manifest = published.in_place(services.layout, request.feature).manifest
    why = cache.unfit_work_tree(services, manifest) if request.force and manifest else ""
    said = f"It was built because of `force`, but {why}: what is missing here is left out."
    return [said] if why else []


async def _look_up_or_build(services: Services, request: Request, called: float) -> LoadReply:
    """Look up again under the lock; then refresh the published dossier, or build a new one.

    A refresh does not change the description, so another one is added after it.
    """
    stale, asked = None, request
    if not request.extend:
        lookup = await step(_look_again, services, request, called)
        if (reply := await _without_build(services, request, lookup)) is not None:
            return reply
        asked = await step(_with_published_inputs, services, request)
        if lookup.needs != "build" and lookup.published and lookup.published.manifest:
            stale = lookup.published
            # Not `auto`: a test that has failed since then is no reason to pay for another build.
            asked = staleness.as_built(lookup.published.manifest)
    earlier = await step(build_records.read, services.layout, request.feature)
    async with feature_lock.building(services, asked):
        await step(_hint_if_stale, services, request.feature)
        reply = await _build_or_keep(services, request, asked, stale)
    if stale is not None:
        again = await step(_look_again, services, request, called)
        if again.needs == "widen":
            widened = await _without_build(services, request, again) or reply
            if reply.state == "built":
                return widened
            return await step(_since, services, widened, stale, earlier)
    return reply


def _since(
    services: Services, reply: LoadReply, before: Published, earlier: BuildRecord | None
) -> LoadReply:
    """The reply, and the run record, with what the refresh and the facts added after it changed.

    `before` and `earlier` are the dossier and the run record from before the refresh.
    """
    feature = before.manifest.feature if before.manifest is not None else ""
    now = published.read(services.layout, feature)
    run = build_records.read(services.layout, feature)
    if now is None:
        return reply
    lost = recording.lost_since(before, now)
    found = recording.refresh_result(services.layout, before, now, lost)
    if run is not None:
        build_records.write(services.layout, feature, recording.with_refresh(run, found, earlier))
    return replies.refreshed(reply, lost, found)


async def _build_or_keep(
    services: Services, request: Request, asked: Request, stale: published.Published | None
) -> LoadReply:
    """The reply of a build; or the published dossier, if a refresh would cost it facts."""
    try:
        return await build(services, asked, stale)
    except RefreshDeferred:
        if stale is None:
            raise
        reply = await step(replies.from_published, services, request, stale, "cached", 0.0)
        return replies.with_doubt(reply, services.tree.troubles)


def _hint_if_stale(services: Services, feature: str) -> None:
    """Tell the gates that the published dossier is stale: the build may fail or be killed."""
    found = published.read(services.layout, feature)
    if found is not None and found.manifest is not None:
        staleness.hint(services, feature, found.manifest)


def _with_published_inputs(services: Services, request: Request) -> Request:
    """The request, with the published dossier's ticket, description and scope where it names none.

    An omitted input matches any dossier, so a build that refreshes one, or that is for another
    description, must not lose its requirements. `force` starts from scratch.
    """
    found = published.read(services.layout, request.feature)
    if request.force or found is None or found.manifest is None:
        return request
    manifest = found.manifest
    inputs = {
        "ticket": manifest.ticket,
        "description": manifest.description,
        "scope": manifest.scope,
    }
    if request.ticket not in {"", manifest.ticket} or request.scope not in {"", manifest.scope}:
        return request
    return request.model_copy(
        update={key: value for key, value in inputs.items() if not getattr(request, key)}
    )


def _look_again(services: Services, request: Request, called: float) -> cache.Lookup:
    """Look up under the lock: another process may have built the dossier in the meantime.

    With `force`, a build that began after this call is enough.
    """
    run = build_records.read(services.layout, request.feature)
    # A start in the future means that the clock was set back.
    if not request.force or (run is not None and called <= run.started <= time.time()):
        request = request.model_copy(update={"force": False})
    return cache.lookup(services, request, partial(build_key, services))


async def _without_build(
    services: Services, request: Request, lookup: cache.Lookup
) -> LoadReply | None:
    """The reply without a build, if there is one. For another description, facts are added."""
    if lookup.published is None:
        return None
    if lookup.needs == "widen":
        unforced = request.model_copy(update={"force": False})
        return await widen(services, unforced, lookup.published)
    if not lookup.covers or not await step(staleness.is_current, services, lookup):
        return None
    if lookup.doubt:
        reply = replies.from_published(services, request, lookup.published, "cached", 0.0)
        return replies.with_doubt(reply, lookup.doubt)
    return replies.from_published(services, request, lookup.published, "joined", 0.0)
