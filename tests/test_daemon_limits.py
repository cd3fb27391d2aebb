"""How much one caller may ask of the daemon, by every way in."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from websockets.sync.client import ClientConnection, connect

from _daemon import Daemon, shared, shared_token
from preread.daemon.guard import MAX_CALLS, MAX_HEAD, Rates, Refused
from preread.daemon.serving import calls_of
from preread.infra.locks import FileLock
from preread.layout import Layout

T = TypeVar("T")
STATUS = {"method": "context.status"}
SECONDS = 60
MANY, TIMES = MAX_CALLS, 30  # it takes 5.5 s until so many calls are not too much
LONG = [{"jsonrpc": "2.0", "id": n, **STATUS} for n in range(MANY)]  # too long to be run


def states(count: int) -> dict[str, Any]:
    """A state that counts for so many calls, and is refused at once."""
    return {"method": "x", "batch": [{"method": "y"}] * (count - 1)}


def websocket(running: Daemon, root: Path, token: str) -> ClientConnection:
    headers = {"Authorization": f"Bearer {token}", "Preread-Namespace": str(root)}
    address = f"ws://127.0.0.1:{running.port}/stream"
    return connect(address, additional_headers=headers, open_timeout=SECONDS, proxy=None)


def at_once(ask: Callable[[], T]) -> list[T]:
    """The answers to more than may be asked at once."""
    with ThreadPoolExecutor(TIMES) as pool:
        return [*pool.map(lambda _: ask(), range(TIMES))]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Daemon:
    root = tmp_path_factory.mktemp("limits") / "limited"
    (root / ".project").mkdir(parents=True)
    shared().allow(root)
    return shared()


@pytest.fixture(scope="module")
def root(running: Daemon) -> Path:
    listed = running.cli("serve", "namespaces").out.splitlines()
    return next(Path(line) for line in listed if line.endswith("/limited"))


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


def test_calls_on_a_websocket_count_and_it_goes_on(running: Daemon, root: Path) -> None:
    token = running.token("read")
    with websocket(running, root, token) as wire:

        def ask(message: Any, times: int = 1) -> list[Any]:
            for _ in range(times):
                wire.send(json.dumps(message))
            heard: list[Any] = []
            while len(heard) < times:
                if "event" not in (found := json.loads(wire.recv(SECONDS))):
                    heard.append(found)
            return heard

        given = states(MANY) | {"metadata": {"request_id": "r"}}
        late = [one for one in ask(given, TIMES) if one["error"]["code"] == "E_RATE_LIMIT"]
        assert late[0]["metadata"] == {"request_id": "r"}
        assert late[0]["error"]["details"] == {"retry_after": 1}
        assert late[0]["error"]["hint"] == "Call again in 1 s."
        batch = [*LONG[1:-1], {"jsonrpc": "2.0", **STATUS}, 7]
        answers = next(one for one in ask(batch, TIMES) if isinstance(one, list))
        assert [one["id"] for one in answers] == [*range(1, MANY - 1), None]
        assert {one["error"]["data"]["code"] for one in answers} == {"E_RATE_LIMIT"}
        http = at_once(lambda: running.ask("POST", "/operation", states(MANY), token))
        assert 429 in {answer.status for answer in http}  # it is one limit
        there = {"Preread_Namespace": str(root)}
        assert "result" in running.operation(STATUS, shared_token(), **there)  # another's limit
        if "error" in (now := ask(STATUS)[0]):
            time.sleep(now["error"]["details"]["retry_after"])
        assert "result" in ask(STATUS)[0]


@pytest.mark.parametrize(
    ("path", "body", "over"),
    [
        ("/operation", states(MANY), "tcp"),
        ("/rpc", LONG, "tcp"),
        ("/operation", states(MANY), "socket"),
    ],
)
def test_calls_in_a_batch_count(
    running: Daemon, root: Path, path: str, body: Any, over: str
) -> None:
    token = running.token("read") if over == "tcp" else ""
    there = {"Preread_Namespace": str(root)}
    answers = at_once(lambda: running.ask("POST", path, body, token, over=over, **there))
    late = next(answer for answer in answers if answer.status == 429)
    error = late.json["error"]
    assert error["details"]["retry_after"] == int(late.headers["retry-after"])
    assert error["code"] == "E_RATE_LIMIT"
    while running.ask("GET", "/metrics", token=token, over=over).status == 429:
        time.sleep(0.1)


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_calls_in_a_tools_batch_count(running: Daemon, root: Path, era: str) -> None:
    headers = {"authorization": f"Bearer {running.token('read')}", "preread-namespace": str(root)}
    async with httpx2.AsyncClient(headers=headers, timeout=SECONDS) as wire:
        transport = streamable_http_client(f"{running.url}/mcp", http_client=wire)
        async with Client(transport, mode=era) as client:
            answers = []

            async def ask() -> None:
                done = await client.call_tool("context_operation", states(MANY))
                answers.append(done.structured_content)

            with suppress(Exception):  # what even its request is too much for
                async with anyio.create_task_group() as tasks:
                    for _ in range(TIMES):
                        tasks.start_soon(ask)
            late = next(one for one in answers if "error" not in one)
            assert late["code"] == "E_RATE_LIMIT"
            assert late["details"]["retry_after"] == 1


def test_so_many_builds_wait_in_a_project_as_it_says_and_joining_one_is_free(
    running: Daemon, tmp_path: Path
) -> None:
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
def test_a_message_has_so_many_calls_and_a_request_so_long_a_head(
    running: Daemon, root: Path, over: str
) -> None:
    token = shared_token() if over == "tcp" else ""
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
