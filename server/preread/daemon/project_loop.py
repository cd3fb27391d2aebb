"""One thread with an event loop per project: a file system that hangs stops only its project.

Whatever touches a project's files runs in that thread, or in worker threads of its loop. Each loop
has its own limit of worker threads.
"""

import asyncio
import contextvars
import os
import selectors
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import anyio
import anyio.to_thread

from preread.builds.job import Job
from preread.builds.jobs import Jobs
from preread.daemon.background import Background
from preread.errors import Cancelled, PrereadError

P = ParamSpec("P")
T = TypeVar("T")
# While calls run: the pause between probes of the project's file system, and how long a probe may
# take. It is counted in ticks, so that time during which the machine was suspended does not count.
PAUSE_SECONDS, SILENT_SECONDS, TICK = 2.0, 10, 1.0
MAX_LEFT = 20  # calls that still run SILENT_SECONDS after their callers left
IDLE_SECONDS = 300.0  # then the thread ends, and the next call starts another


def silent(folder: Path) -> PrereadError:
    """The error for a project whose file system does not answer."""
    return PrereadError(
        "E_READ",
        f"The file system of {folder} does not answer.",
        "Check its mount. Calls work again as soon as it answers.",
        {"path": str(folder)},
    )


def exhausted(folder: Path, error: OSError | RuntimeError) -> PrereadError:
    """The error for a project for which the daemon can get no thread or descriptor."""
    why = (isinstance(error, OSError) and error.strerror) or str(error)
    return PrereadError(
        "E_READ",
        f"The daemon has no thread or file descriptor left for {folder}: {why.lower()}.",
        "Call again in a few minutes: projects that are no longer used release theirs.",
        {"path": str(folder)},
    )


class ProjectLoop:
    """The thread of one project. Its methods are for the daemon's event loop."""

    def __init__(
        self, root: Path, tasks: Background, notify: Callable[[Path, Job], object],
        on_idle: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        """`notify` is called, in the project's loop, with each build that changed or ended.

        `on_idle` is called when the thread is about to end because it was idle.
        """
        self._root, self._tasks, self._notify, self._on_idle = root, tasks, notify, on_idle
        self._home = asyncio.get_running_loop()
        self._thread: _Thread | None = None
        self._answers: set[asyncio.Future[Any]] = set()  # for which callers wait
        self._left: dict[_Call, float] = {}  # calls that their callers left, and when
        self._is_watched = self._is_silent = False

    async def run(self, work: Callable[[Jobs], Awaitable[T]]) -> T:
        """Run `work` in the project's loop, with the project's builds, and return its result.

        Cancelling this call cancels the work. Raises E_READ if the file system does not answer
        within SILENT_SECONDS; later calls fail at once until it answers.
        """
        if self._is_silent or self._is_full():
            raise silent(self._root)
        thread = self._started()
        answer: asyncio.Future[T] = self._home.create_future()
        call = _Call(partial(work, thread.jobs), answer, self._ended)
        self._answers.add(answer)
        self._watch()
        thread.loop.call_soon_threadsafe(call.begin)
        try:
            return await answer
        finally:
            self._answers.discard(answer)
            if not call.is_over:
                self._left[call] = time.monotonic()
                thread.call_soon(call.cancel)

    def _ended(self, call: "_Call") -> None:
        self._left.pop(call, None)

    def post(self, work: Callable[..., object], *arguments: object) -> None:
        """Have the daemon's loop call `work` soon. From any thread."""
        with suppress(RuntimeError):  # the loop is closed
            self._home.call_soon_threadsafe(work, *arguments)

    def running(self) -> list[Job]:
        """The running and waiting builds."""
        return self._thread.jobs.running(self._root) if self._thread is not None else []

    def stop(self) -> None:
        """End its builds, and allow no new ones."""
        if self._thread is not None:
            self._thread.jobs.stop()

    def end(self) -> None:
        """End its builds, its calls and its thread, unless that hangs."""
        if self._thread is not None:
            self._thread.end()

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive

    def _started(self) -> "_Thread":
        if self._thread is None or not self._thread.is_alive:
            try:
                self._thread = _Thread(self._notify)
            except (OSError, RuntimeError) as error:
                raise exhausted(self._root, error) from error
        return self._thread

    def _is_full(self) -> bool:
        since = time.monotonic() - SILENT_SECONDS
        return sum(left < since for left in self._left.values()) >= MAX_LEFT

    # -- watching the thread

    def _watch(self) -> None:
        if not self._is_watched:
            self._is_watched = True
            self._tasks.start_soon(self._watch_thread)

    async def _watch_thread(self) -> None:
        """Probe the file system while calls run; end the thread when it is idle."""
        idle = 0.0
        try:
            while idle < IDLE_SECONDS and self._thread is not None:
                await anyio.sleep(PAUSE_SECONDS)
                if self._answers or self._left or self.running():
                    idle = 0.0
                    await self._probe(self._thread)
                else:
                    idle += PAUSE_SECONDS
            self._on_idle()
        finally:
            self.end()
            self._thread, self._is_watched = None, False

    async def _probe(self, thread: "_Thread") -> None:
        """Wait until the file system answers. If that takes too long, calls fail meanwhile."""
        there = asyncio.run_coroutine_threadsafe(thread.probe(self._root), thread.loop)
        answer = asyncio.wrap_future(there)
        if not await done_in_time(answer):
            self._is_silent = True
            for waiting in self._answers:
                if not waiting.done():
                    waiting.set_exception(silent(self._root))
            await asyncio.wait({answer})
            self._is_silent = False


class _Call:
    """One call: it runs in the project's loop, and settles an answer in the daemon's."""

    def __init__(
        self,
        work: Callable[[], Awaitable[Any]],
        answer: "asyncio.Future[Any]",
        ended: Callable[["_Call"], object],
    ) -> None:
        self._work, self._answer, self._on_end = work, answer, ended
        self._scope = anyio.CancelScope()  # unlike a task's `cancel`, it respects shields
        self._context = contextvars.copy_context()
        self.is_over = False  # set in the daemon's loop

    def begin(self) -> None:
        """Start it, in the project's loop."""
        task = asyncio.get_running_loop().create_task(self._run(), context=self._context)
        task.add_done_callback(self._tell)

    def cancel(self) -> None:
        """Cancel it, in the project's loop."""
        self._scope.cancel()

    async def _run(self) -> Any:  # noqa: ANN401 - whatever the call returns
        with self._scope:
            return await self._work()
        raise Cancelled  # nobody waits any more

    def _tell(self, task: "asyncio.Task[Any]") -> None:
        with suppress(RuntimeError):  # the daemon's loop is closed
            self._answer.get_loop().call_soon_threadsafe(self._settle, task)

    def _settle(self, task: "asyncio.Task[Any]") -> None:
        self.is_over = True
        self._on_end(self)
        error: BaseException | None = Cancelled() if task.cancelled() else task.exception()
        if self._answer.done():  # its caller left
            return
        if error is not None:
            self._answer.set_exception(error)
        else:
            self._answer.set_result(task.result())


class _Thread:
    """A running thread, and the builds of its loop."""

    def __init__(self, notify: Callable[[Path, Job], object]) -> None:
        """Raises OSError without a free descriptor, RuntimeError without a free thread."""
        self.jobs = Jobs(notify=notify)
        self._probing = anyio.CapacityLimiter(1)  # its own, because calls may use up the loop's
        started: Future[asyncio.AbstractEventLoop] = Future()
        # A daemon, because nothing can end a thread that hangs in a call of the system.
        self._thread = threading.Thread(
            target=self._run, args=(started,), name="project", daemon=True
        )
        self._thread.start()
        self.loop = started.result()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def call_soon(self, work: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(work)

    def end(self) -> None:
        self.jobs.stop()
        self.call_soon(self._scope.cancel)

    async def probe(self, root: Path) -> None:
        """Return when the file system of a folder answers, even with an error."""
        await anyio.to_thread.run_sync(_probe, str(root), limiter=self._probing)

    def _run(self, started: "Future[asyncio.AbstractEventLoop]") -> None:
        try:
            _check_descriptors()
            anyio.run(self._live, started)
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    async def _live(self, started: "Future[asyncio.AbstractEventLoop]") -> None:
        with anyio.CancelScope() as self._scope:
            async with self.jobs:
                started.set_result(asyncio.get_running_loop())
                await anyio.sleep_forever()


def calling(
    loop: asyncio.AbstractEventLoop, work: Callable[P, Awaitable[T]]
) -> Callable[P, Awaitable[T]]:
    """Wrap `work`, which runs in `loop`, for callers in another event loop."""

    async def call(*arguments: P.args, **options: P.kwargs) -> T:
        there = asyncio.run_coroutine_threadsafe(_awaited(work, *arguments, **options), loop)
        return await asyncio.wrap_future(there)

    return call


def _check_descriptors() -> None:
    """Raises OSError unless an event loop could open its descriptors.

    Python 3.11 prints a traceback when it closes a loop that could open only some of them.
    """
    with selectors.DefaultSelector():
        for end in socket.socketpair():
            end.close()


def _probe(root: str) -> None:
    with suppress(OSError):  # an error is an answer too
        os.statvfs(root)  # unlike `stat`, it is never answered from the kernel's cache
        with os.scandir(root) as entries:
            next(entries, None)


async def _awaited(work: Callable[P, Awaitable[T]], *arguments: P.args, **options: P.kwargs) -> T:
    return await work(*arguments, **options)


async def done_in_time(answer: "asyncio.Future[Any]") -> bool:
    """Wait up to SILENT_SECONDS; returns whether the future is done."""
    for _ in range(SILENT_SECONDS):
        if (await asyncio.wait({answer}, timeout=TICK))[0]:
            return True
    return False
