"""Start a program without supervising it: one that outlives this process, or a server on pipes."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from preread.infra import atomic


def start(
    program: Sequence[str], environ: Mapping[str, str], log: Path
) -> "subprocess.Popen[bytes]":
    """Start it in its own session, and in the root folder, so that it keeps no other one in use.

    Raises E_WRITE, OSError.
    """
    atomic.make_folder(log.parent)
    with atomic.write_errors(log), open(log, "ab", opener=_private) as output:
        return subprocess.Popen(
            program, env=dict(environ), cwd=os.sep, stdin=subprocess.DEVNULL, stdout=output,
            stderr=output, start_new_session=True,
        )  # fmt: skip


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def on_pipes(program: Sequence[str], environ: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start a server that ends with its standard input. Raises OSError."""
    return subprocess.Popen(
        program, env=dict(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
