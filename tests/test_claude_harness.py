"""The harness that runs the real Claude Code in tests is hermetic, its service scripted."""

import http.client
import json
import re
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import _claude
from _claude import bare_environ
from _messages_api import BROKEN, Fail, Hang, MessagesAPI, Request, Turn, rate_limit, text, tool
from conftest import ROOT

PATIENCE = 60.0
OFFERED = [{"name": "Read", "input_schema": {"type": "object"}}]


# -- the program


def test_the_pinned_version_is_the_one_that_readme_installs() -> None:
    found = re.findall(
        r"@anthropic-ai/claude-code@([\d.]+)", (ROOT / "README.md").read_text(encoding="utf-8")
    )
    assert found == [_claude.PINNED]


def test_the_program_that_tests_run_is_the_pinned_one(claude: Path) -> None:
    shown = subprocess.run([claude, "--version"], capture_output=True, text=True, timeout=PATIENCE)
    assert shown.stdout.split()[0] == _claude.PINNED


def run_claude(
    claude: Path, cwd: Path, environ: Mapping[str, str], *arguments: str
) -> list[dict[str, Any]]:
    """A plain run of the program with the prompt "hello"; the events it printed."""
    done = subprocess.run(
        [claude, "-p", "--output-format", "stream-json", "--verbose", "--tools", "Read",
        *arguments],
        cwd=cwd, env=dict(environ), input=b"hello", capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_real_program_plays_a_script_with_its_real_tools(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("answer = 42\n")
    api.play(
        [[text("I look."), tool("Read", file_path=str(tmp_path / "a.py"))], [text("It is 42.")]]
    )
    events = run_claude(claude, tmp_path, bare_environ(api, tmp_path / "home"))
    assert events[-1]["result"] == "It is 42."
    assert [len(request.results) for request in api.requests] == [0, 1]
    assert "answer = 42" in api.requests[1].results[0].text
    assert {request.key for request in api.requests} == {_claude.KEY}
    assert api.requests[0].prompt == "hello"


def test_the_login_of_the_machine_cannot_be_used_by_tests(
    claude: Path, api: MessagesAPI, tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(machine))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.setenv(name, "sk-ant-oat01-planted-too")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(machine / ".claude"))
    end = run_claude(claude, tmp_path, bare_environ(api, tmp_path / "home", key=""))[-1]
    assert end["is_error"]
    assert end["result"].startswith("Not logged in")
    assert not api.requests
    assert not api.asides


def test_an_api_key_helper_of_the_machine_is_not_run_by_tests(
    claude: Path, api: MessagesAPI, tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(machine))
    ran = tmp_path / "ran"
    (machine / ".claude" / "settings.json").write_text(
        json.dumps({"apiKeyHelper": f"touch '{ran}'; echo sk-helped"})
    )
    assert run_claude(claude, tmp_path, bare_environ(api, tmp_path / "home", key=""))[-1][
        "is_error"
    ]
    assert not ran.exists()
    run_claude(claude, tmp_path, bare_environ(api, machine, key=""))
    assert ran.exists(), "what was planted works where it may be used: this test can fail"
    assert [request.key for request in api.requests] == ["sk-helped"]


def test_the_planted_login_works_where_it_may_be_used(
    claude: Path, api: MessagesAPI, tmp_path: Path, machine: Path
) -> None:
    run_claude(claude, tmp_path, bare_environ(api, machine, key=""))
    assert [request.key for request in api.requests] == ["Bearer sk-ant-oat01-planted"]


# -- the scripted API


def post(api: MessagesAPI, said: str = "hello", session: str = "s", **body: Any) -> tuple[int, str]:
    """What the API answers to one message: status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", api.server_address[1], timeout=PATIENCE)
    message = {
        "model": "m",
        "messages": [{"role": "user", "content": said}],
        "tools": OFFERED,
        "stream": True,
        **body,
    }
    try:
        connection.request(
            "POST", "/v1/messages", json.dumps(message), {"X-Claude-Code-Session-Id": session}
        )
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def events_of(body: str) -> list[dict[str, Any]]:
    return [
        json.loads(line.removeprefix("data: "))
        for line in body.splitlines()
        if line.startswith("data: ")
    ]


def test_an_answer_is_streamed_in_the_events_of_the_messages_api(api: MessagesAPI) -> None:
    api.play([Turn([text("Look."), tool("Read", file_path="a")], usage={"input_tokens": 7})])
    status, body = post(api)
    events = events_of(body)
    kinds = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert status == 200
    assert [event["type"] for event in events] == [
        "message_start",
        *kinds,
        *kinds,
        "message_delta",
        "message_stop",
    ]
    assert events[2]["delta"] == {"type": "text_delta", "text": "Look."}
    assert events[5]["delta"] == {"type": "input_json_delta", "partial_json": '{"file_path": "a"}'}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"]["input_tokens"] == 7


def test_an_answer_is_one_message_where_no_stream_is_wanted(api: MessagesAPI) -> None:
    api.play([[text("Done.")]])
    message = json.loads(post(api, stream=False)[1])
    assert message["content"] == [{"type": "text", "text": "Done."}]
    assert (message["stop_reason"], message["model"]) == ("end_turn", "m")


def test_each_session_plays_a_script_from_its_start(api: MessagesAPI) -> None:
    api.play([[text("one")], [text("two")]])
    answers = [post(api, session=session)[1] for session in ("a", "b", "a", "b")]
    assert [re.findall(r'"text": "(\w+)"', answer) for answer in answers] == [
        ["one"],
        ["one"],
        ["two"],
        ["two"],
    ]


def test_the_script_is_chosen_by_the_prompt_and_may_be_a_function(api: MessagesAPI) -> None:
    api.play([[text("any")]])
    api.play(lambda request: [text(f"turn {request.turn} of {request.tools}")], when="login")
    assert "any" in post(api, "about the cart")[1]
    assert "turn 0 of ['Read']" in post(api, "about the login")[1]


def test_requests_without_tools_and_counts_take_no_turn(api: MessagesAPI) -> None:
    api.play([[text("first")]])
    assert "title" in post(api, tools=[])[1]
    connection = http.client.HTTPConnection("127.0.0.1", api.server_address[1], timeout=PATIENCE)
    connection.request("POST", "/v1/messages/count_tokens", "{}")
    assert json.loads(connection.getresponse().read()) == {"input_tokens": 100}
    connection.request("HEAD", "/")
    assert connection.getresponse().read() == b""
    connection.close()
    assert "first" in post(api)[1]
    assert (len(api.requests), len(api.asides)) == (1, 2)


def test_a_script_that_is_over_says_so() -> None:
    with MessagesAPI() as api:
        api.play([[text("only")]])
        assert post(api)[0] == 200
        assert post(api)[0] == 400
    assert "has 1 turns and was asked for one more: hello" in api.errors[0]


def test_a_mistake_in_a_script_is_reported() -> None:
    with MessagesAPI() as api:
        api.play(lambda request: request.nothing)  # type: ignore[attr-defined]
        assert post(api)[0] == 400
    assert "has no attribute 'nothing'" in api.errors[0]


@pytest.mark.parametrize(
    ("fail", "wait"), [(rate_limit(7), "7"), (rate_limit(), None), (BROKEN, None)]
)
def test_faults_have_status_kind_and_headers(
    api: MessagesAPI, fail: Fail, wait: str | None
) -> None:
    api.play([fail])
    connection = http.client.HTTPConnection("127.0.0.1", api.server_address[1], timeout=PATIENCE)
    connection.request("POST", "/v1/messages", json.dumps({"tools": OFFERED, "messages": []}))
    response = connection.getresponse()
    assert json.loads(response.read())["error"] == {"type": fail.kind, "message": fail.message}
    assert (response.status, response.getheader("retry-after")) == (fail.status, wait)
    connection.close()


@pytest.mark.parametrize(("cut", "last"), [("event", "\n\n"), ("line", '{"type": "content_blo')])
def test_a_stream_can_break_after_an_event_and_in_the_middle_of_a_line(
    api: MessagesAPI, cut: Any, last: str
) -> None:
    api.play([Turn([text("begun")], cut=cut)])
    connection = http.client.HTTPConnection("127.0.0.1", api.server_address[1], timeout=PATIENCE)
    connection.request(
        "POST", "/v1/messages", json.dumps({"tools": OFFERED, "messages": [], "stream": True})
    )
    response = connection.getresponse()
    with pytest.raises(http.client.IncompleteRead) as broken:
        response.read()
    got = broken.value.partial.decode()
    assert '"begun"' in got
    assert got.endswith(last)
    connection.close()


def test_a_hanging_answer_ends_with_the_client_or_the_service(
    api: MessagesAPI,
) -> None:
    def handlers() -> set[str]:
        return {
            thread.name
            for thread in threading.enumerate()
            if "process_request_thread" in thread.name
        }

    before = handlers()
    for answer in (Hang(), Hang(after=[text("begun")])):
        with MessagesAPI() as hanging:
            hanging.play([answer] * 2)
            connections = [
                http.client.HTTPConnection("127.0.0.1", hanging.server_address[1]) for _ in range(2)
            ]
            for connection in connections:
                connection.request(
                    "POST", "/v1/messages", json.dumps({"tools": OFFERED, "messages": []})
                )
            hanging.wait(lambda requests: len(requests) == 2)
            waiting = [
                thread for thread in threading.enumerate() if thread.name in handlers() - before
            ]
            assert len(waiting) == 2
            connections[0].close()
        connections[1].close()
        for thread in waiting:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_a_request_shows_everything_that_was_sent() -> None:
    result = {
        "type": "tool_result",
        "tool_use_id": "t",
        "is_error": True,
        "content": [{"type": "text", "text": "no"}],
    }
    body = {
        "system": [{"type": "text", "text": "Be good."}],
        "tools": OFFERED,
        "messages": [
            {"role": "user", "content": 'say "hi"\nnow'},
            {"role": "assistant", "content": [tool("Read", file_path="a")]},
            {"role": "user", "content": [result]},
        ],
    }
    request = Request("/v1/messages", {"x-api-key": "k", "authorization": ""}, body)
    assert (request.system, request.tools, request.turn) == ("Be good.", ["Read"], 1)
    assert [(found.id, found.text, found.is_error) for found in request.results] == [
        ("t", "no", True)
    ]
    assert (request.prompt, request.said, request.key) == ('say "hi"\nnow', "no", "k")
    assert 'say "hi"\nnow' in request.whole
    assert '"x-api-key": "k"' in request.whole
