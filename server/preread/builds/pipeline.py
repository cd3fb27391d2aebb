"""The path of a request: look up, join a running build, or start one."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from preread import cache, git_rules
from preread import resolve as resolving
from preread.builders import locate
from preread.builds import feature_lock, replies, staleness
from preread.builds.build_key import build_key
from preread.dossier import published
from preread.errors import Cancelled, PrereadError
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

    None when there is none, or when a killed call left something to recover first.
    """
    if feature_lock.may_recover(services, request.feature):
        return None
    return _look_up(services, request)


async def _recover_and_look_up(
    services: Services, request: Request, covering: list[published.Published]
) -> LoadReply | None:
    if feature_lock.may_recover(services, request.feature):
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
    if not staleness.is_current(services, found):
        stale_hints.clear_cited(services.layout, request.feature)
        return None
    stale_hints.clear(services.layout, request.feature)
    seconds = time.monotonic() - begun
    reply = replies.from_published(services, request, found.published, "cached", seconds)
    return replies.with_doubt(reply, found.doubt) if found.doubt else reply


def _needs_model(services: Services, request: Request) -> bool:
    feature_lock.recover(services, request.feature)
    found = cache.lookup(services, request, partial(build_key, services))
    return found.needs == "build"


async def build(services: Services, request: Request) -> LoadReply:
    """Build and publish one dossier; only one process at a time builds a feature.

    Even with `force`, a build by another process is enough if it began after this call.
    """
    # A cached reply needs none of these.
    from preread.builds import locked_build, unwritable
    from preread.records import live_builds

    try:
        notes = await step(git_rules.prepare, services.layout, services.settings)
        reply = await live_builds.run(services, request, locked_build.run)
    except PrereadError as error:
        return await unwritable.reply(services, request, error)
    return reply.model_copy(update={"warnings": (*notes, *reply.warnings)}) if notes else reply


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
