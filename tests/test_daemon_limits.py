"""How much one caller may ask of the daemon, by every way in."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from websockets.sync.client import ClientConnection, connect

from _daemon import Daemon, daemon, shared, shared_token
from preread.daemon.calls import calls_of
from preread.daemon.guard import MAX_CALLS, MAX_HEAD, Rates
from preread.daemon.peers import Refused
from preread.infra.locks import FileLock
from preread.layout import Layout

STATUS = {"method": "context.status"}
SECONDS, MANY, RATE = 60, 400, 0.01
SLOW = f"""
from preread.daemon import guard
guard.RATE, guard.BURST = {RATE}, 600.0
from preread.__main__ import main
main()
"""
LONG = [{"jsonrpc": "2.0", "id": n, **STATUS} for n in range(MANY)]  # too long to be run


def states(count: int) -> dict[str, Any]:
    """A state that counts for so many calls, and is refused at once."""
    return {"method": "x", "batch": [{"method": "y"}] * (count - 1)}


def websocket(running: Daemon, root: Path, token: str) -> ClientConnection:
    headers = {"Authorization": f"Bearer {token}", "Preread-Namespace": str(root)}
    address = f"ws://127.0.0.1:{running.port}/stream"
    return connect(address, additional_headers=headers, open_timeout=SECONDS, proxy=None)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose limit does not depend on how fast it is asked: 600 calls, and no more."""
    with daemon(tmp_path_factory.mktemp("d"), program=("-c", SLOW)) as found:
        yield found


@pytest.fixture(scope="module")
def root(limited: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("limits")
    (found / ".project").mkdir()
    limited.allow(found)
    return found


def test_several_are_taken_from_a_bucket_at_once_or_none() -> None:
    rates = Rates(10, 3)
    assert [rates.wait("a", 2) > 0 for _ in range(2)] == [False, True]
    assert 0 < rates.wait("a", 2) <= 0.1
    assert rates.wait("b", 3) == 0


def test_every_call_in_a_message_counts() -> None:
    nested = {"batch": [STATUS, {**STATUS, "then": {"batch": [STATUS, STATUS]}}]}
    for message, count in ((STATUS, 1), (nested, 4), (LONG, MANY), ([], 1), (7, 1), ([1, []], 1)):
        assert calls_of(message) == count
    assert calls_of(states(MAX_CALLS)) == MAX_CALLS
    with pytest.raises(Refused, match=f"more than {MAX_CALLS} calls"):
        calls_of(states(MAX_CALLS + 1))


def test_calls_on_a_websocket_count_and_it_goes_on(limited: Daemon, root: Path) -> None:
    token = limited.token("read")
    with websocket(limited, root, token) as wire:

        def ask(message: Any) -> Any:
            wire.send(json.dumps(message))
            while "event" in (found := json.loads(wire.recv(SECONDS))):
                pass
            return found

        assert ask(states(MANY))["error"]["code"] == "E_USAGE"
        late = ask(states(MANY) | {"metadata": {"request_id": "r"}})
        assert (late["metadata"], late["error"]["code"]) == ({"request_id": "r"}, "E_RATE_LIMIT")
        seconds = late["error"]["details"]["retry_after"]
        assert 0 < seconds <= MANY / RATE
        assert late["error"]["hint"] == f"Call again in {seconds} s."
        answers = ask([*LONG, {"jsonrpc": "2.0", **STATUS}, 7])
        assert [one["id"] for one in answers] == [*range(MANY), None]
        assert {one["error"]["data"]["code"] for one in answers} == {"E_RATE_LIMIT"}
        assert "result" in ask(STATUS)
    http = limited.ask("POST", "/operation", states(MANY), token)
    assert http.status == 429  # it is one limit
    another = limited.ask("POST", "/operation", states(MANY), limited.token("read"))
    assert another.status == 200


@pytest.mark.parametrize(
    ("path", "body", "over"),
    [
        ("/operation", states(MANY), "tcp"),
        ("/rpc", LONG, "tcp"),
        ("/operation", states(MANY), "socket"),
    ],
)
def test_calls_in_a_batch_count(
    limited: Daemon, root: Path, path: str, body: Any, over: str
) -> None:
    token = limited.token("read") if over == "tcp" else ""
    there = {"Preread_Namespace": str(root)}
    first, late = (limited.ask("POST", path, body, token, over=over, **there) for _ in range(2))
    assert (first.status, late.status) == (200, 429)
    error = late.json["error"]
    assert error["details"]["retry_after"] == int(late.headers["retry-after"])
    assert error["code"] == "E_RATE_LIMIT"
    assert limited.ask("GET", "/metrics", token=token, over=over).status == 200


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_calls_in_a_tools_batch_count(limited: Daemon, root: Path, era: str) -> None:
    headers = {"authorization": f"Bearer {limited.token('read')}", "preread-namespace": str(root)}
    async with httpx2.AsyncClient(headers=headers, timeout=SECONDS) as wire:
        transport = streamable_http_client(f"{limited.url}/mcp", http_client=wire)
        async with Client(transport, mode=era) as client:
            first = await client.call_tool("context_operation", states(MANY))
            assert first.structured_content["error"]["code"] == "E_USAGE"
            late = await client.call_tool("context_operation", states(MANY))
            assert late.is_error
            assert late.structured_content["code"] == "E_RATE_LIMIT"
            assert 0 < late.structured_content["details"]["retry_after"] <= MANY / RATE


def test_so_many_builds_wait_in_a_project_as_it_says_and_joining_one_is_free(
    tmp_path: Path,
) -> None:
    running = shared()
    (tmp_path / ".project").mkdir()
    (tmp_path / ".project" / "config.toml").write_text("max_builds = 1\nmax_waiting = 1\n")
    running.allow(tmp_path)

    def load(feature: str) -> dict[str, Any]:
        return {"method": "load", "params": {"feature": feature, "level": "light"}}

    def builds() -> dict[str, int]:
        with websocket(running, tmp_path, shared_token()) as newcomer:
            hello = json.loads(newcomer.recv(SECONDS))
        return {build["feature"]: build["callers"] for build in hello["data"]["builds"]}

    lock = Layout(tmp_path).lock("refund")
    lock.parent.mkdir(parents=True)
    heard = []
    with websocket(running, tmp_path, shared_token()) as wire:
        with FileLock(lock):
            for calls in ({"refund": 1}, {"refund": 1, "cart": 1}, {"refund": 1, "cart": 2}):
                wire.send(json.dumps(load([*calls][-1])))
                while builds() != calls:
                    time.sleep(0.02)
            busy = running.operation(load("login"), shared_token(), Preread_Namespace=str(tmp_path))
            assert busy["error"]["code"] == "E_BUSY"
            assert busy["error"]["details"] == {"waiting": 1}
        while len(heard) < 3:
            if "event" not in (answer := json.loads(wire.recv(SECONDS))):
                heard.append(answer["result"]["state"])
    assert sorted(heard) == ["built", "built", "joined"]
    free = running.operation(load("login"), shared_token(), Preread_Namespace=str(tmp_path))
    assert free["result"]["status"] == "ok"


@pytest.mark.parametrize("over", ["tcp", "socket"])
def test_a_message_has_so_many_calls_and_a_request_so_long_a_head(root: Path, over: str) -> None:
    running, token = shared(), shared_token() if over == "tcp" else ""
    running.allow(root)
    for path, body in (("/operation", states(MAX_CALLS + 1)), ("/rpc", LONG * 2)):
        answer = running.ask("POST", path, body, token, over=over, Preread_Namespace=str(root))
        assert (answer.status, answer.json["error"]["code"]) == (413, "E_USAGE")
    assert running.ask("GET", "/health", over=over, X="x" * MAX_HEAD).status == 431
    assert running.ask("GET", f"/health?{'x' * MAX_HEAD}", over=over).status == 431
    with websocket(running, root, shared_token()) as wire:
        wire.send(json.dumps(states(MAX_CALLS + 1)))
        while "event" in (found := json.loads(wire.recv(SECONDS))):
            pass
        assert found["error"]["code"] == "E_USAGE"
