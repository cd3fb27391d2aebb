"""Programs for tests/test_child.py: each misbehaves in one way and records its processes' ids."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

PRELUDE = '''
import os, signal, sys, time

PIDS = sys.argv[1]

def note():
    open(os.path.join(PIDS, str(os.getpid())), "x").close()

def say(text):
    os.write(1, text.encode() + b"\\n")

def ignore(*numbers):
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)

def on(number, work):
    signal.signal(number, lambda *_: work())

def for_ever():
    while True:  # a signal that comes just before a sleep is handled after it
        time.sleep(0.1)

def leave_behind(*, orphan=True, unmarked=False):
    """A process in its own session that ignores signals and keeps pipes open."""
    heard, told = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if orphan and os.fork():
            os._exit(0)
        ignore(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        note()
        os.write(told, b".")
        # Elsewhere, it can only be found by its mark.
        if unmarked and sys.platform == "linux":
            # Ignored signals stay ignored in the new program.
            os.execve("/bin/sleep", ["sleep", "600"], {})
        for_ever()
    os.read(heard, 1)
    if orphan:
        os.wait()

note()
with open(os.path.join(os.path.dirname(PIDS), "program"), "w") as file:
    file.write(str(os.getpid()))
'''
PROGRAMS = {
    "polite": """
        on(signal.SIGINT, lambda: (say("result"), os._exit(0)))
        say("ready")
        for_ever()
        """,
    "deaf": """
        ignore(signal.SIGINT)
        on(signal.SIGTERM, lambda: (say("result"), os._exit(3)))
        say("ready")
        for_ever()
        """,
    "stubborn": """
        ignore(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        say("ready")
        for line in sys.stdin:
            say("still here")
        for_ever()
        """,
    "clan": """
        ignore(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        leave_behind(orphan=False)
        leave_behind()
        leave_behind(unmarked=True)
        say("ready")
        for_ever()
        """,
    "parent": """
        on(signal.SIGINT, lambda: (say("result"), os._exit(0)))
        leave_behind()
        say("ready")
        for_ever()
        """,
    "deserter": """
        leave_behind(orphan=False)
        leave_behind(unmarked=True)
        say("ready")
        os._exit(7)
        """,
    "talker": """
        while True:
            say("all work and no play makes a dull line")
        """,
    "echo": """
        for line in sys.stdin.buffer:
            sys.stdout.buffer.write(line)
        sys.stdout.flush()
        """,
}


class Fakes:
    """Fakes of one test: how to start each, and which of their processes are left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "fakes"
        self.pids = self.folder / "pids"
        self.pids.mkdir(parents=True)
        for name, source in PROGRAMS.items():
            self.write(name, source)

    def write(self, name: str, source: str) -> list[str]:
        (self.folder / f"{name}.py").write_text(PRELUDE + textwrap.dedent(source))
        return self.argv(name)

    def argv(self, name: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(self.folder / f"{name}.py"), str(self.pids)]

    def started(self) -> set[int]:
        return {int(path.name) for path in self.pids.iterdir()}

    def program(self) -> int:
        """The process that was started last by us, and not by another fake."""
        return int((self.folder / "program").read_text())

    def left(self) -> set[int]:
        return {pid for pid in self.started() if lives(pid)}

    def end(self) -> None:
        """End what a failed test left."""
        for pid in self.left():
            os.kill(pid, 9)


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def popen(argv: list[str], **options: object) -> Iterator["subprocess.Popen[bytes]"]:
    """A process without a supervisor; killed at the end of the block, whatever happened there."""
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
    ) as process:
        try:
            yield process
        finally:
            process.kill()
