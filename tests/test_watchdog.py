"""A process whose interpreter hangs past a deadline ends; one that is only slow does not."""

import subprocess
import time

import pytest

from _files_project import program, program_environ

# With a real call that holds the interpreter lock for minutes: a regular expression.
HANG = """
import re, sys, time
from preread.infra import watchdog

watchdog.GRACE_SECONDS, watchdog.BEAT_SECONDS = 1.0, 0.1
with watchdog.guarded(time.monotonic() + 0.3):
    {work}
print("ended")
time.sleep(1.5)
"""
MATCH = 're.match("(a+)+$", "a" * 40 + "b")'


def run(work: str) -> subprocess.CompletedProcess[str]:
    command = program("-c", HANG.format(work=work))
    return subprocess.run(
        command, env=program_environ(), capture_output=True, text=True, timeout=60, check=False
    )


def test_a_call_that_holds_the_interpreter_lock_ends_at_the_deadline() -> None:
    begun = time.monotonic()
    done = run(MATCH)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Timeout" in done.stderr
    assert "re/__init__.py" in done.stderr  # what it was doing
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("work", ["time.sleep(2.5)", "pass"])
def test_work_that_lets_the_interpreter_run_may_take_longer(work: str) -> None:
    done = run(work)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
