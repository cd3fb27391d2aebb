"""The steps in their order: one request's way from a name to a reply."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from preread import cache, published, replies, spending, stale_hints
from preread import resolve as resolving
from preread.build_key import recipe
from preread.builders import located
from preread.errors import PrereadError
from preread.infra import atomic
from preread.layout import BY_NAME, REQUIRED, feature_name
from preread.models import LoadReply, Manifest, Request
from preread.services import Services, step

if TYPE_CHECKING:
    from preread.jobs import Caller, Jobs

LOCK_POLL = 0.05  # seconds between looks at a lock that another process holds
CHILD = "PREREAD_CHILD"  # in the environment of whatever a headless builder started


def resolve(services: Services, **asked: object) -> Request:
    """The request, by what can be run here. Raises E_RECURSION for a call out of a headless builder's own child."""
    if CHILD in services.environ:
        raise PrereadError(
            "E_RECURSION",
            "This process runs inside a dossier's build, which must not wait for another one.",
            f"Read the dossiers that stand. If no build is running, take {CHILD} out of the environment.",
        )
    headless = asked.get("level") != "light" and located.is_there(services)
    return resolving.resolve(services, headless=headless, **asked)  # type: ignore[arg-type]


async def load(services: Services, request: Request, jobs: "Jobs", caller: "Caller") -> LoadReply:
    """A standing dossier that covers the request, or a build; `building` when the caller cannot wait so long."""
    look_up = partial(_standing, services, request)
    if request.level != "light" and services.settings.month_usd:
        await _agreed(services, caller, look_up)
    return await jobs.run(services, request, look_up, build, caller)


async def extend(
    services: Services, feature: str, files: tuple[str, ...], jobs: "Jobs", caller: "Caller"
) -> LoadReply:
    """Have the model draft single files of a dossier that stands. Raises E_NOT_FOUND, E_USAGE."""
    request = _extension(services, feature, files)

    async def nothing() -> None:
        return None

    if services.settings.month_usd:
        await _agreed(services, caller, nothing)
    return await jobs.run(services, request, nothing, build, caller)


def _extension(services: Services, feature: str, files: tuple[str, ...]) -> Request:
    name = resolve(services, feature=feature_name(feature)).feature
    names = tuple(file if file.endswith(".md") else f"{file}.md" for file in files)
    unknown = [file for file in names if file not in BY_NAME]
    if unknown or not names:
        known = ", ".join(file.removesuffix(".md") for file in BY_NAME)
        raise PrereadError(
            "E_USAGE",
            f"{unknown[0] if unknown else 'Nothing'} is no file of a dossier.",
            f"Files: {known}.",
        )
    found = published.read(services.layout, name)
    if (
        found is None
        or found.manifest is None
        or any(not found.texts.get(file, "").strip() for file in REQUIRED)
    ):
        raise PrereadError(
            "E_NOT_FOUND",
            f"There is no dossier of {name} to extend.",
            f"Call load for {name} first.",
        )
    standing = found.manifest
    return Request(
        feature=name,
        ticket=standing.ticket,
        description=standing.description,
        scope=standing.scope,
        level=standing.level,
        force=True,  # no dossier that stands, and no build that is under way, will do
        extend=names,
    )


def standing(services: Services, request: Request) -> LoadReply | None:
    """The reply of a dossier that covers the request; None when there is none, or a killed build left remains."""
    return (
        None if published.pending(services.layout, request.feature) else _look_up(services, request)
    )


async def _standing(services: Services, request: Request) -> LoadReply | None:
    if published.pending(services.layout, request.feature):
        await step(recover, services, request.feature)
    return await step(_look_up, services, request)


def _look_up(services: Services, request: Request) -> LoadReply | None:
    begun = time.monotonic()
    found = cache.lookup(services, request, partial(recipe, services))
    if not found.covers or found.published is None:
        return None
    stale_hints.clear(services.layout, request.feature)
    return replies.standing(services, request, found.published, "cached", time.monotonic() - begun)


def recover(services: Services, feature: str) -> None:
    """Finish what a killed build left, so that gates, too, find the dossier that a reply is about to name.

    Not while a build is under way, which holds the lock; and a disk that takes no writes keeps its remains.
    """
    from filelock import FileLock, Timeout

    from preread import publish

    lock = FileLock(services.layout.lock(feature), thread_local=False)
    with suppress(Timeout, PrereadError):
        with atomic.write_errors(services.layout.lock(feature)):
            lock.acquire(timeout=0)
        try:
            publish.recover(services, feature)
        finally:
            lock.release()


def tidy(services: Services) -> None:
    """Finish what killed builds of any feature left."""
    for feature in published.abandoned(services.layout):
        services.progress.check()
        recover(services, feature)


async def build(services: Services, request: Request) -> LoadReply:
    """Build and publish one dossier, alone for its feature among all processes.

    A build of another process that began after this one was asked for serves `force` too.
    """
    from preread import publish  # a cached reply, which has to be fast, needs none of what builds
    from preread.build import build as make

    called = time.time()
    await step(tidy, services)
    async with feature_lock(services, request.feature):
        await step(publish.recover, services, request.feature)
        if not request.extend:
            if (other := await _built_meanwhile(services, request, called)) is not None:
                return other
            request = await step(_as_asked_before, services, request)
        async with _building_hint(services, request):
            await step(_tell_if_stale, services, request.feature)
            return await make(services, request)


def _tell_if_stale(services: Services, feature: str) -> None:
    """Before a build, which may fail or be killed: the gates say of what stands that it no longer holds.

    Publishing takes it back.
    """
    found = published.read(services.layout, feature)
    if found is not None and found.manifest is not None:
        looked = cache.lookup(services, as_built(found.manifest), partial(recipe, services))
        if not looked.covers:
            stale_hints.mark(services.layout, feature, looked.why)


def as_built(manifest: Manifest) -> Request:
    """The request that the dossier of this manifest was built for."""
    return Request(
        feature=manifest.feature,
        ticket=manifest.ticket,
        description=manifest.description,
        scope=manifest.scope,
        level=manifest.level,
    )


def _as_asked_before(services: Services, request: Request) -> Request:
    """The request with the ticket, description and scope of the standing dossier where it leaves them open.

    What is open matches any dossier, so a build that only renews one must not lose its requirements.
    `force` starts anew.
    """
    found = published.read(services.layout, request.feature)
    if request.force or found is None or found.manifest is None:
        return request
    standing = found.manifest
    open_ = {
        "ticket": standing.ticket,
        "description": standing.description,
        "scope": standing.scope,
    }
    same = all(getattr(request, key) in {"", value} for key, value in open_.items())
    return request.model_copy(
        update={k: v for k, v in open_.items() if same and not getattr(request, k)}
    )


async def _built_meanwhile(services: Services, request: Request, called: float) -> LoadReply | None:
    """Look again, under the lock: another process may have built what is asked for while this one waited."""
    run = published.recorded(services.layout, request.feature)
    if request.force and (run is None or run.started < called):
        return None
    found = await step(
        cache.lookup,
        services,
        request.model_copy(update={"force": False}),
        partial(recipe, services),
    )
    if not found.covers or found.published is None:
        return None
    return replies.standing(services, request, found.published, "joined", 0.0)


@asynccontextmanager
async def feature_lock(services: Services, feature: str) -> AsyncIterator[None]:
    """The feature's lock, which the death of its holder releases; waits as long as the deadline allows."""
    path = services.layout.lock(feature)
    atomic.make_folder(path.parent)
    from anyio import sleep
    from filelock import FileLock, Timeout

    lock = FileLock(path, thread_local=False)
    while True:
        with atomic.write_errors(path), suppress(Timeout):
            lock.acquire(timeout=0)
        if lock.is_locked:
            break
        services.progress.say(f"another process is building {feature}", 0, 5)
        await sleep(LOCK_POLL)
    try:
        yield
    finally:
        lock.release()


@asynccontextmanager
async def _building_hint(services: Services, request: Request) -> AsyncIterator[None]:
    """`.cache/building/<feature>` while a build runs: the gates read its deadline there."""
    hint = services.layout.building(request.feature)
    limit = services.settings.build_seconds(
        request.level, auto=request.auto, extends=bool(request.extend)
    )
    atomic.write(hint, f"{time.time() + limit:.0f}\n".encode())
    try:
        yield
    finally:
        with suppress(PrereadError):
            atomic.remove(hint)


async def _agreed(
    services: Services, caller: "Caller", look_up: Callable[[], Awaitable[LoadReply | None]]
) -> None:
    """Ask before the first build of a month that would pass its limit; nobody is asked where a dossier stands."""
    if caller.ask is None or await step(spending.allows, services) or await look_up() is not None:
        return
    if await caller.ask(spending.question(services)):
        await step(spending.agree, services)
