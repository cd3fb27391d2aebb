"""Serve the three pipes of a child in one thread, without ever blocking longer than asked."""

import os
import select
import subprocess
from collections import deque
from contextlib import suppress

CHUNK = 1 << 16  # bytes; the capacity of a pipe in Linux
TAIL = 16 * 1024  # bytes of stderr to keep


class Pipes:
    """Each `turn` writes stdin and reads stdout and stderr. Keeps only the end of stderr."""

    def __init__(self, process: "subprocess.Popen[bytes]", lifeline: int) -> None:
        named = {"in": process.stdin, "out": process.stdout, "err": process.stderr}
        self._files = {name: file for name, file in named.items() if file}
        for file in self._files.values():
            os.set_blocking(file.fileno(), False)
        self._unsent: deque[memoryview] = deque()
        self._closing = False
        self._tail = b""
        self._poll = select.poll()
        for name in ("out", "err"):
            self._poll.register(self._files[name], select.POLLIN)
        # The supervisor reads the lifeline, so its end is an error event here.
        self._poll.register(lifeline, 0)
        self._lifeline = lifeline
        self.hung_up = False

    @property
    def err(self) -> bytes:
        return self._tail

    @property
    def out_open(self) -> bool:
        return "out" in self._files

    def send(self, data: bytes) -> None:
        if "in" in self._files and not self._closing and data:
            self._unsent.append(memoryview(data))
            self._poll.register(self._files["in"], select.POLLOUT)

    def close_input(self) -> None:
        """Close stdin once everything queued is written."""
        self._closing = True
        if not self._unsent:
            self._close("in")

    def turn(self, seconds: float) -> bytes:
        """Wait up to `seconds` for any pipe to be ready, and serve it; returns bytes of stdout."""
        ready = {file for file, _ in self._poll.poll(seconds * 1000)}
        if self._lifeline in ready:
            self._poll.unregister(self._lifeline)
            self.hung_up = True
        moving = {name: file for name, file in self._files.items() if file.fileno() in ready}
        if "in" in moving:
            self._write()
        if "err" in moving:
            self._tail = (self._tail + self._read("err"))[-TAIL:]
        return self._read("out") if "out" in moving else b""

    def close(self) -> None:
        self._unsent.clear()
        for name in tuple(self._files):
            self._close(name)

    def _read(self, name: str) -> bytes:
        try:
            data = os.read(self._files[name].fileno(), CHUNK)
        except BlockingIOError:
            return b""
        if not data:
            self._close(name)
        return data

    def _write(self) -> None:
        stdin = self._files["in"]
        data = self._unsent.popleft()
        try:
            rest = data[os.write(stdin.fileno(), data[:CHUNK]) :]
        except BlockingIOError:
            rest = data
        except OSError:  # the reader has closed the pipe
            self._unsent.clear()
            self._closing, rest = True, data[:0]
        if rest:
            self._unsent.appendleft(rest)
        elif not self._unsent:
            self._poll.unregister(stdin)
            if self._closing:
                self._close("in")

    def _close(self, name: str) -> None:
        if name in self._files:
            file = self._files.pop(name)
            with suppress(KeyError):
                self._poll.unregister(file)
            with suppress(OSError):
                file.close()
