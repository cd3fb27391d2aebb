"""Builds under way in this process: one per feature, joined by callers, detached from those who leave."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

import anyio
from anyio.abc import TaskGroup

from preread import replies
from preread.errors import Cancelled
from preread.models import LEVELS, LoadReply, Request
from preread.services import Progress, Services
from preread.settings import Settings

Tell = Callable[[str, float, float], Awaitable[None]]
Work = Callable[[Services, Request], Awaitable[LoadReply]]
Standing = Callable[[], Awaitable[LoadReply | None]]


@dataclass(frozen=True)
class Caller:
    """Who waits: how long before `building` is the reply (None: to the end), and where progress goes."""

    wait: float | None
    tell: Tell
    impatient: bool = (
        False  # gives up on long calls by itself: the setting `reply_within` is its wait
    )
    ask: Callable[[str], Awaitable[bool]] | None = None  # a person who can say yes or no
    outlived: bool = (
        False  # builds go on without it, so it takes an early reply that a better one will replace
    )

    def patience(self, settings: Settings) -> float:
        """Seconds that this caller waits, without end as infinity."""
        wait = settings.reply_within if self.impatient else self.wait
        return math.inf if wait is None else wait


class Job:
    """One build: what it is for, how far it is, who waits for it, how it ended."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.progress = Progress(report=self._report, offer=self._offer)
        self.scope = anyio.CancelScope()
        self.begun: float | None = (
            None  # on time.monotonic()'s clock; None while it waits for its turn
        )
        self.attached = 0
        self.promised = False  # somebody was told that it goes on: so it does, without callers
        self.offered: LoadReply | None = None  # serves until it ends
        self.stopping = False
        self.reply: LoadReply | None = None
        self.error: Exception | None = None
        self._news: tuple[str, float, float] | None = None
        self._changed = anyio.Event()
        self._waking = False
        self._loop = asyncio.get_running_loop()

    @property
    def done(self) -> bool:
        return self.reply is not None or self.error is not None

    def serves(self, request: Request, asked: float) -> bool:
        """Whether its reply is what a call made at `asked` wants: if forced, one that begins later."""
        mine = self.request
        return (
            not self.stopping
            and LEVELS.index(mine.level) >= LEVELS.index(request.level)
            and request.ticket in {"", mine.ticket}
            and request.description in {"", mine.description}
            and request.scope in {"", mine.scope}
            and (not request.force or self.begun is None or self.begun > asked)
            and (not request.force or set(request.extend) == set(mine.extend))
        )

    async def build(self, services: Services, work: Work, turn: anyio.CapacityLimiter) -> None:
        """Run the work when its turn comes, within its deadline; whatever happens is kept for the callers."""
        try:
            with self.scope:
                async with turn:
                    self.begun = self.progress.begun = time.monotonic()
                    limit = services.settings.build_seconds(
                        self.request.level,
                        auto=self.request.auto,
                        extends=bool(self.request.extend),
                    )
                    self.progress.deadline = self.begun + limit
                    self.scope.deadline = anyio.current_time() + limit
                    self.reply = await work(replace(services, progress=self.progress), self.request)
            if self.reply is None:  # the scope was cancelled: by stop() or by its deadline
                self.progress.check()
                raise Cancelled
        except Exception as error:  # it belongs to the callers, who raise it again
            self.error = error
        except BaseException:
            self.error = Cancelled()
            raise
        finally:
            self._changed.set()

    def stop(self) -> None:
        """End it: worker threads at their next check, everything else at once. Safe in a signal handler."""
        self.stopping = True
        self.progress.stop()
        with suppress(RuntimeError):  # the loop is closed: nothing is left to cancel
            self._loop.call_soon_threadsafe(self.scope.cancel)

    async def follow(self, tell: Tell, *, early: bool) -> None:
        """Wait for its end, or its early reply, and pass on its latest progress; what came in between is skipped."""
        told = None
        while not (self.done or (early and self.offered)):
            if self._news is not None and self._news is not told:
                told = self._news
                await tell(*told)
            else:
                await self._changed.wait()

    async def ended(self) -> None:
        while not self.done:
            await self._changed.wait()

    def outcome(self) -> LoadReply:
        """The reply, or the error raised."""
        if self.reply is None:
            raise self.error or Cancelled()
        return self.reply

    def _offer(self, reply: LoadReply) -> None:
        self.offered = reply
        self._stir()

    def _report(self, message: str, done: float, total: float) -> None:
        """Called from worker threads: leave the news and wake the loop, never wait for it."""
        self._news = (message, done, total)
        self._stir()

    def _stir(self) -> None:
        if not self._waking:
            self._waking = True
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._waking = False
        if not self.done:
            changed, self._changed = self._changed, anyio.Event()
            changed.set()


class Jobs:
    """The builds of one process. A build belongs to this, not to a caller: callers come, join and leave."""

    _group: TaskGroup

    def __init__(self, limit: int | None = None) -> None:
        """`limit` builds run side by side; by default as many as the setting `max_builds` says."""
        self._limit = limit
        self._jobs: dict[tuple[Path, str], Job] = {}
        self._calls: dict[int, Progress] = {}
        self._turns = anyio.CapacityLimiter(limit or 1)
        self._stopped = False

    async def __aenter__(self) -> "Jobs":
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        self.stop()
        if isinstance(error, Exception):  # it goes on as it is, not wrapped in an exception group
            kind = error = trace = None
        return await self._group.__aexit__(kind, error, trace)

    def stop(self) -> None:
        """End every build and look-up, now and from now on. Safe in a signal handler and in any thread."""
        self._stopped = True
        for progress in tuple(self._calls.values()):
            progress.stop()
        for job in tuple(self._jobs.values()):
            job.stop()

    async def run(
        self, services: Services, request: Request, standing: Standing, work: Work, caller: Caller
    ) -> LoadReply:
        """What stands, else the running build that serves the request, else a build of its own: `work`.

        `standing` looks up what is published; it is asked again when a build that did not serve has ended.
        """
        asked = time.monotonic()
        until = anyio.current_time() + caller.patience(services.settings)
        key = (services.layout.root, request.feature)
        while True:
            if (found := await self._look(services.progress, standing)) is not None:
                return found
            job = self._jobs.get(key)
            if job is None:
                reply = await self._attend(self._start(key, services, request, work), caller, until)
            elif job.serves(request, asked):
                reply = await self._attend(job, caller, until)
                reply = reply and reply.model_copy(update={"state": "joined"})
            else:
                with anyio.CancelScope(deadline=until):
                    await job.ended()
                    continue
                reply = None
            return reply or replies.building(services, request, time.monotonic() - asked)

    async def _look(self, progress: Progress, standing: Standing) -> LoadReply | None:
        """Look up what stands, so that stop() ends the look-up's worker thread too."""
        if self._stopped:
            raise Cancelled
        self._calls[id(progress)] = progress
        try:
            return await standing()
        finally:
            self._calls.pop(id(progress), None)

    def _start(
        self, key: tuple[Path, str], services: Services, request: Request, work: Work
    ) -> Job:
        if self._stopped:
            raise Cancelled
        self._turns.total_tokens = self._limit or services.settings.max_builds
        job = self._jobs[key] = Job(request)
        self._group.start_soon(self._build, key, job, services, work)
        return job

    async def _build(self, key: tuple[Path, str], job: Job, services: Services, work: Work) -> None:
        try:
            await job.build(services, work, self._turns)
        finally:
            del self._jobs[key]

    async def _attend(self, job: Job, caller: Caller, until: float) -> LoadReply | None:
        """The outcome, early or final; None when the caller's patience ends first. Who is cancelled is detached."""
        job.attached += 1
        try:
            with anyio.CancelScope(deadline=until):
                await job.follow(caller.tell, early=caller.outlived)
            job.promised |= not job.done
        finally:
            job.attached -= 1
            if not (job.done or job.attached or job.promised):
                job.stop()
        return job.outcome() if job.done else job.offered if caller.outlived else None
