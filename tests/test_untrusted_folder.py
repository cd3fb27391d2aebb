"""Nothing of an untrusted folder runs, whatever is done with it: each of many ways, three origins.

The folder names programs in every place that Claude Code, git, Python and shells look at. The real
Claude Code, the real git, the real hooks and the real server work in it; no program may leave a
mark. A control shows that the traps are live.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from _claude import claude_environ
from _headless_scene import turns
from _mcp_process import BOUND, connect
from _messages_api import MessagesAPI, tool
from _session_hooks import HOOKS
from _traps import GIT_CONFIG, GIT_HOOKS, STATES, WAYS, Traps
from _trees import write
from conftest import ROOT
from preread.settings import Settings

# As the launcher starts the package: nothing is imported from the working directory.
RUN = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module('preread', None, '__main__', True)"
)
PREREAD = (sys.executable, "-I", "-c", RUN, str(ROOT / "server"))
COMMANDS = (
    ("doctor",),
    ("load", "login", "--level", "standard", "--ticket", "SHOP-1"),
    ("evidence", "login", "--description", "$(tools/canary name-dollar)"),
    ("load", "login", "--level", "light"),
    ("check", "login", "--run"),
    ("gates", "explain", "tests/test_login.py"),
    ("failures", "login"),
    ("status",),
)
OWN = Settings()  # the person's
BASH = shutil.which("bash") or "/bin/bash"


def events(traps: Traps) -> Iterator[tuple[str, dict[str, object]]]:
    """A session's hooks in order, with the events that they are given."""
    new = str(traps.project / "tests" / "test_$(tools/canary name-dollar)_login.py")
    shell = {"command": "pytest tests/test_login.py `tools/canary name-backtick`"}
    run = {"tool_name": "Bash", "tool_input": shell}
    agent = {
        "tool_name": "Agent",
        "tool_input": {"subagent_type": "test-planner", "prompt": "feature: login"},
    }
    yield "session-start", {"hook_event_name": "SessionStart", "source": "startup"}
    yield "pre-spec-write", {"tool_name": "Write", "tool_input": {"file_path": new, "content": "x"}}
    yield "pre-task-gate", agent
    yield "pre-retry-gate", run
    yield "post-test-run", {**run, "error": "Exit code 1\nFAILED tests/test_login.py::test_login"}
    yield "subagent-start", {"agent_id": "a", "agent_type": "test-planner"}
    yield "pre-compact", {"trigger": "auto"}
    yield "stop", {"stop_hook_active": False}


def run_hooks(traps: Traps, home: Path) -> None:
    environ = {"PATH": traps.path, "HOME": str(home), "CLAUDE_PROJECT_DIR": str(traps.project)}
    for hook, event in events(traps):
        whole = {"session_id": "597d140e-6480", "cwd": str(traps.project), **event}
        done = subprocess.run(
            [BASH, "-p", HOOKS / hook], cwd=traps.project, env=environ, check=True, timeout=60,
            input=json.dumps(whole).encode(), capture_output=True,
        )  # fmt: skip
        assert b"Python failed" not in done.stdout, (hook, done)
        assert b"no Python" not in done.stdout, (hook, done)


def run_launcher(traps: Traps, home: Path) -> None:
    """It looks for a Python, finds one, and cannot install anything here."""
    environ = {"PATH": traps.path, "HOME": str(home), "CLAUDE_PLUGIN_DATA": "/dev/null/x"}
    done = subprocess.run(
        [BASH, ROOT / "bin" / "preread", "status"], cwd=traps.project, env=environ, timeout=60,
        capture_output=True, check=False,
    )  # fmt: skip
    assert b"nothing can be written" in done.stderr or b"3.11" in done.stderr, done


async def ask_the_server(traps: Traps, environ: dict[str, str]) -> None:
    with anyio.fail_after(4 * BOUND):
        program = [*PREREAD[1:], "mcp"]
        async with connect(traps.project, env=environ, program=program, cwd=traps.project) as one:
            asked = {"feature": "login", "level": "standard", "force": True}
            reply = (await one.call_tool("load_context", asked)).structured_content
            assert reply["builder"] == "claude", reply


def read_then_write(request):
    return [
        tool("Read", file_path="login.py"),
        tool("Grep", pattern="login", output_mode="content"),
        tool("Skill", skill="login"),
        tool("Task", description="x", prompt="x", subagent_type="login"),
        tool("mcp__command__read"),
    ]


PATTERNS = "# Patterns: login\n\n## A\n- five: `ATTEMPTS = 5` (login.py:3)\n"


def recorder(folder: Path, claude: Path) -> Path:
    """The real program, which notes its arguments first."""
    script = folder / "claude"
    script.write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\nexec {claude} "$@"\n')
    script.chmod(0o755)
    return script


@pytest.mark.parametrize("state", STATES)
def test_no_program_of_an_untrusted_folder_runs(claude: Path, tmp_path: Path, state: str) -> None:
    """Nor does it choose the model, the service, the key or what a build may cost.

    Everything that was started shares one folder, in which each way has a mark of its own.
    """
    traps, home = Traps(tmp_path, state), write(tmp_path / "home", {"x": ""})
    program = recorder(tmp_path, claude)
    with MessagesAPI() as api:
        drafts = {"patterns.md": PATTERNS, "codebase.md": "# Codebase: login\n\nNo facts.\n"}
        api.play(turns(read_then_write, drafts))
        environ = {**os.environ, **claude_environ(api, home), "PATH": traps.path}
        environ |= {"PREREAD_CLAUDE": str(program), "GIT_CONFIG_NOSYSTEM": "1"}
        for command in COMMANDS if state == "clone" else COMMANDS[1:3]:
            done = subprocess.run(
                [*PREREAD, *command], cwd=traps.project, env=environ, timeout=120,
                capture_output=True, check=False,
            )  # fmt: skip
            assert done.returncode in {0, 1}, (command, done)
            assert b"Traceback" not in done.stderr, (command, done)
        if state == "clone":
            anyio.run(ask_the_server, traps, environ)
        run_hooks(traps, home)
        run_launcher(traps, home)
        for request in api.requests:  # all came here, with the person's key
            assert "sonnet" in request.body["model"] or "haiku" in request.body["model"]
            assert "of-the-project" not in request.key
    started = [line for line in (tmp_path / "calls").read_text().split("\n") if "-p" in line]
    assert started, "the real program ran"
    for line in started:
        given = dict(re.findall(r"--(max-turns|max-budget-usd|model|fallback-model) (\S+)", line))
        assert int(given["max-turns"]) <= OWN.max_turns, line
        assert float(given["max-budget-usd"]) <= OWN.max_usd, line
        assert {given["model"], given["fallback-model"]} == {OWN.model, OWN.fallback_model}, line
    assert traps.ran == []


def test_the_ways_are_as_many_as_promised() -> None:
    assert len(set(WAYS)) == len(WAYS) >= 60


# -- the control


def naively(traps: Traps, *command: str, **environ: str) -> None:
    own = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", **environ}
    subprocess.run(
        command, cwd=traps.project, env=own, capture_output=True, check=False, timeout=60
    )


def test_the_traps_of_git_are_live(tmp_path: Path) -> None:
    traps = Traps(tmp_path, "clone")
    naively(traps, "git", "status")
    rest = ("git", "-c", "filter.busy.process=")  # that one ends every command that comes upon it
    naively(traps, *rest, "-c", "core.fsmonitor=", "diff")
    naively(traps, *rest, "-c", "core.fsmonitor=", "commit", "-a", "-m", "x", "--allow-empty")
    naively(traps, *rest, "rm", "-q", "--cached", "tests/test_login.py")
    naively(traps, *rest, "checkout", "-f", "HEAD", "--", ".")
    naively(traps, "git", "fetch", "ssh://evil@example.invalid/x")
    live = set(traps.ran)
    assert live >= {
        "git-include", "git-filter-clean", "git-filter-process", "git-filter-smudge",
        "git-diff-command", "git-hook-pre-commit", "git-hook-reference-transaction",
        "git-hook-post-index-change", "git-ssh",
    }  # fmt: skip
    assert live <= {*GIT_CONFIG.values(), *(f"git-hook-{name}" for name in GIT_HOOKS), *WAYS}


def test_the_traps_of_path_and_python_are_live(tmp_path: Path) -> None:
    traps = Traps(tmp_path, "archive")
    naively(traps, "/usr/bin/env", "node", PATH=traps.path)
    naively(traps, "/usr/bin/env", "claude", PATH=f"{traps.project}/tools/bin")
    naively(traps, sys.executable, "-c", "import json, conftest", PYTHONPATH=".")
    assert {"path-dot-node", "path-inside-claude"} <= set(traps.ran)
    assert {"module-sitecustomize", "module-json", "module-conftest"} <= set(traps.ran)


def test_the_traps_of_claude_code_are_live(claude: Path, api: MessagesAPI, tmp_path: Path) -> None:
    traps = Traps(tmp_path, "archive")
    home = tmp_path / "home"
    trusted = {"projects": {str(traps.project): {"hasTrustDialogAccepted": True}}}
    write(home, {".claude.json": json.dumps(trusted)})
    for path in traps.project.glob(".claude/settings*.json"):
        path.write_text(path.read_text().replace("http://127.0.0.1:9", api.url))
    api.play(turns(lambda _: [tool("Read", file_path="login.py")]))
    naively(traps, str(claude), "-p", "Go.", **claude_environ(api, home, key=""))
    live = set(traps.ran)
    assert {"settings-project-SessionStart", "settings-project-PreToolUse"} <= live
    assert {"settings-local-Stop", "mcp-command", "mcp-args"} <= live
    assert live & {"settings-project-apiKeyHelper", "settings-local-apiKeyHelper"}
    assert any("opus" in request.body["model"] for request in api.requests)
    assert any("of-the-project" in request.key for request in api.requests)
