"""One running build: its progress for callers that follow it, and its outcome."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

import anyio

from preread.errors import Cancelled
from preread.infra import watchdog
from preread.models import LEVELS, LoadReply, Request
from preread.services import Progress, Services

MAX_STEPS = 300  # steps of a running build that are kept
ReportProgress = Callable[[str, float, float], Awaitable[None]]
Work = Callable[[Services, Request], Awaitable[LoadReply]]


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
        """Whether its reply serves a request made at `asked`.

        A forced request needs a build that began later.
        """
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
