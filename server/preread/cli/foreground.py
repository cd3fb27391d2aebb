"""One operation in the foreground of a terminal: its progress shows, and signals end it."""

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

from preread.cli import terminal
from preread.errors import Cancelled
from preread.jobs import Caller, Jobs
from preread.models import Model
from preread.operations.registry import Context, Operation

LOOK = 0.1  # seconds between looks at what was said
SHOW_PROGRESS_AFTER = 1.0  # seconds; what is quicker needs no line
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run(operation: Operation, request: Model, start: Path, environ: Mapping[str, str]) -> Model:
    """The operation's reply; raises what it raises, or Interrupted after a signal, when all is cleaned up."""
    return anyio.run(_run, operation, request, start, environ)


class Interrupted(Cancelled):
    """A person or the system ended the run; the exit status is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__("Interrupted.")
        self.number = number

    @property
    def exit_status(self) -> int:
        return 128 + self.number


@dataclass
class Signals:
    """The first signal cancels what runs, which cleans up; a second one ends the process at once."""

    cancel: Callable[[], object]
    caught: list[int] = field(default_factory=list)

    def __call__(self, number: int, _: object) -> None:
        if self.caught:
            with suppress(OSError, ValueError):
                if terminal.is_terminal(sys.stderr):
                    os.write(
                        sys.stderr.fileno(), b"\x1b[?25h"
                    )  # the progress line hides the cursor
            os._exit(128 + number)
        self.caught.append(number)
        self.cancel()

    @contextmanager
    def watched(self) -> Iterator[None]:
        before = [(number, signal.signal(number, self)) for number in SIGNALS]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)


@dataclass
class Said:
    """The last word of progress, and when the run began."""

    begun: float = field(default_factory=time.monotonic)
    message: str = ""
    done: float = 0
    total: float = 0
    something: anyio.Event = field(default_factory=anyio.Event)

    async def tell(self, message: str, done: float, total: float) -> None:
        self.something.set()
        self.message, self.done, self.total = message, done, total


async def _run(
    operation: Operation, request: Model, start: Path, environ: Mapping[str, str]
) -> Model:
    outcome: list[Model | Exception] = []
    said = Said()
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:
        signals = Signals(partial(loop.call_soon_threadsafe, scope.cancel))
        with signals.watched():
            async with Jobs(1) as jobs, anyio.create_task_group() as tasks:
                context = Context(
                    start,
                    environ,
                    jobs,
                    Caller(None, said.tell, ask=_ask if _is_interactive() else None),
                )
                tasks.start_soon(_show, said, partial(_limit, operation, request, context))
                try:
                    outcome.append(await operation.run(context, request))
                except Exception as error:  # carried out of the task group, which would wrap it
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
    """A person's yes or no. No thread waits for it: one that reads from a terminal would outlast an interruption."""
    sys.stderr.write(f"{terminal.clean(question)} [y/N] ")
    sys.stderr.flush()
    while not select.select([sys.stdin], [], [], 0)[0]:  # noqa: ASYNC110 - kqueue does not watch every terminal
        await anyio.sleep(LOOK)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _limit(operation: Operation, request: Model, context: Context) -> float:
    return operation.limit(context.services(), request) if operation.limit is not None else 0


async def _show(said: Said, limit: Callable[[], float]) -> None:
    """A live line on stderr, for people, once the run has taken long enough to want one."""
    if not terminal.is_terminal(sys.stderr):
        return
    await said.something.wait()  # before that a person may be asked something
    await anyio.sleep(max(0.0, said.begun + SHOW_PROGRESS_AFTER - time.monotonic()))
    with terminal.live_line(said.begun, limit()) as update:
        while True:
            update(said.message, said.done, said.total)
            await anyio.sleep(LOOK)
