"""How git is run: no filter, no program of the project; and nothing that the hooks read hangs."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from _processes import processes_in
from _session_hooks import Scene, gated
from _whole import sized
from conftest import Cli, child_environ, git
from preread.gates import changes, git_command, search_path
from preread.infra import subprocesses
from preread.project import git as project_git

# -- filters


def filtering(root: Path, key: str, command: str) -> Path:
    """A repository whose status runs a filter on `a.txt`."""
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Begin")
    (root / ".git/info/attributes").write_text("*.txt filter=evil\n")
    git(root, "config", key, command)
    git(root, "config", "filter.evil.required", "true")
    (root / "a.txt").write_text("two\n")
    return root


@pytest.mark.parametrize("kind", ["clean", "process"])
def test_a_status_runs_no_filter_and_still_finds_what_changed(tmp_path: Path, kind: str) -> None:
    mark = tmp_path / "ran"
    root = filtering(tmp_path / "shop", f"filter.evil.{kind}", f"touch {mark}; cat")
    assert changes.dirty(str(root)) == ["a.txt"]
    assert not mark.exists()
    subprocess.run(["git", "status"], cwd=root, capture_output=True, check=False)
    assert mark.exists(), "git itself runs it"


def test_a_filter_whose_name_cannot_be_overridden_ends_the_look_at_git(tmp_path: Path) -> None:
    root = filtering(tmp_path / "shop", "filter.evil.clean", "cat")
    config = root / ".git/config"
    config.write_text(config.read_text() + '[filter "a=b"]\n\tclean = cat\n')
    assert changes.dirty(str(root)) is None


def test_filters_are_switched_off_by_name() -> None:
    listed = b"filter.lfs.clean\0filter.lfs.process\0filter.a.b.smudge\0"
    options = git_command.without_filters(listed)
    assert options is not None
    assert list(options)[1::2] == [
        "filter.a.b.clean=", "filter.a.b.smudge=", "filter.a.b.process=", "filter.lfs.clean=",
        "filter.lfs.smudge=", "filter.lfs.process=", "filter.a.b.required=false",
        "filter.lfs.required=false",
    ]  # fmt: skip
    assert git_command.without_filters(b"") == []


# -- PATH


def test_programs_are_looked_up_outside_the_project_by_absolute_folders(tmp_path: Path) -> None:
    root, link = tmp_path / "shop", tmp_path / "link"
    (root / "bin").mkdir(parents=True)
    link.symlink_to(root / "bin")
    given = [".", "", "bin", "/usr/bin", str(root), str(root / "bin"), str(link), f"{root}-x"]
    kept = search_path.outside(str(root), {"PATH": os.pathsep.join(given)})
    assert kept.split(os.pathsep) == ["/usr/bin", f"{root}-x"]
    assert search_path.outside(str(root), {"PATH": "."}) == os.defpath
    assert search_path.outside(str(root), {}) == os.defpath.lstrip(os.pathsep)


# -- pipes

PIPES = (
    ".project/gates", ".project/config.toml", ".project/knowledge.md", ".project/runs/login.md",
    ".project/context/login/summary.md", ".project/context/login/manifest.json",
    ".project/context/login/patterns.md", ".project/.state/results.jsonl",
    ".project/.state/gates-off", ".project/.state/runs.lock", ".project/.cache/stale/login",
    ".project/.cache/building/login", ".project/.cache/preread.log",
    ".project/.state/sessions/597d140e-6480-496a-ab20-8bfc3962013a/start",
    "tests/test_login.py", ".git/HEAD", ".git/config", ".gitattributes", ".gitignore",
    ".mcp.json", ".env", ".prereadignore", "pyproject.toml", "package.json",
)  # fmt: skip
MAX_SECONDS = 6.0  # a hook's own limit is 5


@pytest.mark.parametrize("name", sized(PIPES[::2], PIPES))
def test_a_pipe_in_place_of_a_file_does_not_make_a_hook_wait(tmp_path: Path, name: str) -> None:
    scene = gated(tmp_path / "shop", repository=True)
    scene.dossier("login")
    scene.write("tests/test_login.py")
    scene.write(".project/runs/login.md", "# Run log: login\n\n## WRITE\n- x\n")
    place = scene.root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    for hook in hooks_of(scene):
        begun = time.monotonic()
        hook()
        assert time.monotonic() - begun < MAX_SECONDS, (name, hook)


def hooks_of(scene: Scene):
    new = {"file_path": str(scene.root / "tests/test_cart.py"), "content": "x"}
    dispatch = {"subagent_type": "test-planner", "prompt": "feature: login"}
    return (
        lambda: scene.run("session-start", scene.event("SessionStart", source="startup")),
        lambda: scene.run(
            "pre-spec-write", scene.event("PreToolUse", tool_name="Write", tool_input=new)
        ),
        lambda: scene.run(
            "pre-task-gate", scene.event("PreToolUse", tool_name="Agent", tool_input=dispatch)
        ),
        lambda: scene.before("pytest tests/test_login.py"),
        lambda: scene.tests("pytest tests/test_login.py", "1 failed", 1),
        scene.stop,
    )


# Git opens the others itself: a command waits for it until its deadline.
READ_BY_US = [name for name in PIPES if not name.startswith(".git")]


@pytest.mark.parametrize("name", sized(READ_BY_US[::3], READ_BY_US))
def test_a_pipe_in_place_of_a_file_does_not_make_a_command_wait(
    cli: Cli, tmp_path: Path, name: str
) -> None:
    scene = gated(tmp_path / "shop", repository=True)
    scene.write("tests/test_login.py", "def test_login():\n    assert 1\n")
    scene.write("login.py", "def login():\n    return 1\n")
    place = scene.root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    for command in (["load", "login", "--level", "light"], ["status"]):
        done = cli(*command, cwd=scene.root, timeout=60)
        assert done.status in {0, 1}, (name, command, done)
        assert "Traceback" not in done.err, done


def test_a_git_that_spins_is_ended_at_its_deadline(tmp_path: Path) -> None:
    """So it needs no limit of processor time."""
    project, fake = tmp_path / "p", tmp_path / "bin" / "git"
    project.mkdir()
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nwhile :; do :; done\n")
    fake.chmod(0o755)
    environ = {"PATH": f"{fake.parent}{os.pathsep}{os.environ['PATH']}"}
    done = project_git.run(subprocesses.run, project, ["log"], environ, 0.3, lambda: None)
    assert done.timed_out
    assert project_git.failure(["log"], done, 0.3, must=True) == "git log did not answer within 0 s"
    assert processes_in(project) == []


# -- the log


@pytest.mark.parametrize("make", ["link", "pipe", "folder link"])
def test_the_log_is_never_written_through_a_link(cli: Cli, tmp_path: Path, make: str) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "jinja2.py").write_text("raise ZeroDivisionError('a broken installation')\n")
    folder, victim = tmp_path / "app", tmp_path / "victim"
    log = folder / ".project" / ".cache" / "preread.log"
    log.parent.mkdir(parents=True)
    victim.mkdir()
    (victim / "preread.log").write_text("mine\n")
    if make == "link":
        log.symlink_to(victim / "preread.log")
    elif make == "pipe":
        os.mkfifo(log)
    else:
        log.parent.rmdir()
        log.parent.symlink_to(victim)
    path = os.pathsep.join((str(broken), child_environ()["PYTHONPATH"]))
    done = cli("init", cwd=folder, env={"PYTHONPATH": path, "TMPDIR": str(tmp_path)}, timeout=30)
    assert (victim / "preread.log").read_text() == "mine\n"
    assert done.status in {1, 3}, done
    if make != "folder link":
        assert "ZeroDivisionError" in done.err
        [temporary] = tmp_path.glob("preread-*.log")
        assert "Traceback" in temporary.read_text()
