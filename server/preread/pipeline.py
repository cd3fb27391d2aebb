"""The steps in their order: one request's way from a name to a reply."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from preread import atomic, cache, dossier, published, replies
from preread.builders import BUILDERS, STATIC, recipe
from preread.errors import Cancelled, PrereadError
from preread.models import Checked, Draft, Evidence, Fault, LoadReply, Manifest, Request
from preread.services import Services

if TYPE_CHECKING:
    from pathlib import Path

    from preread.jobs import Caller, Jobs

T = TypeVar("T")
LOCK_POLL = 0.05  # seconds between looks at a lock that another process holds


async def load(services: Services, request: Request, jobs: "Jobs", caller: "Caller") -> LoadReply:
    """A standing dossier that covers the request, or a build; `building` when the caller cannot wait so long."""
    return await jobs.run(services, request, partial(_standing, services, request), build, caller)


def standing(services: Services, request: Request) -> LoadReply | None:
    """The reply of a dossier that covers the request; None when there is none, or a killed build left remains."""
    return None if published.staged(services.layout, request.feature) else _look_up(services, request)


async def _standing(services: Services, request: Request) -> LoadReply | None:
    if published.staged(services.layout, request.feature):
        await _recover(services, request.feature)
    return await _step(_look_up, services, request)


def _look_up(services: Services, request: Request) -> LoadReply | None:
    begun = time.monotonic()
    found = cache.lookup(services, request, recipe(services, request.level))
    if not found.covers or found.published is None:
        return None
    return replies.standing(services, request, found.published, "cached", time.monotonic() - begun)


async def _recover(services: Services, feature: str) -> None:
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
            await _step(publish.recover, services, feature)
        finally:
            lock.release()


async def build(services: Services, request: Request) -> LoadReply:
    """Build and publish one dossier, alone for its feature among all processes.

    A build of another process that began after this one was asked for serves `force` too.
    """
    from preread import publish  # a cached reply, which has to be fast, needs none of what builds

    called = time.time()
    async with feature_lock(services, request.feature):
        await _step(publish.recover, services, request.feature)
        if (other := await _built_meanwhile(services, request, called)) is not None:
            return other
        request = await _step(_as_asked_before, services, request)
        async with _building_hint(services, request.feature):
            return await _build(services, request, time.time())


def _as_asked_before(services: Services, request: Request) -> Request:
    """The request with the ticket and the description of the standing dossier where it leaves them open.

    What is open matches any dossier, so a build that only renews one must not lose its requirements.
    `force` starts anew.
    """
    found = published.read(services.layout, request.feature)
    if request.force or found is None or found.manifest is None:
        return request
    standing = found.manifest
    same = request.ticket in {"", standing.ticket} and request.description in {"", standing.description}
    open_ = {"ticket": standing.ticket, "description": standing.description}
    return request.model_copy(update={k: v for k, v in open_.items() if same and not getattr(request, k)})


async def _built_meanwhile(services: Services, request: Request, called: float) -> LoadReply | None:
    """Look again, under the lock: another process may have built what is asked for while this one waited."""
    run = published.recorded(services.layout, request.feature)
    if request.force and (run is None or run.started < called):
        return None
    found = await _step(
        cache.lookup, services, request.model_copy(update={"force": False}), recipe(services, request.level)
    )
    if not found.covers or found.published is None:
        return None
    return replies.standing(services, request, found.published, "joined", 0.0)


async def _build(services: Services, request: Request, started: float) -> LoadReply:
    builder = BUILDERS.get(request.level, STATIC)
    reason = (
        "" if request.level in BUILDERS else f"level {request.level} needs the headless builder, which is not available"
    )
    from preread import facts, publish, validate
    from preread.evidence import collect

    evidence = await _step(collect, services, request)
    staging = await _step(publish.stage, services, request.feature)
    try:
        await builder.build(services, request, evidence, staging)
        checked, own = await _step(_check, services, request, evidence, staging)
        manifest = Manifest(
            feature=request.feature,
            ticket=request.ticket,
            description=request.description,
            level=request.level,
            builder=builder.name,
            status="degraded" if reason else "ok",
            fault=Fault(code="E_CLI", reason=reason) if reason else None,
            recipe=recipe(services, request.level),
            used=evidence.used,
            spans=checked.spans,
            facts=own,
        )
        await _step(publish.publish, services, staging, manifest)
    except BaseException:
        import anyio.to_thread

        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(atomic.remove, staging)
        raise
    run = replies.run_record(manifest, checked, started)
    published.record(services.layout, request.feature, run)
    warnings = list(evidence.notes)
    try:
        await _step(facts.index, services, validate.judge)
    except Cancelled:
        raise
    except PrereadError as error:  # the index is derived: the dossier stands without it
        warnings.append(f"Its facts could not be indexed: {error.message}")
    return replies.built(services, request, run, warnings)


def _check(
    services: Services, request: Request, evidence: Evidence, staging: "Path"
) -> tuple[Checked, tuple[str, ...]]:
    """Check what was drafted, add what people wrote, write the summary last, and leave only what holds in staging.

    With the ids of the facts that are not people's: those go when the builder no longer finds them.
    """
    from preread import validate
    from preread.builders import summary

    services.progress.say("checking every source", 4, 5)
    drafted, problems = validate.staged(services, request.feature, staging)
    drafts = validate.with_people(services, request.feature, drafted)
    people = _ids(drafts) - _ids(drafted)
    ranks = {finding.text: finding.score for finding in evidence.findings}
    checked = validate.check(services, request.feature, drafts, problems=problems, budget=True, ranks=ranks)
    if not any(draft.name == "summary.md" for draft in checked.drafts):
        draft = summary.summarise(request, evidence, checked)
        checked = validate.check(
            services,
            request.feature,
            (*checked.drafts, draft),
            problems=checked.problems,
            budget=True,
            ranks=ranks,
            before=checked,
        )
    _restage(staging, checked.drafts)
    return checked, tuple(sorted(_ids(checked.drafts) - people))


def _ids(drafts: tuple[Draft, ...]) -> set[str]:
    return {dossier.fact_id(draft.name, fact.text) for draft, _, fact in dossier.all_facts(drafts)}


def _restage(staging: "Path", drafts: tuple[Draft, ...]) -> None:
    for path in staging.iterdir():
        atomic.remove(path)
    for draft in drafts:
        atomic.write(staging / draft.name, dossier.render(draft).encode())


async def _step(step: Callable[..., T], *arguments: object) -> T:
    """Run one blocking step in a worker thread; it ends itself when its progress is told to stop."""
    import anyio.to_thread

    return await anyio.to_thread.run_sync(partial(step, *arguments))


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
async def _building_hint(services: Services, feature: str) -> AsyncIterator[None]:
    """`.cache/building/<feature>` while a build runs: the gates read its deadline there."""
    hint = services.layout.building(feature)
    atomic.write(hint, f"{time.time() + services.settings.timeout:.0f}\n".encode())
    try:
        yield
    finally:
        with suppress(PrereadError):
            atomic.remove(hint)
