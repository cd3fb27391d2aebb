"""The session hooks in the real Claude Code: what reaches the model, and what is recorded."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from _claude import bare_environ
from _messages_api import Answer, MessagesAPI, Request, text, tool
from _session_hooks import Scene, gated
from conftest import ROOT

PLANNER = "preread:test-planner"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    found = gated(tmp_path / "shop", repository=True)
    for name in ("login", "cart"):
        found.dossier(name, summary=f"- the summary of {name}\n")
    return found


def _run(
    claude: Path, api: MessagesAPI, scene: Scene, tmp_path: Path, prompt: str = "GO"
) -> list[dict]:
    """One session with the repository itself as the plugin; what it streamed."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        [
            claude, "-p", prompt, "--plugin-dir", ROOT, "--strict-mcp-config", "--output-format",
            "stream-json",
            "--verbose", "--allowedTools", "Bash", "Write", "Agent",
        ],
        cwd=scene.root, env=bare_environ(api, home), stdin=subprocess.DEVNULL, capture_output=True,
        text=True,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_what_a_session_is_told_at_its_start_is_in_its_first_request(
    claude: Path, api: MessagesAPI, scene: Scene, tmp_path: Path
) -> None:
    scene.dossier("_project", summary="- the words of the whole project\n")
    _run(claude, api, scene, tmp_path)
    first = api.requests[0].whole
    assert "- login: .project/context/login/ (new)" in first
    assert "- the words of the whole project" in first


def test_a_failing_test_run_is_recorded_and_repeated_ones_are_blocked_until_the_test_changes(
    claude: Path, api: MessagesAPI, scene: Scene, tmp_path: Path
) -> None:
    scene.write(".project/runs/login.md", "# Run log: login\n\n## RUN\n")
    runner = scene.write(
        "bin/pytest",
        "#!/bin/sh\necho 'E   Timeout 5000ms exceeded'\n"
        "echo '1 failed, 2 passed in 0.1s'\nexit 1\n",
    )
    runner.chmod(0o755)
    run = tool("Bash", command="TOKEN=hunter2 ./bin/pytest tests/test_login.py", description="test")
    scene.write("tests/test_login.py", "def test_error(): assert 1 == 2\n")

    def script(request: Request) -> Answer:
        if request.turn == 4:
            scene.write("tests/test_login.py", "def test_error(): assert 1 == 3\n")
        return [{**run, "id": f"toolu_run_{request.turn}"}] if request.turn < 5 else [text("Done")]

    api.play(script)
    _run(claude, api, scene, tmp_path)
    results = [result.text for result in api.requests[-1].results]
    blocked = ["failed 2 times in a row" in result for result in results]
    assert blocked == [False, False, True, True, False]  # a bare retry does not end the block
    records = scene.results
    assert [(r["outcome"], r["kind"], r["features"], r["failures"]) for r in records] == [
        ("failed", "wait", ["login"], 1)
    ] * 3
    assert "hunter2" not in json.dumps(records)
    assert scene.log("login").count("failed (wait): Timeout 5000ms exceeded") == 3


def test_two_planners_dispatched_at_once_each_start_with_their_own_dossier(
    claude: Path, api: MessagesAPI, scene: Scene, tmp_path: Path
) -> None:
    def script(request: Request) -> Answer:
        for name in ("login", "cart"):
            if f"PLAN feature: {name}" in request.prompt:
                scene.write(
                    f".project/runs/{name}.md", f"# Run log: {name}\n\n## PLAN\n- a test (a.ts:1)\n"
                )
                return [text("planned")]
        if request.turn == 0:
            names = ("login", "cart", "login")
            return [
                tool(
                    "Agent",
                    description=f"plan {n}",
                    prompt=f"PLAN feature: {n}",
                    subagent_type=PLANNER,
                )
                for n in names
            ]
        return [text("Done")]

    api.play(script)
    _run(claude, api, scene, tmp_path)
    planners = [r for r in api.requests if r.turn == 0 and "PLAN feature: " in r.prompt]
    assert len(planners) == 3
    for request in planners:
        own, other = (
            ("login", "cart") if "PLAN feature: login" in request.prompt else ("cart", "login")
        )
        assert f"the summary of {own}" in request.whole
        assert f"the summary of {other}" not in request.whole


def test_a_planner_without_a_plan_is_sent_back_once(
    claude: Path, api: MessagesAPI, scene: Scene, tmp_path: Path
) -> None:
    def script(request: Request) -> Answer:
        if "PLAN feature: login" in request.prompt:
            return [text("planned")]
        ask = tool("Agent", description="plan", prompt="PLAN feature: login", subagent_type=PLANNER)
        return [ask] if request.turn == 0 else [text("Done")]

    api.play(script)
    _run(claude, api, scene, tmp_path)
    turns = [request for request in api.requests if "PLAN feature: login" in request.prompt]
    assert [request.turn for request in turns] == [0, 1]
    assert "Write the plan under ## PLAN in .project/runs/login.md" in turns[1].said


def test_the_audit_sends_the_model_back_once_for_files_it_wrote_without_a_tool(
    claude: Path, api: MessagesAPI, scene: Scene, tmp_path: Path
) -> None:
    write = "python3 -c \"open('tests.spec.ts'.replace('tests', 'sign-up'), 'w').write('x')\""
    api.play(
        [[tool("Bash", command=write, description="write")], [text("Done")], [text("Really done")]]
    )
    _run(claude, api, scene, tmp_path)
    assert (scene.root / "sign-up.spec.ts").exists()
    assert len(api.requests) == 3
    back = api.requests[2].said
    assert 'load_context with {"feature": "sign-up"}' in back
    assert re.search(
        r'<data-([0-9a-f]+) note="[^"]+">sign-up\.spec\.ts</data-\1> was written in this session',
        back,
    )
    assert "preread gates off" not in back
