"""A program read line by line while it runs, with a deadline that ends its whole tree."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.subprocesses.whole import never

if sys.platform != "win32":
    from preread.infra.subprocesses.supervised import Supervised as Running
else:
    from preread.infra.subprocesses.direct import Direct as Running

SLICE = 0.1  # seconds between looks at the deadline and at cancellation
PATIENCE = 8.0  # seconds from asking for the end to forcing it; the supervisor needs 7.5 for the most stubborn tree
LEFTOVERS = (
    64  # turns that read what a program left in its pipes; one empties a pipe of the usual size
)
MAX_LINE = 64 << 20  # bytes
CANNOT_START = 127

Cut = Literal["", "deadline", "lingered"]
Starter = Callable[..., AbstractContextManager["Child"]]


class Ended(NamedTuple):
    """How a child ended: status as a shell has it, the last 16 KiB of stderr, who cut it short, how long it ran."""

    status: int
    err: bytes
    cut: Cut
    seconds: float


class Lines:
    """Bytes into lines. A line longer than MAX_LINE is counted in `skipped` and forgotten."""

    def __init__(self) -> None:
        self.ready: deque[bytes] = deque()
        self.skipped = 0
        self._part = bytearray()
        self._too_long = False

    def feed(self, data: bytes) -> None:
        first, *others = data.split(b"\n")
        self._add(first)
        for part in others:
            self._take()
            self._add(part)

    def finish(self) -> None:
        """What came after the last newline is a line too."""
        if self._part or self._too_long:
            self._take()

    def _add(self, part: bytes) -> None:
        if self._too_long or len(self._part) + len(part) > MAX_LINE:
            self._too_long = True
            self._part.clear()
        else:
            self._part += part

    def _take(self) -> None:
        if self._too_long:
            self.skipped += 1
        else:
            self.ready.append(bytes(self._part))
        self._part.clear()
        self._too_long = False


class Child:
    """A running program. Its methods are for one thread, none waits without a bound."""

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
        """How it ended; there after the last line, and after the block."""
        if self._ended is None:
            raise RuntimeError("the child is still running")
        return self._ended

    @property
    def skipped(self) -> int:
        """How many lines were too long to be given."""
        return self._lines.skipped

    def send(self, data: bytes) -> None:
        """Queue bytes for standard input; they are written while lines are read."""
        if self._running:
            self._running.send(data)

    def close_input(self, within: float) -> None:
        """Close standard input after what is queued. A child still there after `within` seconds is ended."""
        if self._running:
            self._running.close_input()
            self._linger = time.monotonic() + within

    def lines(self) -> Iterator[bytes]:
        """Each line of standard output without its newline, until the child and its whole tree are gone.

        At the deadline the child is asked to end, and what it still says is given. `check` may raise to cancel;
        it is asked no more once the child's end is under way, which is bounded.
        """
        while self._running or self._lines.ready:
            if self._running:
                self._look(self._running)
            if self._lines.ready:
                yield self._lines.ready.popleft()
            elif self._running:
                self._turn(self._running)

    def close(self) -> None:
        """End what still runs; bounded."""
        try:
            if self._running:
                self._end(self._running, "")
            for _ in self.lines():
                pass
        finally:
            if self._running:
                self._force(self._running)

    def _look(self, running: Running) -> None:
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
        """The supervisor did not answer in time."""
        running.force()
        self._settle(running)

    def _turn(self, running: Running) -> None:
        self._lines.feed(running.turn(SLICE))
        if not running.out_open:
            running.close_input()  # it can tell us nothing more
        if running.status() is not None:
            self._settle(running)

    def _settle(self, running: Running) -> None:
        """Nothing runs any more: read what it left, and keep how it ended."""
        for _ in range(LEFTOVERS):
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
    """Start a program, talk to it, and leave nothing of it behind: no process, no file in `scratch`.

    `deadline` is on time.monotonic()'s clock. A program that cannot be started has no lines and ends with status 127
    and the reason in `err`. Leaving the block ends what still runs, within 10 s; so does
    the death of this process, within 5.
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
