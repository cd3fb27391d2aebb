"""One request's way from a name to a reply: look up, lock, look up again, build."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from preread import cache, published, replies, spending, stale_hints
from preread import resolve as resolving
from preread.build_key import build_key
from preread.builders import locate
from preread.errors import PrereadError
from preread.infra import atomic
from preread.layout import BY_NAME, REQUIRED, feature_name
from preread.models import LoadReply, Manifest, Request
from preread.services import Services, step

if TYPE_CHECKING:
    from preread.jobs import Caller, Jobs

LOCK_POLL = 0.05  # seconds between looks at a lock that another process holds
CHILD = "PREREAD_CHILD"  # environment variable of everything that a headless builder started


def resolve(services: Services, **asked: object) -> Request:
    """The request, with a level that can be built here.

    Raises E_RECURSION when called from inside a headless builder's own child.
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
    look_up = partial(_recover_and_look_up, services, request)
    if request.level != "light" and services.settings.month_usd:
        await _confirm_spending(services, caller, look_up)
    return await jobs.run(services, request, look_up, build, caller)


async def extend(
    services: Services, feature: str, files: tuple[str, ...], jobs: "Jobs", caller: "Caller"
) -> LoadReply:
    """Have the model draft single files of a published dossier. Raises E_NOT_FOUND, E_USAGE."""
    request = _extension(services, feature, files)

    async def look_up() -> None:
        return None

    if services.settings.month_usd:
        await _confirm_spending(services, caller, look_up)
    return await jobs.run(services, request, look_up, build, caller)


def _extension(services: Services, feature: str, files: tuple[str, ...]) -> Request:
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
            f"Call load for {name} first.",
        )
    # Forced: neither the published dossier nor a running build will do.
    return as_built(manifest).model_copy(update={"feature": name, "force": True, "extend": names})


def cached_reply(services: Services, request: Request) -> LoadReply | None:
    """The reply if a published dossier covers the request.

    None when there is none, or when a killed build left something to recover first.
    """
    if published.pending(services.layout, request.feature):
        return None
    return _look_up(services, request)


async def _recover_and_look_up(services: Services, request: Request) -> LoadReply | None:
    if published.pending(services.layout, request.feature):
        await step(recover, services, request.feature)
    return await step(_look_up, services, request)


def _look_up(services: Services, request: Request) -> LoadReply | None:
    begun = time.monotonic()
    found = cache.lookup(services, request, partial(build_key, services))
    if not found.covers or found.published is None:
        return None
    stale_hints.fresh(services.layout, request.feature)
    seconds = time.monotonic() - begun
    return replies.from_published(services, request, found.published, "cached", seconds)


def recover(services: Services, feature: str) -> None:
    """Finish publishing what a killed build left, so that gates find the dossier too.

    Does nothing while a build is running, which holds the lock, or if the disk cannot be written.
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


def recover_all(services: Services) -> None:
    """Finish publishing what killed builds of any feature left."""
    for feature in published.abandoned(services.layout):
        services.progress.check()
        recover(services, feature)


async def build(services: Services, request: Request) -> LoadReply:
    """Build and publish one dossier; only one process at a time builds a feature.

    Also for `force`, a build by another process will do if it began after this call.
    """
    from preread import publish  # a cached reply must be fast, and needs no module that builds
    from preread.build import build as make

    called = time.time()
    await step(recover_all, services)
    async with feature_lock(services, request.feature):
        await step(publish.recover, services, request.feature)
        if not request.extend:
            if (other := await _built_meanwhile(services, request, called)) is not None:
                return other
            request = await step(_with_published_inputs, services, request)
        async with _building_hint(services, request):
            await step(_hint_if_stale, services, request.feature)
            return await make(services, request)


def _hint_if_stale(services: Services, feature: str) -> None:
    """Tell the gates that the published dossier is stale, since the build may fail or be killed.

    Publishing removes the hint.
    """
    found = published.read(services.layout, feature)
    if found is not None and found.manifest is not None:
        looked = cache.lookup(services, as_built(found.manifest), partial(build_key, services))
        if not looked.covers:
            stale_hints.stale(services.layout, feature, looked.why)


def as_built(manifest: Manifest) -> Request:
    """The request that the dossier with this manifest was built for."""
    return Request(
        feature=manifest.feature,
        ticket=manifest.ticket,
        description=manifest.description,
        scope=manifest.scope,
        level=manifest.level,
    )


def _with_published_inputs(services: Services, request: Request) -> Request:
    """The request, with the published dossier's ticket, description and scope where it names none.

    An omitted input matches any dossier, so a build that only refreshes one must not lose its
    requirements. `force` starts from scratch.
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
    if any(getattr(request, key) not in {"", value} for key, value in inputs.items()):
        return request
    return request.model_copy(
        update={key: value for key, value in inputs.items() if not getattr(request, key)}
    )


async def _built_meanwhile(services: Services, request: Request, called: float) -> LoadReply | None:
    """Look again under the lock: another process may have built the dossier in the meantime."""
    run = published.recorded(services.layout, request.feature)
    if request.force and (run is None or run.started < called):
        return None
    unforced = request.model_copy(update={"force": False})
    found = await step(cache.lookup, services, unforced, partial(build_key, services))
    if not found.covers or found.published is None:
        return None
    return replies.from_published(services, request, found.published, "joined", 0.0)


@asynccontextmanager
async def feature_lock(services: Services, feature: str) -> AsyncIterator[None]:
    """The feature's lock, released even if its holder dies; waits until the deadline."""
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
    """Keeps `.cache/building/<feature>` while a build runs: the gates read its deadline there."""
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


async def _confirm_spending(
    services: Services, caller: "Caller", look_up: Callable[[], Awaitable[LoadReply | None]]
) -> None:
    """Ask before the first build of a month that would exceed its limit.

    Nobody is asked when a published dossier covers the request.
    """
    if caller.ask is None or await step(spending.allows, services) or await look_up() is not None:
        return
    if await caller.ask(spending.question(services)):
        await step(spending.agree, services)
