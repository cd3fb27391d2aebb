"""What ends a block of `pre-retry-gate`: what it asks for, a change, the person's word, a pass."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _session_hooks import Scene, context_of, gated, reason_of
from conftest import git

TOOL = "mcp__plugin_preread_preread__load_context"
RUN = "pytest tests/test_login.py"
FAILED = (
    "FAILED tests/test_login.py::test_error - AssertionError: assert 1 == 2\n"
    "1 failed, 3 passed in 0.12s\n"
)


@pytest.fixture
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    scene = gated(tmp_path / "shop", repository=getattr(request, "param", True))
    scene.write("tests/test_login.py", "def test_error():\n    assert 1 == 2\n")
    scene.write("login.py", "def login():\n    return 1\n")
    scene.dossier("login")
    return scene


def fail(scene: Scene, times: int, command: str = RUN, prompt: str = "p1") -> None:
    """A run that failed so often; the hook records it once, and the rest are copies."""
    event = scene.event(
        "PostToolUseFailure",
        tool_name="Bash",
        tool_input={"command": command},
        error=f"Exit code 1\n{FAILED}",
        is_interrupt=False,
        prompt_id=prompt,
    )
    assert scene.run("post-test-run", event) is None
    record = scene.results[-1]
    with (scene.root / ".project/.state/results.jsonl").open("a") as file:
        for number in range(times - 1):
            file.write(json.dumps({**record, "id": f"copy-{number}"}) + "\n")


def before(scene: Scene, command: str = RUN, prompt: str = "p1", **more: Any) -> str:
    """What is said before a run: `block`, `advice`, or nothing."""
    event = scene.event(
        "PreToolUse",
        tool_name="Bash",
        tool_input={"command": command},
        prompt_id=prompt,
        tool_use_id="toolu_2",
        **more,
    )
    answer = scene.run("pre-retry-gate", event)
    if reason_of(answer):
        assert answer["systemMessage"].startswith("preread: ")
        return "block"
    return "advice" if context_of(answer) else ""


def load(scene: Scene) -> None:
    event = scene.event("PostToolUse", tool_name=TOOL, tool_input={"feature": "login"})
    assert scene.run("post-task", event) is None


def passes(scene: Scene) -> None:
    scene.tests("pytest", "4 passed in 0.12s\n")


def change_test(scene: Scene) -> None:
    scene.write("tests/test_login.py", "import pytest\n\n@pytest.mark.skip('run:1')\n")


def change_code(scene: Scene) -> None:
    scene.write("login.py", "def login():\n    return 2\n")


def dispatch(scene: Scene) -> None:
    event = scene.event(
        "PreToolUse",
        tool_name="Agent",
        tool_input={"subagent_type": "preread:failure-classifier", "prompt": "feature: login"},
        tool_use_id="toolu_9",
    )
    assert scene.run("pre-task-gate", event) is None


def analyse(scene: Scene) -> None:
    scene.write(".project/runs/login.md", "# Run log: login\n\n## FIX\n- the clock is wrong\n")


def nothing(scene: Scene) -> None:
    """A bare retry."""


def write_report(scene: Scene) -> None:
    scene.write("report.xml", "<x/>")
    scene.write("test-results/login/trace.json", "{}")
    scene.write("debug.log", "hm")


def change_data(name: str) -> Callable[[Scene], None]:
    return lambda scene: scene.write(name, "another\n") and None


def commit(scene: Scene) -> None:
    """What was there before is committed, and then nothing at all."""
    if (scene.root / ".git").exists():
        git(scene.root, "add", "-A")
        for _ in range(2):
            git(scene.root, "commit", "-q", "--allow-empty", "-m", "Same")


def commit_change(scene: Scene) -> None:
    change_code(scene)
    commit(scene)


WAYS: dict[str, tuple[int, Callable[[Scene], None], str]] = {
    "2, nothing": (2, nothing, "block"),
    "2, only a report was written": (2, write_report, "block"),
    "2, only committed": (2, commit, "block"),
    "2, changed and committed": (2, commit_change, "advice"),
    "2, a scenario changed": (2, change_data("tests/login.feature"), "advice"),
    "2, a snapshot changed": (2, change_data("tests/__snapshots__/a.snap"), "advice"),
    "2, data changed": (2, change_data("tests/data/a.json"), "advice"),
    "2, a pipeline changed": (2, change_data("Jenkinsfile.groovy"), "advice"),
    "2, a file without a suffix changed": (2, change_data("Dockerfile"), "advice"),
    "2, loaded": (2, load, ""),
    "2, the test changed": (2, change_test, "advice"),
    "2, the code changed": (2, change_code, "advice"),
    "2, passed": (2, passes, ""),
    "12, nothing": (12, nothing, "block"),
    "12, loaded": (12, load, "block"),
    "12, dispatched": (12, dispatch, ""),
    "12, analysed": (12, analyse, ""),
    "12, the code changed": (12, change_code, "advice"),
    "25, nothing": (25, nothing, "block"),
    "25, loaded": (25, load, "block"),
    "25, skipped": (25, change_test, "advice"),
    "25, the code changed": (25, change_code, "advice"),
    "25, passed": (25, passes, ""),
}


WITHOUT_GIT = (
    "2, nothing", "2, only a report was written", "2, the code changed", "2, data changed",
)  # fmt: skip
SCENES = [*((way, True) for way in WAYS), *((way, False) for way in WITHOUT_GIT)]


@pytest.mark.parametrize(
    ("way", "scene"),
    SCENES,
    indirect=["scene"],
    ids=[way if has_git else f"{way}, no git" for way, has_git in SCENES],
)
def test_a_block_lasts_until_it_is_heeded_or_something_changes(scene: Scene, way: str) -> None:
    times, act, then = WAYS[way]
    fail(scene, times)
    assert before(scene) == "block"
    act(scene)
    assert before(scene) == then
    if then == "advice":
        assert before(scene) == ""  # said once


@pytest.mark.parametrize("times", [2, 12, 25])
def test_the_word_of_the_person_ends_every_block(scene: Scene, times: int) -> None:
    fail(scene, times)
    assert before(scene) == "block"
    assert before(scene, prompt="p2") == "advice"
    fail(scene, 1, prompt="p2")
    assert before(scene, prompt="p2") == "block"


def test_a_change_that_does_not_help_is_followed_by_a_block_again(scene: Scene) -> None:
    fail(scene, 25)
    change_code(scene)
    assert before(scene) == "advice"
    fail(scene, 1)
    assert before(scene) == "block"


@pytest.mark.parametrize(
    "command",
    [
        "pytest tests/test_login.py::test_other",
        "pytest tests/test_login.py -k other",
        "pytest tests/test_cart.py",
        "pytest tests/unit/test_login.py",
    ],
)
def test_after_25_failures_another_test_may_run(scene: Scene, command: str) -> None:
    load(scene)
    fail(scene, 25, f"{RUN}::test_error")
    assert before(scene, f"{RUN}::test_error -x -q") == "block"
    dispatch(scene)
    assert before(scene, command) in ("", "advice")
    assert before(scene, f"{RUN}::test_error") == "block"


def test_a_call_that_cannot_be_made_is_not_waited_for(scene: Scene) -> None:
    transcript = scene.root.parent / "t.jsonl"
    call = {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": {"feature": "login"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no", "is_error": True}
    fail(scene, 2)
    assert before(scene, transcript_path=str(transcript)) == "block"
    lines = [json.dumps({"message": {"content": [each]}}) for each in (call, result)]
    transcript.write_text("\n".join(lines) + "\n")
    assert before(scene, transcript_path=str(transcript)) == ""


# -- `cd DIR && …`: the event at the end has the folder that the command ended in


@pytest.mark.parametrize(
    ("command", "end", "targets"),
    [
        ("cd api && pytest tests/test_pay.py", "api", ["api/tests/test_pay.py"]),
        ("cd api/ && pytest tests/test_pay.py; cd ..", ".", ["api/tests/test_pay.py"]),
        ("cd api && cd tests && pytest test_pay.py", "api/tests", ["api/tests/test_pay.py"]),
        ("pushd api && pytest tests", "api", ["api/tests"]),
        ("(cd api && pytest tests/test_pay.py)", ".", ["api/tests/test_pay.py"]),
        ("pytest api/tests/test_pay.py", ".", ["api/tests/test_pay.py"]),
    ],
)
def test_the_targets_of_a_run_are_those_of_the_folder_it_started_in(
    scene: Scene, command: str, end: str, targets: list[str]
) -> None:
    scene.write("api/tests/test_pay.py", "def test_pay():\n    assert 0\n")
    scene.dossier("pay")
    for _ in range(2):
        assert before(scene, command) == ""
        event = scene.event(
            "PostToolUseFailure",
            tool_name="Bash",
            tool_input={"command": command},
            error=f"Exit code 1\n{FAILED.replace('login', 'pay')}",
            is_interrupt=False,
            tool_use_id="toolu_2",
        ) | {"cwd": str((scene.root / end).resolve())}
        assert scene.run("post-test-run", event) is None
    assert [record["targets"] for record in scene.results] == [targets] * 2
    assert before(scene, command) == "block"
