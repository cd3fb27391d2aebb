"""A service that makes the program wait: the static dossier stands in early, the build goes on."""

import signal
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from _headless import STANDARD, headless, sessions, writing
from _mcp_process import connect
from _messages_api import BROKEN, OVERLOADED, Fail, MessagesAPI, rate_limit
from _processes import ended, left_behind, small, start, until
from _whole import sized
from conftest import run_cli
from preread.layout import Layout

BOUND = 120  # seconds for what takes thirty; the machine may be busy
SOON = 30  # the program alone tries for 18 s, and Preread pauses and tries again until 54 s


async def call(client: Any, **given: object) -> dict[str, Any]:
    result = await client.call_tool("load_context", {"feature": "login", **given})
    return dict(result.structured_content)


BUSY = (
    pytest.param(rate_limit(3600), "E_RATE_LIMIT", id="429-retry-after"),
    pytest.param(OVERLOADED, "E_OVERLOADED", id="529"),
    pytest.param(rate_limit(), "E_RATE_LIMIT", id="429"),
    pytest.param(BROKEN, "E_OVERLOADED", id="500"),
)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "code"),
    sized(BUSY[:2], BUSY),
)
async def test_a_busy_service_is_reported_early_and_the_model_s_dossier_comes_later(
    claude: Path, api: MessagesAPI, tmp_path: Path, answer: Fail, code: str
) -> None:
    project = small(tmp_path / "p")
    env = headless(claude, api, tmp_path, level="standard")
    api.play(lambda request: answer)
    with anyio.fail_after(BOUND):
        async with connect(project, env=env, name="claude-code") as client:
            begun = time.monotonic()
            first = await call(client)
            assert time.monotonic() - begun < SOON
            assert (first["status"], first["code"], first["builder"]) == (
                "degraded",
                code,
                "static",
            )
            assert "LoginError" in first["dossier"]
            assert first["next"].startswith("Go on. If a gate refused")
            assert any("stand-in" in warning for warning in first["warnings"])
            assert any("in the background" in warning for warning in first["warnings"])
            joined = await call(client)
            assert (joined["state"], joined["code"]) == ("joined", code)
            api.play(writing(STANDARD))
            last = await call(client)
            while last["builder"] == "static":
                await anyio.sleep(0.1)
                last = await call(client)
    assert (last["status"], last["level"], last["warnings"]) == ("ok", "standard", [])
    assert "five guesses" in last["dossier"]
    assert left_behind(project) == []


@pytest.mark.anyio
async def test_a_short_failure_is_waited_out(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    project = small(tmp_path / "p")
    good = writing(STANDARD)
    api.play(lambda request: OVERLOADED if len(api.requests) <= 1 else good(request))
    env = headless(claude, api, tmp_path, level="standard")
    with anyio.fail_after(BOUND):
        async with connect(project, env=env, name="claude-code") as client:
            reply = await call(client)
    assert (reply["status"], reply["builder"], reply["state"]) == ("ok", "claude", "built")
    assert len(sessions(api)) == 1


def test_a_command_waits_says_so_and_leaves_the_stand_in_when_it_is_interrupted(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    project = small(tmp_path / "p")
    api.play(lambda request: OVERLOADED)
    env = headless(claude, api, tmp_path, level="standard")
    process = start(project, "load", "login", env=env)
    manifest = Layout(project).dossier("login") / "manifest.json"
    until(manifest.exists, "a stand-in")
    process.send_signal(signal.SIGINT)
    assert ended(process).status == 130
    done = run_cli("show", "login", "--json", cwd=project, env=env)
    assert done.status == 0
    assert "LoginError" in str(done.json)
    # It was built as a light one, so that the model is asked at the next call.
    api.play(writing(STANDARD))
    assert run_cli("load", "login", "--json", cwd=project, env=env).json["builder"] == "claude"
