"""Run a program without a supervisor, outside POSIX: its descendants are not ended."""

import queue
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from preread.infra.subprocesses.pipes import CHUNK, TAIL

DRAIN_SECONDS = 1.0  # how long to read the output of a program that has ended


class Direct:
    """The same interface as `Supervised`. Each pipe has a thread, because it cannot be polled."""

    def __init__(
        self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str], _scratch: Path | None
    ) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            list(argv), cwd=cwd, env=dict(environ), stdin=pipe, stdout=pipe, stderr=pipe
        )
        self._unsent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._out: queue.Queue[bytes] = queue.Queue(16)
        self._ended_at: float | None = None
        self.err = b""
        self.out_open = True
        self._readers = [
            threading.Thread(target=work, daemon=True) for work in (self._read, self._drain)
        ]
        for thread in (*self._readers, threading.Thread(target=self._write, daemon=True)):
            thread.start()

    def _write(self) -> None:
        with suppress(OSError), self._process.stdin as stdin:  # type: ignore[union-attr]
            while (data := self._unsent.get()) is not None:
                stdin.write(data)
                stdin.flush()

    def _read(self) -> None:
        with self._process.stdout as stdout:  # type: ignore[union-attr]
            while data := stdout.read1(CHUNK):  # type: ignore[union-attr]  # buffered
                self._out.put(data)
        self._out.put(b"")

    def _drain(self) -> None:
        with self._process.stderr as stderr:  # type: ignore[union-attr]
            while data := stderr.read1(CHUNK):  # type: ignore[union-attr]
                self.err = (self.err + data)[-TAIL:]

    def send(self, data: bytes) -> None:
        self._unsent.put(data)

    def close_input(self) -> None:
        self._unsent.put(None)

    def turn(self, seconds: float) -> bytes:
        if not self.out_open:
            time.sleep(seconds)
            return b""
        try:
            data = self._out.get(timeout=seconds or 0.001)
        except queue.Empty:
            return b""
        self.out_open = bool(data)
        return data

    def status(self) -> int | None:
        """The program's exit status, once its output has ended or DRAIN_SECONDS are over."""
        if self._process.poll() is None:
            return None
        self._ended_at = self._ended_at or time.monotonic()
        is_reading = any(thread.is_alive() for thread in self._readers)
        if is_reading and time.monotonic() < self._ended_at + DRAIN_SECONDS:
            return None
        code: int = self._process.returncode
        return code if code >= 0 else 128 - code

    def ask(self) -> None:
        self._process.kill()

    def force(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._unsent.put(None)
