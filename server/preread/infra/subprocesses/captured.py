"""Run a program to its end and return all its output."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

SLICE = 0.1  # seconds between checks of the deadline and for cancellation
DRAIN_SECONDS = 5.0  # how long to read the output of a killed program


class Done(NamedTuple):
    """How a program ended. `timed_out`: it was killed at its deadline."""

    status: int
    out: bytes
    err: bytes
    timed_out: bool = False


Runner = Callable[..., Done]


def never() -> None:
    """The check of a caller that cannot be cancelled."""


def kill_tree(process: "subprocess.Popen[bytes]") -> None:
    """Kill a program and everything in its process group."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass


def _rest(process: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    """The output of a killed program; none if a process that it left keeps its pipes open."""
    try:
        return process.communicate(timeout=DRAIN_SECONDS)
    except subprocess.TimeoutExpired:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait(DRAIN_SECONDS)
        return b"", b""


@contextmanager
def _input(feed: bytes) -> Iterator[IO[bytes] | int]:
    """A program's standard input: a file, because `communicate` sends nothing after a time-out."""
    if not feed:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(feed)
        file.seek(0)
        yield file


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout: float,
    environ: Mapping[str, str],
    check: Callable[[], None] = never,
    feed: bytes = b"",
    inherit: Sequence[int] = (),
) -> Done:
    """Run a program to its end, with `feed` as its standard input. `check` may raise to cancel it.

    It inherits the descriptors in `inherit`. If it cannot be started, the status is 127, like in a
    shell, and `err` has the reason.
    """
    try:
        with _input(feed) as stdin:
            process = subprocess.Popen(
                list(argv),
                cwd=cwd,
                env=dict(environ),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=tuple(inherit),
            )
    except (OSError, ValueError) as error:
        return Done(127, b"", str(error).encode())
    deadline = time.monotonic() + timeout
    try:
        while True:
            try:
                out, err = process.communicate(timeout=SLICE)
            except subprocess.TimeoutExpired:
                check()
                if time.monotonic() > deadline:
                    kill_tree(process)
                    out, err = _rest(process)
                    return Done(process.returncode, out, err, timed_out=True)
            else:
                return Done(process.returncode, out, err)
    finally:
        if process.poll() is None:
            kill_tree(process)
            _rest(process)
