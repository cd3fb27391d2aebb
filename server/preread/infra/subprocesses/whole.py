"""A program run to its end: all of its output kept, and nothing on its standard input but what it is fed."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

SLICE = 0.1  # seconds between looks at the deadline and at cancellation
LAST_WORDS = 5.0  # seconds for the output of a killed program to end


class Done(NamedTuple):
    """How a program ended. `timed_out` means that it was killed at its time limit."""

    status: int
    out: bytes
    err: bytes
    timed_out: bool = False


Runner = Callable[..., Done]


def never() -> None:
    """The check of a caller that cannot be cancelled."""


def kill_tree(process: "subprocess.Popen[bytes]") -> None:
    """End a program and everything in its session's process group at once."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass


def _rest(process: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    """What a killed program had printed; nothing when somebody it left behind holds its output open."""
    try:
        return process.communicate(timeout=LAST_WORDS)
    except subprocess.TimeoutExpired:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait(LAST_WORDS)
        return b"", b""


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout: float,
    environ: Mapping[str, str],
    check: Callable[[], None] = never,
    feed: bytes = b"",
) -> Done:
    """Run a program to its end, with `feed` as its standard input. `check` may raise to cancel; it is ended then.

    A program that cannot be started is status 127 with the reason in `err`, as a shell has it.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Done(127, b"", str(error).encode())
    deadline = time.monotonic() + timeout
    unsent: bytes | None = feed or None
    try:
        while True:
            try:
                out, err = process.communicate(unsent, timeout=SLICE)
            except subprocess.TimeoutExpired:
                unsent = None  # it is kept there, and must not be given twice
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
