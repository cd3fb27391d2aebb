"""The builds running in this process: one per feature, shared by all callers that want it."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType

import anyio
from anyio.abc import TaskGroup

from preread.builds import replies
from preread.errors import Cancelled, PrereadError
from preread.infra import watchdog
from preread.models import LEVELS, LoadReply, Request
from preread.services import Progress, Services
from preread.settings import Settings

MAX_STEPS = 300  # steps of a running build that are kept
OWED_SECONDS = 60.0  # how long the outcome of a forced build is kept for the caller's next call
ReportProgress = Callable[[str, float, float], Awaitable[None]]
Work = Callable[[Services, Request], Awaitable[LoadReply]]
LookUp = Callable[[], Awaitable[LoadReply | None]]


@dataclass(frozen=True)
class Caller:
    """A caller of a build: how long it waits, and where its progress goes.

    `wait` is in seconds, after which the reply is `building`; None waits to the end.
    """

    wait: float | None
    report: ReportProgress
    # The client gives up on long calls by itself: wait as long as the setting `reply_within`.
    times_out: bool = False
    ask: Callable[[str], Awaitable[bool]] | None = None  # asks a person a yes-or-no question
    # Builds continue after the call, so an early reply that a better one will replace is welcome.
    takes_early_reply: bool = False

    def max_wait(self, settings: Settings) -> float:
        """Seconds that this caller waits; infinity for no limit."""
        wait = settings.reply_within if self.times_out else self.wait
        return math.inf if wait is None else wait


class Job:
    """One build: its request, progress, callers and outcome."""

    def __init__(self, request: Request, notify: Callable[["Job"], object]) -> None:
        self.request, self._notify = request, notify
        self.progress = Progress(report=self._report, offer=self._offer)
        self.scope = anyio.CancelScope()
        self.begun: float | None = None  # by time.monotonic(); None while it waits for its turn
        self.callers = 0
        self.detached = False  # a caller was told to call again: it runs on without callers
        self.early_reply: LoadReply | None = None
        self.reply: LoadReply | None = None
        self.error: Exception | None = None
        self.ended_at = math.inf  # by time.monotonic()
        self.steps: deque[tuple[float, str]] = deque(maxlen=MAX_STEPS)  # epoch seconds, what it did
        self._latest: tuple[str, float, float] | None = None  # progress
        self._changed = anyio.Event()
        self._waking = False
        self._loop = asyncio.get_running_loop()

    @property
    def done(self) -> bool:
        return self.reply is not None or self.error is not None

    def serves(self, request: Request, asked: float) -> bool:
        """Whether its reply serves a request made at `asked`; a forced one needs a later start."""
        mine = self.request
        if request.force:
            began_before = self.begun is not None and self.begun <= asked
            if began_before or set(request.extend) != set(mine.extend):
                return False
        return (
            not self.progress.is_stopped
            and LEVELS.index(mine.level) >= LEVELS.index(request.level)
            and request.ticket in {"", mine.ticket}
            and request.description in {"", mine.description}
            and request.scope in {"", mine.scope}
        )

    async def build(self, services: Services, work: Work, turn: anyio.CapacityLimiter) -> None:
        """Run the work when its turn comes, within its deadline.

        The outcome, whatever it is, is stored for the callers.
        """
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
                    with watchdog.guarded(self.progress.deadline):
                        mine = replace(services, progress=self.progress)
                        self.reply = await work(mine, self.request)
            if self.reply is None:  # the scope was cancelled: by stop() or by its deadline
                self.progress.check()
                raise Cancelled
        except Exception as error:  # callers re-raise it
            self.error = error
        except BaseException:
            self.error = Cancelled()
            raise
        finally:
            self.ended_at = time.monotonic()
            self._changed.set()
            self._notify(self)

    @property
    def latest(self) -> tuple[str, float, float]:
        """The latest progress: message, done, total."""
        return self._latest or ("", 0.0, 0.0)

    def stop(self) -> None:
        """End the build: worker threads at their next check, everything else at once.

        Safe in a signal handler.
        """
        self.progress.stop()
        with suppress(RuntimeError):  # the loop is closed, so there is nothing left to cancel
            self._loop.call_soon_threadsafe(self.scope.cancel)

    async def follow(self, report: ReportProgress, *, early: bool) -> None:
        """Report its latest progress until it ends or, if `early`, has an early reply."""
        reported = None
        while not (self.done or (early and self.early_reply)):
            if self._latest is not None and self._latest is not reported:
                reported = self._latest
                await report(*reported)
            else:
                await self._changed.wait()

    async def ended(self) -> None:
        while not self.done:
            await self._changed.wait()

    def outcome(self) -> LoadReply:
        """The reply; raises the build's error if it failed."""
        if self.reply is None:
            raise self.error or Cancelled()
        return self.reply

    def _offer(self, reply: LoadReply) -> None:
        self.early_reply = reply
        self._wake_soon()

    def _report(self, message: str, done: float, total: float) -> None:
        """Called from worker threads: store the progress and wake the loop without waiting."""
        if self._latest is None or self._latest[0] != message:
            self.steps.append((time.time(), message))
        self._latest = (message, done, total)
        self._wake_soon()

    def _wake_soon(self) -> None:
        if not self._waking:
            self._waking = True
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._waking = False
        if not self.done:
            changed, self._changed = self._changed, anyio.Event()
            changed.set()
            self._notify(self)


class Jobs:
    """The builds of one process. They belong to it, not to the callers, who join and leave."""

    _group: TaskGroup

    def __init__(
        self,
        limit: int | None = None,
        notify: Callable[[Path, Job], object] = lambda _root, _job: 0,
    ) -> None:
        """`limit` builds of a project run at a time; by default its setting `max_builds`.

        `notify` is called, in the event loop, with each build whose progress changed or that ended.
        """
        self._limit, self._notify = limit, notify
        self._jobs: dict[tuple[Path, str], Job] = {}
        # Forced builds whose callers were told to call again, each with that caller's request.
        self._owed: list[tuple[tuple[Path, str], Request, Job]] = []
        self._lookups: dict[int, Progress] = {}
        self._turns: dict[Path, anyio.CapacityLimiter] = {}  # by root
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
        if isinstance(error, Exception):  # raise it as it is, not wrapped in an exception group
            kind = error = trace = None
        return await self._group.__aexit__(kind, error, trace)

    def stop(self) -> None:
        """End every build and look-up, and allow no new ones.

        Safe in a signal handler and in any thread.
        """
        self._stopped = True
        for progress in tuple(self._lookups.values()):
            progress.stop()
        for job in tuple(self._jobs.values()):
            job.stop()

    def count(self) -> int:
        """The number of running and waiting builds."""
        return len(self._jobs)

    def running(self, root: Path) -> list[Job]:
        """The running and waiting builds of one project. Safe in any thread."""
        return [job for (of, _), job in tuple(self._jobs.items()) if of == root]

    async def run(
        self, services: Services, request: Request, look_up: LookUp, work: Work, caller: Caller
    ) -> LoadReply:
        """The published dossier, else a running build that serves the request, else a new build.

        `look_up` finds the published dossier; it is called again after a build that did not serve
        the request has ended. `work` builds. A forced call that was told to call again gets the
        build that it started. Raises E_BUSY if too many builds wait already.
        """
        asked = time.monotonic()
        until = anyio.current_time() + caller.max_wait(services.settings)
        key = (services.layout.root, request.feature)
        if (owed := self._take_owed(key, request)) is not None:
            return await self._awaited(owed, services, request, caller, until)
        while True:
            if (found := await self._look_up(services.progress, look_up)) is not None:
                return found
            job = self._jobs.get(key)
            if job is None:
                job = self._start(key, services, request, work)
                return await self._awaited(job, services, request, caller, until)
            if job.serves(request, asked):
                reply = await self._awaited(job, services, request, caller, until)
                is_final = reply.status != "building"
                return reply.model_copy(update={"state": "joined"}) if is_final else reply
            with anyio.CancelScope(deadline=until):
                await job.ended()
                continue
            return replies.building(services, request, time.monotonic() - asked)

    async def _awaited(
        self, job: Job, services: Services, request: Request, caller: Caller, until: float
    ) -> LoadReply:
        """The job's reply, or `building` if the caller's time runs out first."""
        asked = time.monotonic()
        reply = await self._wait_for(job, caller, until)
        if reply is None and request.force:
            self._owed.append(((services.layout.root, request.feature), request, job))
        return reply or replies.building(services, request, time.monotonic() - asked)

    def _take_owed(self, key: tuple[Path, str], request: Request) -> Job | None:
        """The forced build whose caller was told to make this call, if there is one."""
        since = time.monotonic() - OWED_SECONDS
        self._owed = [one for one in self._owed if one[2].ended_at > since]
        for one in self._owed:
            if one[:2] == (key, request):
                self._owed.remove(one)
                return one[2]
        return None

    async def _look_up(self, progress: Progress, look_up: LookUp) -> LoadReply | None:
        """Call `look_up` so that stop() ends its worker thread too."""
        if self._stopped:
            raise Cancelled
        self._lookups[id(progress)] = progress
        try:
            return await look_up()
        finally:
            self._lookups.pop(id(progress), None)

    def _start(
        self, key: tuple[Path, str], services: Services, request: Request, work: Work
    ) -> Job:
        if self._stopped:
            raise Cancelled
        turns = self._turns.setdefault(key[0], anyio.CapacityLimiter(1))
        turns.total_tokens = self._limit or services.settings.max_builds
        waiting = len(self.running(key[0])) - int(turns.total_tokens)
        if waiting >= services.settings.max_waiting:
            raise _busy(waiting)
        job = self._jobs[key] = Job(request, partial(self._notify, key[0]))
        self._group.start_soon(self._build, key, job, services, work)
        return job

    async def _build(self, key: tuple[Path, str], job: Job, services: Services, work: Work) -> None:
        try:
            await job.build(services, work, self._turns[key[0]])
        finally:
            del self._jobs[key]

    async def _wait_for(self, job: Job, caller: Caller, until: float) -> LoadReply | None:
        """The job's reply, final or early; None if the caller's time runs out first.

        A cancelled caller leaves the job; the last one to leave stops it, unless it is detached.
        """
        job.callers += 1
        try:
            with anyio.CancelScope(deadline=until):
                await job.follow(caller.report, early=caller.takes_early_reply)
            job.detached |= not job.done
        finally:
            job.callers -= 1
            if not (job.done or job.callers or job.detached):
                job.stop()
        if job.done:
            return job.outcome()
        return job.early_reply if caller.takes_early_reply else None


def _busy(waiting: int) -> PrereadError:
    message = f"Too many builds wait for their turn in this project: {waiting}."
    hint = (
        "Load it again once a build has ended; `preread builds list` shows them. "
        "PREREAD_MAX_WAITING in the server's environment allows more."
    )
    return PrereadError("E_BUSY", message, hint, {"waiting": waiting})
