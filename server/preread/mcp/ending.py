"""How a server process ends: at once, whatever its threads are doing, with a bound for cleaning up."""

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

# Claude Code sends SIGINT, SIGTERM 0.1 s later and SIGKILL at 0.5 s.
CLEANUP_AFTER_SIGNAL = 0.3
CLEANUP_AFTER_INPUT = 1.0


class Ending:
    """The one way out. Its first cause decides the status; cleaning up has a bound."""

    def __init__(self) -> None:
        self.status: int | None = None
        self._bound = 0.0
        self._begun = threading.Event()
        self._clean: Callable[[], object] | None = None
        # Started now: a signal handler may interrupt the very code that starts threads.
        threading.Thread(target=self._guard, name="ending", daemon=True).start()

    def cleans_by(self, clean: Callable[[], object]) -> None:
        """From now on there is something to clean up; any thread and a signal handler may call `clean`."""
        self._clean = clean

    def begin(self, status: int, bound: float) -> None:
        if self.status is not None:
            return
        self.status, self._bound = status, bound
        if self._clean is None:
            leave(status)
        self._begun.set()
        with suppress(RuntimeError):  # the loop is closed: it is cleaned up
            self._clean()

    def on_signal(self, number: int, _: object) -> None:
        self.begin(128 + number, CLEANUP_AFTER_SIGNAL)

    def on_end_of_input(self) -> None:
        self.begin(0, CLEANUP_AFTER_INPUT)

    def _guard(self) -> None:
        self._begun.wait()
        time.sleep(self._bound)
        leave(self.status or 0)


def leave(status: int) -> NoReturn:
    """End without waiting for threads: one of them may sit in a read of standard input that never returns."""
    with suppress(Exception):
        sys.stderr.flush()
    os._exit(status)
