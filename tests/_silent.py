"""File systems that do not answer: a mount whose server never replies, or files behind a pipe."""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

import pytest

MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
# What a Python process runs at its start so that opening or listing anything below SILENT_ROOT
# blocks in the kernel while the pipe SILENT_GATE has no writer.
BEHIND_A_PIPE = """
import os, sys
ROOT, GATE = os.environ["SILENT_ROOT"], os.environ["SILENT_GATE"]
def wait(event, arguments):
    if event in {"open", "os.scandir", "os.listdir"} and str(arguments[0]).startswith(ROOT):
        os.close(os.open(GATE, os.O_RDONLY))
sys.addaudithook(wait)
"""


class Mount:
    """Hides a folder under a FUSE file system whose server never answers."""

    program = ""

    def __init__(self, root: Path, _gate: Path) -> None:
        self._root = os.fsencode(root)
        self._server = -1

    def begin(self) -> None:
        try:
            self._server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            pytest.skip(f"no FUSE here: {error}")
        options = f"fd={self._server},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        arguments = b"silent", self._root, b"fuse", MS_NOSUID | MS_NODEV, options.encode()
        if _call("mount", *arguments) != 0:
            os.close(self._server)
            pytest.skip("this user may not mount")

    def end(self) -> None:
        _call("umount2", self._root, MNT_DETACH)
        if self._server >= 0:
            os.close(self._server)  # whoever waits gets an error
            self._server = -1


class Pipe:
    """Has a process that runs BEHIND_A_PIPE wait whenever it opens a file of a folder."""

    program = BEHIND_A_PIPE

    def __init__(self, _root: Path, gate: Path) -> None:
        os.mkfifo(gate)
        self._gate = gate
        self._writer = os.open(gate, os.O_RDWR)

    def begin(self) -> None:
        os.close(self._writer)

    def end(self) -> None:
        self._writer = os.open(self._gate, os.O_RDWR)


def _call(name: str, *arguments: object) -> int:
    function: Callable[..., int] = getattr(ctypes.CDLL(None, use_errno=True), name)
    return function(*arguments)
