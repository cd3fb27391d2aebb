"""The pipeline of a request: look up, lock, look up again, build."""

import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from preread import cache, git_rules
from preread import resolve as resolving
from preread.builders import locate
from preread.builds import feature_lock, replies, staleness
from preread.builds.build_key import build_key
from preread.dossier import published
from preread.errors import Cancelled, PrereadError, Unreadable
from preread.infra import db
from preread.layout import BY_NAME, REQUIRED
from preread.models import LoadReply, Request
from preread.names import feature_name
from preread.records import spending, stale_hints
from preread.services import Services, step

if TYPE_CHECKING:
    from preread.builds.jobs import Caller, Jobs

CHILD = "PREREAD_CHILD"  # environment variable of everything that a headless builder started


def resolve(services: Services, **asked: object) -> Request:
    """The request, with a level that can be built here.

    Raises E_RECURSION inside a headless builder's own child.
    """
    if CHILD in services.environ:
        raise PrereadError(
            "E_RECURSION",
            "This process runs inside a dossier's build, which must not wait for another one.",
            "Read the published dossiers. If no build is running, "
            f"remove {CHILD} from the environment.",
        )
    headless = asked.get("level") != "light" and locate.is_installed(services)
    return resolving.resolve(services, headless=headless, **asked)  # type: ignore[arg-type]


async def load(services: Services, request: Request, jobs: "Jobs", caller: "Caller") -> LoadReply:
    """The published dossier if it covers the request, else a build.

    The reply's status is `building` when the caller cannot wait that long.
    """
    covering: list[published.Published] = []
    look_up = partial(_recover_and_look_up, services, request, covering)
    if request.level != "light" and services.settings.month_usd:

        async def needs_model() -> bool:
            return await step(_needs_model, services, request)

        await _confirm_spending(services, caller, needs_model)
    try:
        return await jobs.run(services, request, look_up, build, caller)
    except PrereadError as error:
        # `covering` is empty if this call published the dossier itself: it needed no refresh.
        reply = await step(_not_refreshed, services, request, error) if covering else None
        if reply is None:
            raise
        return reply


def _not_refreshed(services: Services, request: Request, error: PrereadError) -> LoadReply | None:
    """The published dossier if it still covers the request, although it could not be refreshed."""
    found = cache.lookup(services, request, partial(build_key, services))
    if isinstance(error, Cancelled) or not found.covers or found.published is None:
        return None
    reply = replies.from_published(services, request, found.published, "cached", 0.0)
    why = f"Files changed since this was computed, and it could not be refreshed: {error.message}"
    return reply.model_copy(update={"warnings": (*reply.warnings, why)})


async def extend(
    services: Services, feature: str, files: tuple[str, ...], jobs: "Jobs", caller: "Caller"
) -> LoadReply:
    """Have the model draft single files of a published dossier. Raises E_NOT_FOUND, E_USAGE."""
    request = extension(services, feature, files)

    async def look_up() -> None:
        return None

    async def needs_model() -> bool:
        return True

    if services.settings.month_usd:
        await _confirm_spending(services, caller, needs_model)
    return await jobs.run(services, request, look_up, build, caller)


def extension(services: Services, feature: str, files: tuple[str, ...]) -> Request:
    """The request to draft single files again. Raises E_NOT_FOUND, E_USAGE."""
    name = resolve(services, feature=feature_name(feature)).feature
    names = tuple(file if file.endswith(".md") else f"{file}.md" for file in files)
    unknown = [file for file in names if file not in BY_NAME]
    if unknown or not names:
        known = ", ".join(file.removesuffix(".md") for file in BY_NAME)
        message = f"{unknown[0]} is not a file of a dossier." if unknown else "No file is named."
        raise PrereadError("E_USAGE", message, f"Files: {known}.")
    found = published.read(services.layout, name)
    manifest = found.manifest if found is not None else None
    if (
        found is None
        or manifest is None
        or any(not found.texts.get(file, "").strip() for file in REQUIRED)
    ):
        raise PrereadError(
            "E_NOT_FOUND",
            f"There is no dossier of {name} to extend.",
            f"Load it first: `preread load {name}`.",
        )
    # Forced: neither the published dossier nor a running build will do.
    asked = staleness.as_built(manifest)
    return asked.model_copy(update={"feature": name, "force": True, "extend": names})


def cached_reply(services: Services, request: Request) -> LoadReply | None:
    """The reply if a published dossier covers the request.

    None when there is none, or when a killed build left something to recover first.
    """
    if published.pending(services.layout, request.feature):
        return None
    return _look_up(services, request)


async def _recover_and_look_up(
    services: Services, request: Request, covering: list[published.Published]
) -> LoadReply | None:
    if published.pending(services.layout, request.feature):
        await step(feature_lock.recover, services, request.feature)
    return await step(_look_up, services, request, covering)


def _look_up(
    services: Services, request: Request, covering: list[published.Published] | None = None
) -> LoadReply | None:
    """The reply without a build, if there is one; adds a dossier that covers it to `covering`."""
    begun = time.monotonic()
    found = cache.lookup(services, request, partial(build_key, services))
    if not found.covers or found.published is None:
        return None
    if covering is not None:
        covering.append(found.published)
    stale_hints.clear(services.layout, request.feature)
    if not staleness.is_current(services, found):
        return None
    seconds = time.monotonic() - begun
    reply = replies.from_published(services, request, found.published, "cached", seconds)
    return _with_doubt(reply, found.doubt) if found.doubt else reply


def _with_doubt(reply: LoadReply, why: str) -> LoadReply:
    doubt = f"It may be out of date: {why.rstrip('.')}."
    return reply.model_copy(update={"warnings": (*reply.warnings, doubt), "code": Unreadable.CODE})


def _needs_model(services: Services, request: Request) -> bool:
    feature_lock.recover(services, request.feature)
    found = cache.lookup(services, request, partial(build_key, services))
    return found.needs == "build"


async def build(services: Services, request: Request) -> LoadReply:
    """Build and publish one dossier; only one process at a time builds a feature.

    Even with `force`, a build by another process is enough if it began after this call.
    """
    from preread.records import live_builds  # not needed by a cached reply

    try:
        notes = await step(git_rules.prepare, services.layout, services.settings)
        reply = await live_builds.run(services, request, _locked_build)
    except PrereadError as error:
        return await _unsaved(services, request, error)
    return reply.model_copy(update={"warnings": (*notes, *reply.warnings)}) if notes else reply


async def _unsaved(services: Services, request: Request, error: PrereadError) -> LoadReply:
    """The reply if something cannot be written: the published dossier, or one in the reply only.

    The published one even if it is out of date, if there is no other. Raises any other error, and
    this one if a published dossier was to be replaced.
    """
    if error.code != "E_WRITE" or request.extend:
        raise error
    unforced = request.model_copy(update={"force": False})
    found = await step(cache.lookup, services, unforced, partial(build_key, services))
    if not found.covers or found.published is None:
        reply = await _without_publishing(services, request, error)
        if reply is not None:
            return reply
    if request.force or found.published is None or found.needs == "build":
        raise error
    reply = replies.from_published(services, request, found.published, "cached", 0.0)
    why = f"It, or the record of it, could not be refreshed: {error.message}"
    if not found.covers:
        why = f"It is out of date ({found.why}), and could not be refreshed: {error.message}"
    more = {"code": error.code, "hint": error.hint} if not found.covers else {}
    return reply.model_copy(update={"warnings": (*reply.warnings, why), **more})


async def _without_publishing(
    services: Services, request: Request, error: PrereadError
) -> LoadReply | None:
    """A dossier in the reply only; None if that fails, too."""
    from preread.builds.build import without_publishing

    for place in (nullcontext(), db.in_memory(services.layout)):  # no room for the index either
        try:
            with place:
                return await without_publishing(services, request, error)
        except Cancelled:
            raise
        except PrereadError as failure:
            if failure.code != "E_WRITE":
                break
    return None


async def _locked_build(services: Services, request: Request) -> LoadReply:
    # A cached reply must be fast, and needs no module that builds.
    from preread import publish
    from preread.builds import lost_manifests

    called = time.time()
    await step(feature_lock.recover_all, services)
    async with feature_lock.hold(services, request.feature):
        await step(publish.recover, services, request.feature)
        note = await step(lost_manifests.restore, services, request.feature)
        reply = await _look_up_or_build(services, request, called)
    return reply.model_copy(update={"warnings": (note, *reply.warnings)}) if note else reply


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
    async with feature_lock.building(services, asked):
        await step(_hint_if_stale, services, request.feature)
        reply = await _build_or_keep(services, request, asked, stale)
    if stale is not None:
        again = await step(_look_again, services, request, called)
        if again.needs == "widen":
            reply = await _without_build(services, request, again) or reply
            now = await step(published.read, services.layout, request.feature)
            if now is not None and now.texts == stale.texts:
                return reply.model_copy(update={"state": "cached"})
    return reply


async def _build_or_keep(
    services: Services, request: Request, asked: Request, stale: published.Published | None
) -> LoadReply:
    """The reply of a build; or the published dossier, if a refresh would cost it facts."""
    from preread.builds.build import RefreshDeferred
    from preread.builds.build import build as make

    try:
        return await make(services, asked, stale)
    except RefreshDeferred:
        if stale is None:
            raise
        reply = await step(replies.from_published, services, request, stale, "cached", 0.0)
        return _with_doubt(reply, services.tree.troubles)


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
    run = published.recorded(services.layout, request.feature)
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
        from preread.builds.widening import widen

        unforced = request.model_copy(update={"force": False})
        return await widen(services, unforced, lookup.published)
    if not lookup.covers or not await step(staleness.is_current, services, lookup):
        return None
    return replies.from_published(services, request, lookup.published, "joined", 0.0)


async def _confirm_spending(
    services: Services, caller: "Caller", needs_model: Callable[[], Awaitable[bool]]
) -> None:
    """Ask before the first build of a month that would exceed its limit.

    Nobody is asked when a published dossier serves the request.
    """
    if caller.ask is None or await step(spending.allows, services) or not await needs_model():
        return
    if await caller.ask(spending.question(services)):
        await step(spending.agree, services)
