"""A process that was noted down is known again, also after the clock was set."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from _processes import small
from preread.infra import processes
from preread.layout import Layout

HOUR = 3600
linux = pytest.mark.skipif(sys.platform != "linux", reason="ticks are in /proc")


def clock_set(at: Path) -> Path:
    """A /proc whose kernel's clock was set an hour forward: the boot then was an hour later."""
    for entry in Path("/proc").iterdir():
        if entry.name != "stat":
            (at / entry.name).symlink_to(entry)
    lines = [
        f"btime {int(line.split()[1]) + HOUR}" if line.startswith("btime ") else line
        for line in Path("/proc/stat").read_text().splitlines()
    ]
    (at / "stat").write_text("\n".join(lines) + "\n")
    return at


def test_a_process_lives_until_it_ends_and_is_no_other_one() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        noted = processes.born(child.pid)
        assert processes.lives(child.pid, noted)
        assert not processes.lives(os.getpid(), noted)
    assert not processes.lives(child.pid, noted)
    assert not processes.born(child.pid)
    assert not processes.lives(child.pid, processes.born(child.pid))
    assert not processes.lives(child.pid, 0.0)


def test_what_older_versions_noted_counts() -> None:
    since = psutil.Process().create_time()
    assert processes.lives(os.getpid(), since)
    assert not processes.lives(os.getpid(), since - HOUR)


def test_without_ticks_the_time_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PROC", tmp_path)
    noted = processes.born(os.getpid())
    assert noted == psutil.Process().create_time()
    assert processes.lives(os.getpid(), noted)


@linux
def test_a_clock_that_is_set_makes_nobody_look_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted, before = processes.born(os.getpid()), psutil.Process().create_time()
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(clock_set(tmp_path)))
    assert psutil.Process().create_time() == pytest.approx(before + HOUR, abs=2)
    assert processes.lives(os.getpid(), noted)
    boot, _, ticks = str(noted).partition(" ")
    assert not processes.lives(os.getpid(), f"another-boot {ticks}")
    assert not processes.lives(os.getpid(), f"{boot} {int(ticks) + 1}")


@linux
def test_another_process_sees_a_live_build_after_the_clock_was_set(tmp_path: Path) -> None:
    root = small(tmp_path / "p")
    (proc := tmp_path / "proc").mkdir()
    changed = clock_set(proc) / "stat"
    begin = {
        "event": "begin", "feature": "login", "at": time.time(), "level": "light",
        "pid": os.getpid(), "born": processes.born(os.getpid()),
    }  # fmt: skip
    folder = Layout(root).live_builds
    folder.mkdir(parents=True)
    (folder / f"login.{os.getpid():08x}00000000.jsonl").write_text(json.dumps(begin) + "\n")
    # In a mount namespace of its own, all of its /proc says that the clock was set.
    script = f"mount --bind {changed} /proc/stat || exit 99; exec {sys.executable} -m preread builds list --json"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], cwd=root, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.fspath(Path(processes.__file__).parents[2])},
    )  # fmt: skip
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"no mount namespace here: {done.stderr}")
    assert [one["feature"] for one in json.loads(done.stdout)["elsewhere"]] == ["login"], done
