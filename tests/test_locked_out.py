"""Nobody is locked out: who did what a block says, or cannot do it, gets past the gate."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from _session_hooks import SESSION, Scene, gated
from conftest import Cli

TOOL = "mcp__plugin_preread_preread__load_context"
USER = "/home/x"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return gated(tmp_path / "shop")


class Transcript:
    """What Claude Code writes down of a session, as far as a hook looks at it."""

    def __init__(self, path: Path) -> None:
        self.path, self.calls = path, 0

    def write(self, role: str, *content: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        entry = {"type": role, "sessionId": SESSION, "message": {"role": role, "content": content}}
        with self.path.open("a") as file:
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")

    def call(self, text: str | None, *, failed: bool = True, feature: str = "login") -> None:
        """A call of load_context and, unless it is None, its result."""
        self.calls += 1
        ident = f"toolu_{self.calls:06}"
        given = {"feature": feature, "description": "a page"}
        self.write("assistant", {"type": "tool_use", "id": ident, "name": TOOL, "input": given})
        if text is not None:
            result = {"type": "tool_result", "tool_use_id": ident, "content": text}
            self.write("user", result | ({"is_error": True} if failed else {}))


def write(scene: Scene, transcript: Path | None, name: str = "login.spec.ts", **more: Any) -> Any:
    """The gate's answer to a Write of a new file."""
    event = scene.event(
        "PreToolUse",
        tool_name="Write",
        tool_input={"file_path": str(scene.root / name), "content": ""},
        **more,
    )
    if transcript is not None:
        event["transcript_path"] = str(transcript)
    return scene.run("pre-spec-write", event)


def kind(answer: Any) -> str:
    """`pass`, `block`, or `let through` with one line for the person."""
    if answer is None:
        return "pass"
    if "permissionDecision" in answer.get("hookSpecificOutput", {}):
        return "block"
    assert answer["systemMessage"].startswith("preread: ")
    assert "\n" not in answer["systemMessage"]
    return "let through"


# -- the call was made and failed

ERRORS = {
    "not granted": f"Claude requested permissions to use {TOOL}, but you haven't granted it yet.",
    "don't ask": f"Permission to use {TOOL} has been denied because Claude Code is running in "
    "don't ask mode. IMPORTANT: You *may* attempt to accomplish this action using other tools",
    "plan mode": f"Cannot call {TOOL} while in plan mode.",
    "no classifier": f"Auto mode is unavailable: its safety check does not run for this session, "
    f"so {TOOL} was not run.",
    "rejected": "The user doesn't want to proceed with this tool use. The tool use was rejected.",
    "interrupted": "[Request interrupted by user for tool use]",
    "another hook": f"PreToolUse:{TOOL} hook error: [check]: not today",
    "no such tool": f"<tool_use_error>Error: No such tool available: {TOOL}</tool_use_error>",
    "another era": "params._meta is missing the required envelope key(s): protocolVersion",
    "crashed": "Connection closed",
    "timed out": "MCP error -32001: Request timed out",
    "not installed": "Preread's server could not be started. its Python packages could not be "
    "installed: No matching distribution found for anyio",
    "slow": "Preread's server has not started within 120 seconds; it may still be installing",
    "unwritable": "E_WRITE: /p/.project/context cannot be written: Permission denied.",
    "outside": "E_OUTSIDE: .project/context leads out of the project.",
    "no folder": "E_PROJECT_DIR: /p cannot be opened: Permission denied.",
    "bug": "E_INTERNAL: KeyError: 'x'. Please report it with the end of /p/.project/.cache/log.",
    "too late": "E_TIMEOUT: The build did not finish within its deadline.",
    "recursion": "E_RECURSION: the headless builder's own child asked for a dossier",
}


@pytest.mark.parametrize("way", ERRORS)
def test_a_call_that_is_denied_or_fails_opens_the_gate(scene: Scene, way: str) -> None:
    transcript = Transcript(scene.root.parent / "t.jsonl")
    assert kind(write(scene, transcript.path)) == "block"
    for _ in range(2 if way == "no such tool" else 1):
        transcript.call(ERRORS[way])
    answer = write(scene, transcript.path)
    assert kind(answer) == "let through"
    start = "is not among the tools" if way == "no such tool" else ERRORS[way][:30]
    for told in (answer["systemMessage"], answer["hookSpecificOutput"]["additionalContext"]):
        assert start in told
    assert "without the dossier of login" in answer["hookSpecificOutput"]["additionalContext"]
    assert kind(write(scene, transcript.path, "cart.spec.ts")) == "block"


def test_a_tool_counts_as_missing_only_once_its_server_had_time_to_connect(scene: Scene) -> None:
    transcript = Transcript(scene.root.parent / "t.jsonl")
    kinds = []
    for _ in range(2):
        transcript.call(ERRORS["no such tool"])
        kinds.append(kind(write(scene, transcript.path)))
    assert kinds == ["block", "let through"]
    assert kind(write(scene, transcript.path, "cart.spec.ts")) == "block"
    transcript.call(ERRORS["no such tool"], feature="cart")
    assert kind(write(scene, transcript.path, "cart.spec.ts")) == "let through"


def test_an_edit_is_not_asked_for_a_call_that_was_made_in_vain(scene: Scene) -> None:
    transcript = Transcript(scene.root.parent / "t.jsonl")
    (scene.root / "login.spec.ts").write_text("x")
    asked = write(scene, transcript.path)["hookSpecificOutput"]["additionalContext"]
    assert asked.startswith(f'Call {TOOL} with {{"feature": "login"}} before you go on')
    transcript.call(ERRORS["crashed"])
    assert kind(write(scene, transcript.path)) == "pass"
    transcript.call(reply(status="building"), failed=False)
    asked = write(scene, transcript.path)["hookSpecificOutput"]["additionalContext"]
    assert "before you go on" in asked


def reply(**fields: object) -> str:
    return json.dumps(fields, separators=(",", ":"))


class Way(NamedTuple):
    result: str | None
    failed: bool
    then: str


REPLIES = {
    "ok, but elsewhere": Way(
        reply(status="ok", path=".project/context/login/"), False, "let through"
    ),
    "not saved": Way(reply(status="degraded", code="E_WRITE"), False, "let through"),
    "degraded, but elsewhere": Way(reply(status="degraded"), False, "let through"),
    "a build is running": Way(reply(status="building", next="Call again"), False, "block"),
    "still running": Way(None, False, "block"),
    "a wrong ticket": Way("E_TICKET_NAME: `a b` is not a ticket id.", True, "block"),
    "a wrong argument": Way("E_USAGE: load_context has no `fetaure`.", True, "block"),
    "no argument": Way("<tool_use_error>InputValidationError: `feature` is missing", True, "block"),
}


@pytest.mark.parametrize("way", REPLIES)
def test_the_recorded_reply_of_a_call_decides(scene: Scene, way: str) -> None:
    transcript = Transcript(scene.root.parent / "t.jsonl")
    result, failed, then = REPLIES[way]
    transcript.call(result, failed=failed)
    assert kind(write(scene, transcript.path)) == then


def test_the_person_is_told_why_a_dossier_could_not_be_saved(scene: Scene, cli: Cli) -> None:
    (scene.root / ".project/context").write_text("in the way\n")
    replied = cli("load", "login", "--level", "light", "--json", cwd=scene.root).json
    transcript = Transcript(scene.root.parent / "t.jsonl")
    transcript.call(reply(**replied), failed=False)
    answer = write(scene, transcript.path)
    why = "only in the reply of load_context, because it could not be saved: "
    for told in (answer["systemMessage"], answer["hookSpecificOutput"]["additionalContext"]):
        assert why + str(scene.root / ".project/context") in told


def test_only_the_last_call_for_the_feature_counts(scene: Scene) -> None:
    transcript = Transcript(scene.root.parent / "t.jsonl")
    transcript.call("Connection closed")
    transcript.call(reply(status="building"), failed=False)
    transcript.call("Connection closed", feature="cart")
    assert kind(write(scene, transcript.path)) == "block"
    transcript.call("Connection closed", feature="Log In")
    assert kind(write(scene, transcript.path)) == "block"
    transcript.call("Connection closed", feature="LOGIN")
    assert kind(write(scene, transcript.path)) == "let through"


def test_a_text_that_mentions_a_failed_call_is_not_one(scene: Scene) -> None:
    transcript = Transcript(scene.root.parent / "t.jsonl")
    transcript.write("user", {"type": "text", "text": ERRORS["no such tool"]})
    transcript.write("assistant", {"type": "text", "text": f"{TOOL} failed"})
    with transcript.path.open("a") as file:
        file.write(f"{TOOL} is not JSON\n[]\n" + '{"message":{"content":[1]}}\n')
    assert kind(write(scene, transcript.path)) == "block"


def test_the_call_of_a_subagent_is_in_its_own_transcript(scene: Scene) -> None:
    session = scene.root.parent / "t.jsonl"
    Transcript(session).write("user", {"type": "text", "text": "GO"})
    own = Transcript(session.with_suffix("") / "subagents" / "agent-a1b2.jsonl")
    own.call("Connection closed")
    assert kind(write(scene, session)) == "block"
    assert kind(write(scene, session, agent_id="a1b2")) == "let through"
    assert kind(write(scene, session, agent_id="../../x")) == "block"


def test_a_long_transcript_is_searched_from_its_end(scene: Scene) -> None:
    transcript = Transcript(scene.root.parent / "t.jsonl")
    for _ in range(30):
        transcript.write("user", {"type": "text", "text": "load_context " * 10_000})
    transcript.call("Connection closed")
    assert kind(write(scene, transcript.path)) == "let through"


def test_a_session_without_a_transcript_is_blocked_twice(scene: Scene) -> None:
    missing = scene.root.parent / "none.jsonl"
    kinds = [kind(write(scene, missing)) for _ in range(3)]
    assert kinds == ["block", "block", "let through"]
    assert kind(write(scene, missing, "cart.spec.ts")) == "block"


def test_a_dispatch_is_let_through_too(scene: Scene) -> None:
    transcript = Transcript(scene.root.parent / "t.jsonl")
    event = scene.event(
        "PreToolUse",
        tool_name="Agent",
        tool_input={"subagent_type": "preread:test-planner", "prompt": "feature: login"},
        tool_use_id="toolu_9",
    ) | {"transcript_path": str(transcript.path)}
    transcript.call("Connection closed", feature="cart")
    assert kind(scene.run("pre-task-gate", event)) == "block"
    transcript.call("Connection closed")
    assert kind(scene.run("pre-task-gate", event)) == "let through"


# -- the call itself is allowed


def permitted(scene: Scene, **more: Any) -> str:
    given = {"tool_name": TOOL, "tool_input": {"feature": "login"}, "permission_mode": "default"}
    event = scene.event("PreToolUse", **given) | more
    answer = (scene.run("permit-load", event) or {}).get("hookSpecificOutput", {})
    assert answer.get("hookEventName") in (None, event["hook_event_name"])
    return str(answer.get("permissionDecision") or answer.get("decision", {}).get("behavior", ""))


OWN = {"name": "plugin:preread:preread", "source": "plugin"}
PERMITS: dict[str, tuple[dict[str, Any], str]] = {
    "the plugin's": ({"mcp_server": OWN}, "allow"),
    "of an older Claude Code": ({}, "allow"),
    "a project's server of that name": (
        {"mcp_server": {"name": "plugin_preread_preread", "source": "project"}},
        "",
    ),
    "another plugin's": ({"mcp_server": OWN | {"name": "plugin:preread:x"}}, ""),
    "another tool": (
        {"tool_name": TOOL.replace("load_context", "context_operation"), "mcp_server": OWN},
        "",
    ),
    "at any cost": ({"tool_input": {"feature": "login", "force": True}, "mcp_server": OWN}, ""),
    "in plan mode": (
        {"hook_event_name": "PermissionRequest", "permission_mode": "plan", "mcp_server": OWN},
        "allow",
    ),
    "a question that the person wants": (
        {"hook_event_name": "PermissionRequest", "mcp_server": OWN},
        "",
    ),
}


@pytest.mark.parametrize("what", PERMITS)
def test_exactly_the_plugins_own_look_up_is_allowed(scene: Scene, what: str) -> None:
    more, decision = PERMITS[what]
    assert permitted(scene, **more) == decision


def test_it_is_allowed_without_a_gates_file(scene: Scene) -> None:
    (scene.root / ".project/gates").unlink()
    assert permitted(scene, mcp_server=OWN) == "allow"
