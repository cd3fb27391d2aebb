"""Ends a server process at once, even if threads are busy, after a bounded clean-up."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NoReturn

# Claude Code sends SIGINT, SIGTERM 0.1 s later and SIGKILL at 0.5 s.
CLEANUP_AFTER_SIGNAL = 0.3
CLEANUP_AFTER_INPUT = 1.0


class Shutdown:
    """The only way to end the process. The first cause decides the exit status."""

    def __init__(self) -> None:
        self.status: int | None = None
        self._cleanup_seconds = 0.0
        self._begun = threading.Event()
        self._clean: Callable[[], object] | None = None
        # Started now, because a signal handler may interrupt the very code that starts threads.
        threading.Thread(target=self._guard, name="shutdown", daemon=True).start()

    def set_cleanup(self, clean: Callable[[], object]) -> None:
        """Set the function that cleans up; any thread or signal handler may call it."""
        self._clean = clean

    def begin(self, status: int, cleanup_seconds: float) -> None:
        if self.status is not None:
            return
        self.status, self._cleanup_seconds = status, cleanup_seconds
        if self._clean is None:
            leave(status)
        self._begun.set()
        with suppress(RuntimeError):  # the loop is closed, so it is cleaned up already
            self._clean()

    def handle(self, numbers: Iterable[int]) -> None:
        """Begin at these signals, at once, even if the main thread waits in the event loop.

        A signal that comes just before it waits would not wake it: Python runs handlers in the main
        thread only. The number is also written to a pipe, which a thread reads. Main thread only.
        """
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=self._read, args=(reader,), name="signals", daemon=True).start()
        for number in numbers:
            signal.signal(number, self._on_signal)

    def _read(self, reader: int) -> None:
        while True:
            for number in os.read(reader, 64):
                self._on_signal(number, None)

    def _on_signal(self, number: int, _: object) -> None:
        self.begin(128 + number, CLEANUP_AFTER_SIGNAL)

    def on_end_of_input(self) -> None:
        self.begin(0, CLEANUP_AFTER_INPUT)

    def _guard(self) -> None:
        self._begun.wait()
        time.sleep(self._cleanup_seconds)
        leave(self.status or 0)


def leave(status: int) -> NoReturn:
    """Exit without waiting for threads, because a read of standard input may never return."""
    with suppress(Exception):
        sys.stderr.flush()
    os._exit(status)
