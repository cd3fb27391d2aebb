"""The switch that only the person has: `/preread:gates`, and what the model writes in its place."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from _flow import Flow
from _messages_api import Answer, MessagesAPI, Request, text, tool
from _session_hooks import Scene, gated, reason_of
from preread.gates import switch

SIGNED = "by /preread:gates\n"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return gated(tmp_path / "shop")


def submit(scene: Scene, prompt: str) -> Any:
    return scene.run("user-prompt", scene.event("UserPromptSubmit", prompt=prompt))


def content(scene: Scene) -> str:
    path = scene.root / ".project/.state/gates-off"
    return path.read_text() if path.exists() else ""


def is_blocked(scene: Scene) -> bool:
    given = {"file_path": str(scene.root / "login.spec.ts"), "content": ""}
    event = scene.event("PreToolUse", tool_name="Write", tool_input=given)
    return bool(reason_of(scene.run("pre-spec-write", event)))


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("off 90s", 90), ("off --for 30m", 1800), ("  off   2h ", 7200), ("off 1d", 86400)],
)
def test_the_person_switches_the_gates_off_for_a_time(
    scene: Scene, words: str, seconds: int
) -> None:
    assert is_blocked(scene)
    answer = submit(scene, f"/preread:gates {words}")
    assert answer["decision"] == "block"
    assert answer["reason"].startswith("preread: the gates are off until 20")
    until, _, writer = content(scene).partition("\n")
    assert abs(int(until) - time.time() - seconds) < 60
    assert writer == SIGNED
    assert not is_blocked(scene)
    assert "the switch is on" in submit(scene, "/preread:gates on")["reason"]
    assert is_blocked(scene)


def test_the_person_switches_the_gates_off_for_good_and_asks_for_their_state(scene: Scene) -> None:
    assert "the switch is on" in submit(scene, "/preread:gates")["reason"]
    for prompt in ("/preread:gates off", "/preread:gates"):
        assert "the gates are off until /preread:gates on" in submit(scene, prompt)["reason"]
    assert content(scene) == f"forever\n{SIGNED}"
    assert not is_blocked(scene)


@pytest.mark.parametrize("words", ["off soon", "off 0h", "off 9999d", "off 1h 2h", "of", "on off"])
def test_what_is_not_understood_changes_nothing(scene: Scene, words: str) -> None:
    assert "Nothing was changed" in submit(scene, f"/preread:gates {words}")["reason"]
    assert content(scene) == ""


@pytest.mark.parametrize("prompt", ["hello", "see /preread:gates off", "/preread:gatesoff", ""])
def test_other_prompts_are_none_of_its_business(scene: Scene, prompt: str) -> None:
    assert submit(scene, prompt) is None
    assert content(scene) == ""


def test_without_a_gates_file_there_is_nothing_to_switch(scene: Scene) -> None:
    (scene.root / ".project/gates").unlink()
    assert "nothing is gated" in submit(scene, "/preread:gates off")["reason"]
    assert content(scene) == ""


# -- the model


@pytest.mark.parametrize("data", ["forever\n", "99999999999", "forever\nby me\n"])
def test_a_file_that_names_no_way_to_switch_is_ignored(scene: Scene, data: str) -> None:
    scene.write(".project/.state/gates-off", data)
    assert is_blocked(scene)


@pytest.mark.parametrize("then", ["and is ignored", "/preread:gates on"])
def test_what_a_command_wrote_is_reported_at_its_end(scene: Scene, then: str) -> None:
    signed = SIGNED if then.startswith("/") else ""
    scene.write(".project/.state/gates-off", f"forever\n{signed}")
    command = "python3 -c 'open(1)'\n# more"
    answer = scene.tests(command)
    assert answer["systemMessage"].startswith(
        "preread: .project/.state/gates-off was written while `python3 -c 'open(1)' # more` ran."
    )
    assert then in answer["systemMessage"]


def test_a_switch_from_before_the_command_is_not_reported(scene: Scene) -> None:
    assert submit(scene, "/preread:gates off 2h")
    time.sleep(switch.SLACK + 0.3)
    event = scene.event(
        "PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, duration_ms=1,
        tool_response={"stdout": "", "stderr": "", "interrupted": False},
    )  # fmt: skip
    assert scene.run("post-test-run", event) is None


def test_a_switch_whose_time_was_set_back_is_reported(scene: Scene) -> None:
    path = scene.root / ".project/.state/gates-off"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(switch.text(None, switch.PROMPT))
    os.utime(path, (time.time() - 3600, time.time() - 3600))
    assert "gates-off was written while" in scene.tests("python -c …")["systemMessage"]


def test_a_switch_that_something_in_the_background_wrote_is_reported_at_the_next_event(
    scene: Scene,
) -> None:
    events = {
        "stop": scene.event("Stop", stop_hook_active=False),
        "user-prompt": scene.event("UserPromptSubmit", prompt="go on"),
    }
    for hook, event in events.items():
        scene.write(".project/.state/gates-off", f"forever\n{SIGNED}")
        said = scene.run(hook, event)["systemMessage"]
        assert "gates-off was written outside of this session's prompts. If that was not" in said
        assert [scene.run(each, events[each]) for each in events] == [None, None]


def test_a_switch_from_before_the_session_is_not_reported(scene: Scene) -> None:
    scene.write(".project/.state/gates-off", f"forever\n{SIGNED}")
    scene.run("session-start", scene.event("SessionStart", source="startup"))
    assert scene.stop() is None


@pytest.mark.parametrize(
    "command", ["claude -p '/preread:gates off'", "echo '/preread:gates off' | claude -p"]
)
def test_the_model_cannot_have_another_session_switch_them(scene: Scene, command: str) -> None:
    event = scene.event("PreToolUse", tool_name="Bash", tool_input={"command": command})
    assert reason_of(scene.run("pre-spec-write", event)).startswith("Do not run preread gates off")


def test_in_the_real_client_the_person_can_and_the_model_cannot(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    flow = Flow(claude, api, tmp_path)
    skill = tool("Skill", skill="preread:gates", args="off 2h")
    forged = tool(
        "Bash",
        command=f"mkdir -p .project/.state; {sys.executable} -c "
        "\"open('.project/.state/gates-off', chr(119)).write('forever')\"",
    )
    spec = flow.spec("tests/login.spec.ts")

    def script(request: Request) -> Answer:
        return [[skill], [forged], [spec]][request.turn] if request.turn < 3 else [text("Done.")]

    seen = flow.session(script)
    assert "disable-model-invocation" in seen.told(skill)[0]
    assert seen.told(forged)[1] is False
    assert flow.there(".project/.state/gates-off")
    assert any("gates-off was written while" in line for line in seen.notices), seen.notices
    assert seen.told(spec)[1] is True

    (flow.project / ".project/.state/gates-off").unlink()
    asked = len(api.requests)
    flow.run(prompt="/preread:gates off 2h")
    assert len(api.requests) == asked  # no model was asked
    assert (flow.project / ".project/.state/gates-off").read_text().endswith(SIGNED)
