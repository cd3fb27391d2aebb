"""Runs one operation in the foreground: shows its progress, and ends it at a signal."""

import asyncio
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio

from preread.builds.jobs import Caller, Jobs
from preread.cli import terminal
from preread.errors import Cancelled
from preread.infra import watchdog
from preread.models import Model
from preread.operations import dispatch
from preread.operations.registry import Context, Operation

POLL_SECONDS = 0.1
SHOW_PROGRESS_AFTER = 1.0  # seconds
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run(operation: Operation, request: Model, start: Path, environ: Mapping[str, str]) -> Model:
    """The operation's reply. Raises its errors, and Interrupted after a signal and clean-up."""
    return anyio.run(_run, operation, request, start, environ)


class Interrupted(Cancelled):
    """A signal ended the run and decides the exit status."""

    def __init__(self, number: int) -> None:
        super().__init__("Interrupted.")
        self.number = number

    @property
    def exit_status(self) -> int:
        return 128 + self.number


@dataclass
class Signals:
    """The first signal cancels the run, which cleans up; a second one exits at once.

    The kernel does so even if a call of a C function holds the interpreter lock.
    """

    cancel: Callable[[], object]
    caught: list[int] = field(default_factory=list)

    def __call__(self, number: int, _: object) -> None:
        if self.caught:
            with suppress(OSError, ValueError):
                if terminal.is_terminal(sys.stderr):
                    # Show the cursor again, which the progress line hides.
                    os.write(sys.stderr.fileno(), b"\x1b[?25h")
            os._exit(128 + number)
        for each in SIGNALS:
            signal.signal(each, self)
        self.caught.append(number)
        self.cancel()

    @contextmanager
    def handled(self) -> Iterator[None]:
        before = [(number, signal.getsignal(number)) for number in SIGNALS]
        for number in SIGNALS:
            watchdog.handle_once(number, self)
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)


@dataclass
class LatestProgress:
    """The latest progress, and when the run began."""

    begun: float = field(default_factory=time.monotonic)
    message: str = ""
    done: float = 0
    total: float = 0
    reported: anyio.Event = field(default_factory=anyio.Event)
    is_logged: bool = False  # each message as a line on stderr

    async def report(self, message: str, done: float, total: float) -> None:
        self.reported.set()
        if self.is_logged and message != self.message:
            with suppress(OSError, ValueError):  # the reader has closed the pipe
                sys.stderr.write(f"{terminal.progress(message, done, total)}\n")
                sys.stderr.flush()
        self.message, self.done, self.total = message, done, total


async def _run(
    operation: Operation, request: Model, start: Path, environ: Mapping[str, str]
) -> Model:
    outcome: list[Model | Exception] = []
    # Agents work for minutes, so their progress is logged. Other operations show none in a pipe.
    is_piped = sys.stderr is not None and not terminal.is_terminal(sys.stderr)
    is_logged = operation.effect == "execute" and is_piped
    progress = LatestProgress(is_logged=is_logged)
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:
        signals = Signals(partial(loop.call_soon_threadsafe, scope.cancel))
        with signals.handled():
            async with Jobs(1) as jobs, anyio.create_task_group() as tasks:
                ask = _ask if _is_interactive() else None
                context = Context(start, environ, jobs, Caller(None, progress.report, ask=ask))
                tasks.start_soon(_show, progress, partial(_limit, operation, request, context))
                try:
                    outcome.append(await dispatch.run(context, operation, request))
                except Exception as error:  # raised below: the task group would wrap it
                    outcome.append(error)
                tasks.cancel_scope.cancel()
    if signals.caught:
        raise Interrupted(signals.caught[0])
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def _is_interactive() -> bool:
    return terminal.is_terminal(sys.stdin) and terminal.is_terminal(sys.stderr)


async def _ask(question: str) -> bool:
    """Whether a person says yes.

    No thread waits for it: a blocked read from a terminal would outlast an interruption.
    """
    sys.stderr.write(f"{terminal.clean(question)} [y/N] ")
    sys.stderr.flush()
    # Polling, because kqueue does not watch every terminal.
    while not select.select([sys.stdin], [], [], 0)[0]:  # noqa: ASYNC110
        await anyio.sleep(POLL_SECONDS)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _limit(operation: Operation, request: Model, context: Context) -> float:
    return operation.limit(context.services(), request) if operation.limit is not None else 0


async def _show(progress: LatestProgress, limit: Callable[[], float]) -> None:
    """Show a live line on a terminal's stderr, once the run has taken a while."""
    if not terminal.is_terminal(sys.stderr):
        return
    await progress.reported.wait()  # before that, a question may be on the screen
    await anyio.sleep(max(0.0, progress.begun + SHOW_PROGRESS_AFTER - time.monotonic()))
    with terminal.live_line(progress.begun, limit()) as update:
        while True:
            update(progress.message, progress.done, progress.total)
            await anyio.sleep(POLL_SECONDS)
