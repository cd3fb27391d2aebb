"""Operations that only read work in a project that cannot be written."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from _faces import answer
from _files_project import disk, ignores_permissions, make_read_only, snapshot
from _processes import small
from conftest import ROOT, Cli, child_environ, git
from preread.operations import REGISTRY
from preread.operations.registry import RequestModel

READS = (
    "show login", "status", "evidence login", "failures", "facts token", "recall token",
    "check login", "check --all", "backups", "workflow", "log", "settings",
)  # fmt: skip


@pytest.fixture(params=["read-only disk", "no permission"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "read-only disk":
        with disk(tmp_path / "disk", "8m") as root:
            yield root
    elif ignores_permissions(tmp_path):
        pytest.skip("this user may write everywhere")
    else:
        yield tmp_path
        for path in (tmp_path, *tmp_path.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)


def forbid(place: Path, project: Path) -> None:
    """Forbid to write anything of the project."""
    if place.is_mount():
        make_read_only(place)
        return
    for path in (project, *project.rglob("*")):
        if path.is_dir() or path.is_relative_to(project / ".project"):  # others are never written
            path.chmod(path.stat().st_mode & ~0o222)  # this counts as a change of a report


def test_read_operations_work_in_a_project_that_cannot_be_written(place: Path, cli: Cli) -> None:
    project = small(place / "small")
    assert cli("load", "login", cwd=project).status == 0
    assert cli("remember", "tokens are text", cwd=project).status == 0
    told = {words: cli(*words.split(), "--json", cwd=project) for words in READS}
    forbid(place, project)
    before = snapshot(project)
    for words in READS:
        done = cli(*words.split(), "--json", cwd=project)
        assert (done.status, done.err) == (0, ""), words
        assert words == "status" or done.json == told[words].json, words  # that says its age
    assert snapshot(project) == before
    done = cli("load", "login", "--force", "--json", cwd=project)
    assert (done.status, done.json["status"], done.json["code"]) == (1, "error", "E_WRITE")
    assert snapshot(project) == before


def test_its_database_is_in_a_private_folder(place: Path, cli: Cli) -> None:
    project = small(place / "small")
    forbid(place, project)
    assert cli("facts", "token", cwd=project).status == 0
    folder = next((Path(os.environ["HOME"]) / ".cache" / "preread").iterdir())
    assert (folder / "index.db").is_file()
    assert folder.stat().st_mode & 0o077 == 0


GIVEN = {"feature": "login", "paths": ["src/login.py"], "format": "csv", "node": "src/login.py"}


def fewest(request: type[RequestModel]) -> dict[str, object]:
    """Values for the parameters that an operation cannot do without."""
    found: dict[str, object] = {}
    for name, field in request.model_fields.items():
        if field.is_required():
            fitting = {"dict": {"login": 1}, "tuple": ["login"], "list": ["login"]}
            kinds = [value for kind, value in fitting.items() if kind in str(field.annotation)]
            found[name] = GIVEN.get(name, kinds[0] if kinds else "login")
    return found


async def answers_of_reads(project: Path) -> dict[str, str]:
    """The error's code of each operation that reads; empty for a result."""
    found = {}
    for operation in REGISTRY.values():
        if operation.effect == "read":
            state = {"method": operation.name, "params": fewest(operation.request)}
            reply = await answer(project, state)
            found[operation.name] = reply.get("error", {}).get("code", "")
    return found


def test_no_question_makes_a_folder_a_project(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    codes = anyio.run(answers_of_reads, tmp_path)
    assert len(codes) > 40
    assert set(codes.values()) <= {"", "E_NOT_FOUND", "E_USAGE", "E_WORKTREE", "E_DOCUMENT"}, codes
    assert [path.name for path in tmp_path.iterdir()] == [".git"]


def test_every_operation_that_reads_works_on_a_read_only_disk(tmp_path: Path, cli: Cli) -> None:
    with disk(tmp_path / "disk", "8m") as place:
        project = small(place / "small")
        assert cli("load", "login", cwd=project).status == 0
        assert cli("say", "hello", cwd=project).status == 0
        make_read_only(place)
        before = snapshot(project)
        codes = anyio.run(answers_of_reads, project)
        assert set(codes.values()) <= {"", "E_NOT_FOUND", "E_USAGE", "E_WORKTREE", "E_DOCUMENT"}
        assert snapshot(project) == before


EVENT = {
    "session_id": "session-1", "tool_use_id": "toolu_1234", "agent_id": "agent-1234",
    "agent_type": "test-planner", "source": "startup", "prompt": "Test the login",
    "tool_name": "Bash", "tool_input": {"command": "pytest tests/test_login.py"},
    "tool_response": {"stdout": "1 passed in 0.1s"},
}  # fmt: skip
HOOKS = (
    "session-start",
    "user-prompt",
    "subagent-start",
    "pre-retry-gate",
    "post-test-run",
    "stop",
)


def test_hooks_remember_nothing_there_and_do_the_rest(place: Path) -> None:
    project = small(place / "small", {".project/gates": "mode block\ntests/test_{feature}.py\n"})
    forbid(place, project)
    answers = {}
    for name in HOOKS:
        done = subprocess.run(
            [ROOT / "hooks" / name], input=json.dumps(EVENT | {"cwd": str(project)}), cwd=project,
            env=child_environ({"CLAUDE_PROJECT_DIR": str(project)}),
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert "failed" not in done.stdout + done.stderr, name
        answers[name] = done.stdout
    assert "This project has no dossiers yet." in answers["session-start"]
