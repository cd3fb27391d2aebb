"""The one place that spawns: ends, time limits, and programs that leave somebody behind."""

import os
import time
from pathlib import Path

import pytest

from preread.errors import Cancelled
from preread.infra import subprocesses
from preread.infra.subprocesses import captured

HOLDS_THE_PIPE = "setsid sleep 30 & echo $! > left; "


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured, "DRAIN_SECONDS", 0.5)


def end_what_is_left(folder: Path) -> None:
    os.kill(int((folder / "left").read_text()), 9)


@pytest.mark.parametrize("then", ["sleep 600", "echo done"], ids=["hangs", "ends"])
def test_output_that_another_process_keeps_open_ends_at_the_time_limit(
    tmp_path: Path, then: str
) -> None:
    begun = time.monotonic()
    done = subprocesses.run(
        ["sh", "-c", HOLDS_THE_PIPE + then], cwd=tmp_path, timeout=0.5, environ=os.environ
    )
    end_what_is_left(tmp_path)
    assert done.timed_out
    assert isinstance(done.status, int)
    assert time.monotonic() - begun < 10


def test_a_cancelled_program_raises_what_its_check_raised(tmp_path: Path) -> None:
    def check() -> None:
        if (tmp_path / "left").exists():
            raise Cancelled

    with pytest.raises(Cancelled):
        subprocesses.run(
            ["sh", "-c", f"{HOLDS_THE_PIPE}sleep 600"],
            cwd=tmp_path,
            timeout=60,
            environ=os.environ,
            check=check,
        )
    end_what_is_left(tmp_path)


def test_a_program_that_is_not_there_is_status_127(tmp_path: Path) -> None:
    done = subprocesses.run([str(tmp_path / "none")], cwd=tmp_path, timeout=5, environ=os.environ)
    assert (done.status, done.timed_out) == (127, False)
    assert b"No such file" in done.err


def test_a_program_that_reads_late_gets_all_of_its_input(tmp_path: Path) -> None:
    command = ["sh", "-c", "sleep 0.5; wc -c"]
    done = subprocesses.run(
        command, cwd=tmp_path, timeout=30, environ=os.environ, feed=b"x" * 1_000_000
    )
    assert (done.status, done.out.split()) == (0, [b"1000000"])
