"""Ctrl-C and SIGTERM stop the build and clean up after it; a second signal exits at once."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from conftest import ROOT, Cli, child_environ

PATIENCE = 30.0  # seconds; what is waited for comes within one or two


class Build:
    """A `preread load checkout` that hangs in git, which waits for a person to interrupt it."""

    def __init__(
        self, project: Path, folder: Path, *arguments: str, clinging: bool = False
    ) -> None:
        self.project = project
        self.started = folder / "git-started"
        # One that clings leaves a process of another session behind, which keeps git's output open.
        leave = "setsid sleep 20 & " if clinging else ""
        stuck = f"{leave}echo $$ >> {self.started}; exec sleep 600"
        fake = folder / "bin" / "git"
        fake.parent.mkdir()
        fake.write_text(
            f'#!/bin/sh\ncase " $* " in *" log "*) {stuck};; esac\nexec {shutil.which("git")} '
            f'"$@"\n'
        )
        fake.chmod(0o755)
        environ = child_environ({"PATH": f"{fake.parent}{os.pathsep}{os.environ['PATH']}"})
        self.process = subprocess.Popen(
            [sys.executable, "-m", "preread", "load", "checkout", *arguments],
            cwd=project, env=environ, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def until_stuck(self) -> int:
        """Wait until git hangs; its process id."""
        end = time.monotonic() + PATIENCE
        while not (self.started.exists() and self.started.read_text().endswith("\n")):
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end, "the build never got to git"
            time.sleep(0.02)
        return int(self.started.read_text().split()[0])

    def end(self, number: int) -> tuple[int, str, str, float]:
        """Send a signal; exit status, both outputs, and the seconds that it took to end."""
        begun = time.monotonic()
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err, time.monotonic() - begun


@pytest.fixture
def start(project: Path, tmp_path: Path) -> Iterator[Callable[..., Build]]:
    """`start("--json")`: a hanging build of the example project, ended with the test."""
    builds: list[Build] = []

    def begin(*arguments: str, clinging: bool = False) -> Build:
        builds.append(Build(project, tmp_path, *arguments, clinging=clinging))
        return builds[-1]

    yield begin
    for build in builds:
        if build.process.poll() is None:
            build.process.kill()
            build.process.communicate()


def assert_clean(project: Path) -> None:
    """Nothing of the build is left: no drafts, no hint for the gates, no half of a dossier."""
    cache = project / ".project" / ".cache"
    assert not list((cache / "staging").glob("*"))
    assert not list((cache / "building").glob("*"))
    assert not (project / ".project" / "context").exists()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_build_and_leaves_nothing(
    start: Callable[..., Build], number: int, status: int
) -> None:
    build = start()
    git = build.until_stuck()
    code, out, err, seconds = build.end(number)
    assert code == status
    assert out == ""
    assert err.startswith("error: E_CANCELLED: Interrupted.\n")
    assert "Traceback" not in err
    assert seconds < 10
    assert not psutil.pid_exists(git) or psutil.Process(git).status() == psutil.STATUS_ZOMBIE
    assert_clean(build.project)


def test_after_an_interruption_the_next_load_builds(start: Callable[..., Build], cli: Cli) -> None:
    build = start()
    build.until_stuck()
    build.end(signal.SIGINT)
    done = cli("load", "checkout", "--json", cwd=build.project)
    assert (done.status, done.json["state"]) == (0, "built")


def test_an_interrupted_load_is_reported_as_json(start: Callable[..., Build]) -> None:
    build = start("--json")
    build.until_stuck()
    code, out, err, _ = build.end(signal.SIGINT)
    assert (code, err) == (130, "")
    assert '"code": "E_CANCELLED"' in out


def test_a_second_signal_ends_at_once(start: Callable[..., Build]) -> None:
    build = start(clinging=True)
    build.until_stuck()
    build.process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        build.process.wait(1)
    code, out, err, seconds = build.end(signal.SIGINT)
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    assert seconds < 2


def test_a_signal_while_python_still_imports_prints_no_traceback(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = cli("status", env={"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'server'}"})
    assert (done.status, done.out, done.err) == (130, "", "")
