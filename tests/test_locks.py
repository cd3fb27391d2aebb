"""Locks between processes, also where the file system refuses them."""

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from _files_project import program_environ
from _processes import small
from _refusals import without_locks
from conftest import child_environ
from preread.infra.locks import FileLock

COUNT = """
import sys
from pathlib import Path
from preread.infra.locks import FileLock

path, number = Path(sys.argv[1]), Path(sys.argv[2])
for _ in range(20):
    with FileLock(path, timeout=60, poll_interval=0.001):
        number.write_text(str(int(number.read_text()) + 1))
"""
HOLD = """
import sys, time
from pathlib import Path
from preread.infra.locks import FileLock

with FileLock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
TRY = """
import sys
from pathlib import Path
from preread.infra.locks import FileLock

try:
    FileLock(Path(sys.argv[1])).acquire(timeout=float(sys.argv[2]))
    print("free")
except TimeoutError:
    print("held")
"""
KINDS = {"locks": 0, "none": errno.ENOLCK, "not known": errno.EOPNOTSUPP}


@pytest.fixture(params=KINDS)
def environ(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    number = KINDS[request.param]
    shim = without_locks(tmp_path / "library", tmp_path, number) if number else {}
    return program_environ() | shim


def run(code: str, environ: dict[str, str], *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=60)[0]


def test_only_one_process_at_a_time_holds_a_lock(tmp_path: Path, environ: dict[str, str]) -> None:
    number = tmp_path / "number"
    number.write_text("0")
    processes = [run(COUNT, environ, tmp_path / "a.lock", number) for _ in range(3)]
    assert [said(process) for process in processes] == ["", "", ""]
    assert number.read_text() == "60"


def test_the_lock_of_a_killed_process_is_free_at_once(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    path = tmp_path / "a.lock"
    holder = run(HOLD, environ, path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert said(run(TRY, environ, path, 0)) == "held\n"
    holder.kill()
    said(holder)
    begun = time.monotonic()
    assert said(run(TRY, environ, path, 20)) == "free\n"
    assert time.monotonic() - begun < 5


def test_any_other_error_is_raised(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="File exists"):
        FileLock(tmp_path / "file" / "a.lock").acquire(timeout=0)


def test_everything_works_in_a_project_on_a_file_system_without_locks(tmp_path: Path) -> None:
    project = small(tmp_path / "small")
    (project / ".project" / "config.toml").write_text('reports = ["reports/*.xml"]\n')
    environ = child_environ(without_locks(tmp_path / "library", project, errno.ENOLCK))

    def preread(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "preread", *arguments, "--json"]
        return subprocess.Popen(
            command, cwd=project, env=environ, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    begun = time.monotonic()
    both = [preread("load", "login") for _ in range(2)]
    answers = [process.communicate(timeout=60) for process in both]
    assert [err for _, err in answers] == ["", ""]
    replies = [json.loads(out) for out, _ in answers]
    assert {reply["state"] for reply in replies} <= {"built", "joined"}
    assert "built" in {reply["state"] for reply in replies}
    assert [reply["warnings"] for reply in replies] == [[], []]
    for words in (["remember", "tokens are text"], ["failures"]):
        process = preread(*words)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, ""), words
        assert json.loads(out)
    assert time.monotonic() - begun < 60  # SQLite waits 30 s for a lock, each time
    caches = Path(os.environ["HOME"]) / ".cache" / "preread"
    assert [path.name for path in caches.glob("*/index.db")] == ["index.db"]
    assert not list((project / ".project" / ".cache" / "locks").glob("*.lease"))
