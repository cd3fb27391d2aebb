"""The process that relay.py starts and that becomes the server: behind pipes, in its own session.

Only the standard library, and the syntax of Python 3.8.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from contextlib import suppress

CHUNK = 2**16
MAX_REASON = 2000  # characters of its standard error to keep
ERRORS = 2


class Child:
    """A process that becomes the server, or fails."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        self.streams = (self.process.stdin, self.process.stdout, self.process.stderr)
        self.input, self.output, self.errors = (
            stream.fileno()  # type: ignore[union-attr]
            for stream in self.streams
        )
        os.set_blocking(self.input, False)
        os.set_blocking(self.errors, False)
        self.readers = [self.output, self.errors]
        self.waiting = bytearray()  # bytes to be written to its input
        self.error_text = ""  # the end of its standard error

    def write(self) -> None:
        """Write as many of the waiting bytes as the pipe takes."""
        try:
            del self.waiting[: os.write(self.input, self.waiting)]
        except BlockingIOError:
            pass
        except OSError:  # it has ended, which reading its output will show
            self.waiting.clear()

    def forward_errors(self) -> bool:
        """Pass on what it wrote to standard error; false if there was nothing."""
        try:
            data = os.read(self.errors, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self.readers = [self.output]
        with suppress(OSError):
            write(ERRORS, data)
        self.error_text = (self.error_text + data.decode("utf-8", "replace"))[-MAX_REASON:]
        return bool(data)

    def end(self, seconds: float) -> None:
        """Stop it and its installer, waiting at most this many seconds before killing them."""
        self._signal(signal.SIGTERM)
        while select.select([self.output], [], [], seconds)[0] and os.read(self.output, CHUNK):
            pass
        self._signal(signal.SIGKILL)
        self.process.wait()

    def status(self) -> int:
        """Its exit status, once its output has ended."""
        while self.forward_errors():
            pass
        for stream in self.streams:
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        return self.process.wait()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def write(descriptor: int, data: bytes) -> None:
    """Write all of it. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
