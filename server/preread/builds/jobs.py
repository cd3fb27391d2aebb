"""The builds running in this process: one per feature, shared by all callers that want it."""

import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType

import anyio
from anyio.abc import TaskGroup

from preread.builds import replies
from preread.builds.job import Job, ReportProgress, Work
from preread.errors import Cancelled, PrereadError
from preread.models import LoadReply, Request
from preread.services import Progress, Services
from preread.settings import Settings

OWED_SECONDS = 60.0  # how long the outcome of a forced build is kept for the caller's next call
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
