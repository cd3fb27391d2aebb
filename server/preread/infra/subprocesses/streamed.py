"""Run a program and read it line by line, with a deadline that ends its whole process tree."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.subprocesses.captured import never

if sys.platform != "win32":
    from preread.infra.subprocesses.supervised import Supervised as Running
else:
    from preread.infra.subprocesses.unsupervised import Direct as Running

SLICE = 0.1  # seconds between checks of the deadline and for cancellation
# Seconds from asking a program to end to killing it; the supervisor needs up to 7.5.
PATIENCE = 8.0
DRAIN_TURNS = 64  # turns that read the rest of a program's output; one usually empties a pipe
MAX_LINE = 64 << 20  # bytes
CANNOT_START = 127

Cut = Literal["", "deadline", "lingered"]
Starter = Callable[..., AbstractContextManager["Child"]]


class Ended(NamedTuple):
    """How a child ended: shell-style status, end of stderr, why it was cut short, duration."""

    status: int
    err: bytes
    cut: Cut
    seconds: float


class Lines:
    """Splits bytes into lines. A line longer than MAX_LINE is dropped."""

    def __init__(self) -> None:
        self.ready: deque[bytes] = deque()
        self._part = bytearray()
        self._too_long = False

    def feed(self, data: bytes) -> None:
        first, *others = data.split(b"\n")
        self._add(first)
        for part in others:
            self._take()
            self._add(part)

    def finish(self) -> None:
        """End the output; text after the last newline is a line, too."""
        if self._part or self._too_long:
            self._take()

    def _add(self, part: bytes) -> None:
        if self._too_long or len(self._part) + len(part) > MAX_LINE:
            self._too_long = True
            self._part.clear()
        else:
            self._part += part

    def _take(self) -> None:
        if not self._too_long:
            self.ready.append(bytes(self._part))
        self._part.clear()
        self._too_long = False


class Child:
    """A running program. All methods must be called from one thread; every wait is bounded."""

    def __init__(self, deadline: float, check: Callable[[], None]) -> None:
        self._begun = time.monotonic()
        self._deadline, self._check = deadline, check
        self._running: Running | None = None
        self._ended: Ended | None = None
        self._lines = Lines()
        self._cut: Cut = ""
        self._asked: float | None = None
        self._linger: float | None = None
        self._next_check = self._begun

    def start(
        self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str], scratch: Path | None
    ) -> None:
        try:
            self._running = Running(argv, cwd, environ, scratch)
        except (OSError, ValueError) as error:
            self._ended = Ended(CANNOT_START, str(error).encode(), "", 0.0)

    @property
    def ended(self) -> Ended:
        """How it ended; available after the last line, or after the block."""
        if self._ended is None:
            raise RuntimeError("the child is still running")
        return self._ended

    def send(self, data: bytes) -> None:
        """Queue bytes for standard input; they are written while lines are read."""
        if self._running:
            self._running.send(data)

    def close_input(self, within: float) -> None:
        """Close standard input after the queued bytes, and end the child after `within` seconds."""
        if self._running:
            self._running.close_input()
            self._linger = time.monotonic() + within

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of standard output until the child and its whole tree have ended.

        At the deadline the child is asked to end; its remaining lines are still yielded. `check`
        may raise to cancel; it is not called while the child is ending, which takes bounded time.
        """
        while self._running or self._lines.ready:
            if self._running:
                self._check_time(self._running)
            if self._lines.ready:
                yield self._lines.ready.popleft()
            elif self._running:
                self._turn(self._running)

    def close(self) -> None:
        """End the program if it is still running, in bounded time."""
        try:
            if self._running:
                self._end(self._running, "")
            for _ in self.lines():
                pass
        finally:
            if self._running:
                self._force(self._running)

    def _check_time(self, running: Running) -> None:
        """End or kill the program if it is time to."""
        now = time.monotonic()
        if self._asked is not None:
            if now > self._asked + PATIENCE:
                self._force(running)
        elif now >= self._deadline:
            self._end(running, "deadline")
        elif self._linger is not None and now >= self._linger:
            self._end(running, "lingered")
        elif now >= self._next_check:
            self._next_check = now + SLICE
            self._check()

    def _end(self, running: Running, cut: Cut) -> None:
        if self._asked is None:
            self._asked, self._cut = time.monotonic(), cut
            running.ask()

    def _force(self, running: Running) -> None:
        """Kill the program, because its supervisor did not end it in time."""
        running.force()
        self._settle(running)

    def _turn(self, running: Running) -> None:
        self._lines.feed(running.turn(SLICE))
        if not running.out_open:
            running.close_input()  # without output, more input is pointless
        if running.status() is not None:
            self._settle(running)

    def _settle(self, running: Running) -> None:
        """Read the rest of an ended program's output, and record how it ended."""
        for _ in range(DRAIN_TURNS):
            self._lines.feed(running.turn(0))
        self._lines.finish()
        status = running.status()
        running.close()
        self._running = None
        seconds = time.monotonic() - self._begun
        self._ended = Ended(128 + 9 if status is None else status, running.err, self._cut, seconds)


@contextmanager
def child(
    argv: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    deadline: float,
    check: Callable[[], None] = never,
    scratch: Path | None = None,
) -> Iterator[Child]:
    """Start a program that leaves nothing behind: no process, no file in `scratch`.

    `deadline` is on the clock of time.monotonic(). A program that cannot be started has no lines
    and ends with status 127 and the reason in `err`. Leaving the block ends what still runs, within
    10 s; so does the death of this process, within 5 s.
    """
    it = Child(deadline, check)
    try:
        it.start(argv, cwd, environ, scratch)
        yield it
    finally:
        try:
            it.close()
        finally:
            if scratch is not None:
                with suppress(PrereadError):  # the supervisor tries too
                    atomic.remove(scratch)
