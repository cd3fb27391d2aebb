"""A process whose interpreter hangs past a deadline ends; one that is only slow does not."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
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


# In a thread, as builds are: in the main one, `re` looks for signals.
INTERRUPTED = f"""
import re, threading
from preread.cli.foreground import Signals

with Signals(lambda: None).handled():
    work = threading.Thread(target=lambda: (print("ready", flush=True), {MATCH}))
    work.start()
    work.join()
"""


def is_caught(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    lines = Path(f"/proc/{pid}/status").read_text().split("\n")
    caught = next(int(line.split()[1], 16) for line in lines if line.startswith("SigCgt"))
    return bool(caught >> (number - 1) & 1)


def spent(pid: int) -> float:
    """Seconds of the processor."""
    return float(sum(psutil.Process(pid).cpu_times()[:2]))


@pytest.mark.skipif(sys.platform != "linux", reason="as in /proc and glibc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_a_command_whose_interpreter_hangs(number: signal.Signals) -> None:
    command = program("-c", INTERRUPTED)
    process = subprocess.Popen(command, env=program_environ(), stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        with process.stdout:
            process.stdout.readline()
        begun = spent(process.pid)
        while spent(process.pid) < begun + 0.2:  # it matches
            assert process.poll() is None
        process.send_signal(number)
        while is_caught(process.pid, number):
            assert process.poll() is None
        process.send_signal(number)
        assert process.wait(60) == -number
    finally:
        process.kill()
        process.wait()
