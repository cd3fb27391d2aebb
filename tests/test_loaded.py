"""Command lines forked from a process that has loaded Preread behave like freshly started ones."""

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from _processes import processes_in, until
from _trees import ordinary
from conftest import child_environ, loaded


def test_status_outputs_folder_and_environment_are_those_of_a_fresh_process(tmp_path: Path) -> None:
    project = ordinary(tmp_path / "pré fix")
    environ = child_environ({"PREREAD_CHILD": "0123456789abcdef"})
    for arguments in (["show", "login"], ["load", "login", "--json"], ["load", "-\xe9\udcff"]):
        fresh = subprocess.run(
            [sys.executable, "-m", "preread", *arguments],
            cwd=project, env=environ, stdin=subprocess.DEVNULL, capture_output=True,
        )  # fmt: skip
        forked = loaded().run(arguments, project, environ, 60)
        assert forked.returncode == fresh.returncode, arguments
        assert (forked.stdout, forked.stderr) == (fresh.stdout, fresh.stderr)


def test_many_at_once_are_not_taken_for_each_other_and_none_is_a_child_of_the_tests(
    tmp_path: Path,
) -> None:
    loaded()
    before = psutil.Process().children(), psutil.Process().num_fds()

    def one(number: int) -> tuple[int, bytes]:
        done = loaded().run(["load", f"-{number}", "--json"], tmp_path, child_environ(), 60)
        return done.returncode, json.loads(done.stdout)["details"]["slug"]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(8))) == [(2, str(number)) for number in range(8)]
    assert (psutil.Process().children(), psutil.Process().num_fds()) == before


def test_one_that_does_not_end_in_time_is_killed(tmp_path: Path) -> None:
    project = ordinary(tmp_path / "p").resolve()
    with pytest.raises(subprocess.TimeoutExpired):
        loaded().run(["load", "login"], project, child_environ(), 0.05)
    until(lambda: not processes_in(project), "the end of the build")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_stand_in_passes_on_streams_signals_and_exit_status(tmp_path: Path, number: int) -> None:
    command, pipe = loaded().program(["mcp", "--project", str(tmp_path)]), subprocess.PIPE
    with subprocess.Popen(
        command, cwd=tmp_path, env=child_environ(), stdin=pipe, stdout=pipe
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        inside = [
            each for each in psutil.process_iter(["cwd"]) if each.info["cwd"] == str(tmp_path)
        ]
        (server,) = (each for each in inside if each.pid != process.pid)
        (process if number == signal.SIGTERM else server).send_signal(number)
        assert process.wait(30) == (128 + number if number == signal.SIGTERM else -number)


def test_nothing_is_left_when_the_tests_are_killed(tmp_path: Path) -> None:
    environ = child_environ({"TMPDIR": str(tmp_path)})
    environ["PYTHONPATH"] += f":{Path(__file__).parent}"
    code = "import os, _loaded; _loaded.Loaded(os.environ); print(flush=True); input()"
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environ, stdin=pipe, stdout=pipe
    ) as process:
        assert process.stdout
        assert process.stdout.readline()
        assert [path.name[:7] for path in tmp_path.iterdir()] == ["loaded-"]
        process.kill()
    until(lambda: not [*tmp_path.iterdir()], "the removal of its folder")
