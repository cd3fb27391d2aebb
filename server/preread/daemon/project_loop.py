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

from preread.builds.jobs import Job, Jobs
from preread.daemon.background import Background
from preread.errors import Cancelled, PrereadError

P = ParamSpec("P")
T = TypeVar("T")
# While calls run, how often the project's file system is asked, and how long it may take. These
# seconds are counted one by one, so that the time when the daemon was suspended is not among them.
PAUSE_SECONDS, SILENT_SECONDS, TICK = 2.0, 10, 1.0
MAX_LEFT = 20  # calls that still run SILENT_SECONDS after their callers left
IDLE_SECONDS = 300.0  # then the thread ends, and the next call starts another
MAX_LOOKED_FOR = 64  # folders whose projects are looked for at a time


def silent(folder: Path) -> PrereadError:
    """The error for a project whose file system does not answer."""
    return PrereadError(
        "E_READ",
        f"The file system of {folder} does not answer.",
        "Check its mount. Calls work again as soon as it answers.",
        {"path": str(folder)},
    )


def no_room(folder: Path, error: OSError | RuntimeError) -> PrereadError:
    """The error for a project if the system has no more threads or descriptors for it."""
    why = (isinstance(error, OSError) and error.strerror) or str(error)
    return PrereadError(
        "E_READ",
        f"The daemon has no room for {folder}: {why.lower()}.",
        "Call again in a while: what projects use is released minutes after their last call.",
        {"path": str(folder)},
    )


class ProjectLoop:
    """The thread of one project. Its methods are for the daemon's event loop."""

    def __init__(
        self, root: Path, tasks: Background, notify: Callable[[Path, Job], object],
        on_idle: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        """`notify` is called, in the project's loop, with each build that changed or ended.

        `on_idle` is called when the thread ended because there was nothing to do for a while.
        """
        self._root, self._tasks, self._notify, self._on_idle = root, tasks, notify, on_idle
        self._home = asyncio.get_running_loop()
        self._thread: _Thread | None = None
        self._answers: set[asyncio.Future[Any]] = set()  # that callers wait for
        self._left: dict[_Call, float] = {}  # calls that their callers left, and when
        self._is_watched = self._is_silent = False

    async def run(self, work: Callable[[Jobs], Awaitable[T]]) -> T:
        """The result of `work`, which gets the project's builds, in the project's loop.

        Cancelling this cancels it there. Raises E_READ when the file system has not answered for
        SILENT_SECONDS, and at once until it does.
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
                raise no_room(self._root, error) from error
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
        """Ask the file system as long as calls run; end the thread when it is idle."""
        idle = 0.0
        try:
            while idle < IDLE_SECONDS and self._thread is not None:
                await anyio.sleep(PAUSE_SECONDS)
                if self._answers or self._left or self.running():
                    idle = 0.0
                    await self._ask(self._thread)
                else:
                    idle += PAUSE_SECONDS
            self._on_idle()
        finally:
            self.end()
            self._thread, self._is_watched = None, False

    async def _ask(self, thread: "_Thread") -> None:
        """Wait until the file system answers. If that takes too long, calls fail meanwhile."""
        there = asyncio.run_coroutine_threadsafe(thread.ask(self._root), thread.loop)
        answer = asyncio.wrap_future(there)
        if not await _answers(answer):
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
        self.is_over = False  # says the daemon's loop

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
        self._asking = anyio.CapacityLimiter(1)  # not one of those that calls can use up
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

    async def ask(self, root: Path) -> None:
        """Return when the file system of a folder answers, were it with an error."""
        await anyio.to_thread.run_sync(_ask, str(root), limiter=self._asking)

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


class Lookups:
    """Runs functions of folders, each in a thread of its own: nobody knows yet whose they are."""

    def __init__(self) -> None:
        self._running: dict[Path, Future[Any]] = {}

    async def run(self, folder: Path, look: Callable[[Path], T]) -> T:
        """`look(folder)`, for all who ask meanwhile. Raises E_READ if that takes too long."""
        found = self._running.get(folder)
        if found is None:
            if len(self._running) >= MAX_LOOKED_FOR:
                raise silent(folder)
            found = self._running[folder] = Future()
            target, arguments = self._look, (folder, look, found)
            thread = threading.Thread(target=target, args=arguments, name="look", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                del self._running[folder]
                raise no_room(folder, error) from error
        answer: asyncio.Future[T] = asyncio.wrap_future(found)
        _ignore(answer)  # a caller may leave
        if await _answers(answer):
            return answer.result()
        raise silent(folder)

    def _look(self, folder: Path, look: Callable[[Path], T], found: "Future[T]") -> None:
        try:
            answer = look(folder)
        except BaseException as error:  # who waits for it re-raises it
            del self._running[folder]
            found.set_exception(error)
        else:
            del self._running[folder]
            found.set_result(answer)


def calling(
    loop: asyncio.AbstractEventLoop, work: Callable[P, Awaitable[T]]
) -> Callable[P, Awaitable[T]]:
    """`work` of one event loop, to be called in another."""

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


def _ask(root: str) -> None:
    with suppress(OSError):  # an answer, too
        os.statvfs(root)  # of this, unlike `stat`, a kernel keeps no reply
        with os.scandir(root) as entries:
            next(entries, None)


async def _awaited(work: Callable[P, Awaitable[T]], *arguments: P.args, **options: P.kwargs) -> T:
    return await work(*arguments, **options)


async def _answers(answer: "asyncio.Future[Any]") -> bool:
    """Whether this is done within SILENT_SECONDS."""
    for _ in range(SILENT_SECONDS):
        if (await asyncio.wait({answer}, timeout=TICK))[0]:
            return True
    return False


def _ignore(answer: "asyncio.Future[Any]") -> None:
    """Have no warning about an error that nobody waits for."""
    answer.add_done_callback(lambda done: done.cancelled() or done.exception())
