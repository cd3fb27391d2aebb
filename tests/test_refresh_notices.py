"""A session is told, once, when a refresh has changed what it read in a dossier."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from _processes import small
from _session_hooks import GATES, Scene, context_of
from conftest import Cli

LOAD = "mcp__plugin_preread_preread__load_context"
CALL = LOAD + ' with {"feature": "login"}'
OTHER = "0c1b2a39-1111-4222-8333-944455556666"


@pytest.fixture
def scene(cli: Cli, tmp_path: Path) -> Scene:
    """A project with a dossier that git ignores; the session has read it."""
    root = small(tmp_path / "p")
    (root / ".project" / ".gitignore").write_text(".cache/\n.state/\ncontext/\n")
    (root / ".project" / "gates").write_text(GATES)
    (root / ".project" / "knowledge.md").unlink()  # it cites a line
    found = Scene(root)
    read(found, cli)
    return found


def read(scene: Scene, cli: Cli) -> None:
    """The session calls `load_context`."""
    assert cli("load", "login", cwd=scene.root).status == 0
    event = scene.event(
        "PostToolUse", tool_name=LOAD, tool_input={"feature": "login"}, tool_response=[]
    )
    assert scene.run("post-task", event) is None


def refresh(scene: Scene, cli: Cli, was: str, now: str) -> None:
    """Change the cited file, and have the dossier refreshed as a server does it."""
    path = scene.root / "login.py"
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, now, 1))
    [found] = cli("status", "--json", cwd=scene.root).json["dossiers"]
    assert found["refreshed"]


def at_prompt(scene: Scene) -> str:
    return context_of(scene.run("user-prompt", scene.event("UserPromptSubmit", prompt="go on")))


def at_write(scene: Scene) -> str:
    given = {"file_path": str(scene.root / "tests" / "test_login.py"), "content": "x"}
    event = scene.event("PreToolUse", tool_name="Write", tool_input=given)
    return context_of(scene.run("pre-spec-write", event))


def at_dispatch(scene: Scene) -> str:
    given = {"subagent_type": "preread:test-planner", "prompt": "feature: login"}
    event = scene.event("PreToolUse", tool_name="Agent", tool_input=given, tool_use_id="toolu_01")
    return context_of(scene.run("pre-task-gate", event))


@pytest.mark.parametrize("event", [at_prompt, at_write, at_dispatch])
def test_the_next_event_says_once_that_facts_have_changed(
    scene: Scene, cli: Cli, event: Callable[[Scene], str]
) -> None:
    assert event(scene) == ""
    refresh(scene, cli, "ATTEMPTS = 5", "ATTEMPTS = 6")
    said = event(scene)
    assert CALL in said
    assert "since you read" in said
    assert "\n" not in said
    assert [one(scene) for one in (at_prompt, at_write, at_dispatch)] == ["", "", ""]
    refresh(scene, cli, "ATTEMPTS = 6", "ATTEMPTS = 7")
    assert event(scene) == ""  # it has not read it again
    read(scene, cli)
    assert event(scene) == ""
    refresh(scene, cli, "ATTEMPTS = 7", "ATTEMPTS = 8")
    assert CALL in event(scene)


def test_each_session_that_has_read_it_is_told(scene: Scene, cli: Cli) -> None:
    other, third = Scene(scene.root, OTHER), Scene(scene.root, OTHER[::-1])
    read(other, cli)
    refresh(scene, cli, "ATTEMPTS = 5", "ATTEMPTS = 6")
    read(third, cli)
    assert CALL in at_prompt(other)
    assert CALL in at_prompt(scene)
    assert at_prompt(third) == ""


def test_a_count_that_a_refresh_changed_is_news(scene: Scene, cli: Cli) -> None:
    more = "from login import logout\n\n\ndef test_out():\n    logout('')\n"
    scene.write("tests/test_more.py", more)
    assert cli("load", "login", "--json", cwd=scene.root).json["state"] == "refreshed"
    shutil.rmtree(scene.root / ".project/.cache")  # no hint is needed
    assert CALL in at_prompt(scene)


def test_lines_that_only_moved_are_not_news(scene: Scene, cli: Cli) -> None:
    codebase = scene.root / ".project/context/login/codebase.md"
    before = codebase.read_text()
    refresh(scene, cli, "", "\n\n")
    assert codebase.read_text() != before
    assert (at_prompt(scene), at_write(scene)) == ("", "")


def test_what_is_undone_before_the_next_event_is_not_news(scene: Scene, cli: Cli) -> None:
    refresh(scene, cli, "ATTEMPTS = 5", "ATTEMPTS = 6")
    refresh(scene, cli, "ATTEMPTS = 6", "ATTEMPTS = 5")
    assert (at_prompt(scene), at_write(scene)) == ("", "")
    refresh(scene, cli, "ATTEMPTS = 5", "ATTEMPTS = 6")
    refresh(scene, cli, "ATTEMPTS = 6", "ATTEMPTS = 5")
    refresh(scene, cli, "", "\n\n")
    assert (at_prompt(scene), at_write(scene)) == ("", "")
    refresh(scene, cli, "ATTEMPTS = 5", "ATTEMPTS = 6")
    assert CALL in at_prompt(scene)


def test_who_was_told_that_it_is_stale_is_not_told_of_the_refresh(scene: Scene, cli: Cli) -> None:
    path = scene.root / "login.py"
    path.write_text(path.read_text().replace("ATTEMPTS = 5", "ATTEMPTS = 6"))
    assert cli("check", "login", cwd=scene.root).status == 1
    assert CALL in at_prompt(scene)
    refresh(scene, cli, "ATTEMPTS = 6", "ATTEMPTS = 7")
    assert (at_prompt(scene), at_write(scene)) == ("", "")


def test_a_gate_that_is_off_does_not_use_up_the_news(scene: Scene, cli: Cli) -> None:
    refresh(scene, cli, "ATTEMPTS = 5", "ATTEMPTS = 6")
    gates = scene.write(".project/gates", f"mode off\n{GATES}")
    assert (at_write(scene), at_dispatch(scene)) == ("", "")
    gates.write_text(GATES)
    assert CALL in at_write(scene)


def test_a_history_that_began_anew_is_read_from_where_the_session_was(
    scene: Scene, cli: Cli
) -> None:
    refresh(scene, cli, "ATTEMPTS = 5", "ATTEMPTS = 6")
    path = scene.root / ".project/.state/history/login.jsonl"
    path.rename(path.with_suffix(".old.jsonl"))
    path.write_text('{"at": 1.0, "how": "published before its history was kept", "changes": 3}\n')
    assert CALL in at_prompt(scene)


@pytest.mark.parametrize("text", ["", "{", "[]\n", '{"how": "refreshed", "changes": [3, {}]}\n'])
def test_a_damaged_history_says_nothing(scene: Scene, cli: Cli, text: str) -> None:
    refresh(scene, cli, "ATTEMPTS = 5", "ATTEMPTS = 6")
    (scene.root / ".project/.state/history/login.jsonl").write_text(text)
    assert (at_prompt(scene), at_write(scene)) == ("", "")
