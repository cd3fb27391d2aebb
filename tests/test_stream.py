"""What happens in a project, as it happens: server-sent events, and a WebSocket both ways."""

import http.client
import json
import select
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from _daemon import Daemon, shared, shared_token
from _mcp_process import shop
from conftest import run_cli
from preread.errors import CODES
from preread.infra.locks import FileLock
from preread.layout import Layout

SECONDS = 60
OFF = {"PREREAD_CLAUDE": "off"}
State = dict[str, Any]
MODERN = "2026-07-28"
CLIENT = {"name": "a test", "version": "1"}


@pytest.fixture(scope="module")
def running() -> Daemon:
    return shared()


@pytest.fixture(scope="module")
def root(running: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = shop(tmp_path_factory.mktemp("stream") / "watched")
    assert run_cli("load", "checkout", cwd=found, env=OFF).status == 0
    running.allow(found)
    return found


@pytest.fixture(scope="module")
def other(running: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("stream") / "other"
    (found / ".project").mkdir(parents=True)
    running.allow(found)
    return found


class Sse:
    """A connection to /stream that reads events."""

    def __init__(self, running: Daemon, root: Path, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=SECONDS)
        headers = {"Authorization": f"Bearer {token}", "Preread-Namespace": str(root)}
        self._connection.request("GET", "/stream", headers=headers)
        self._answer = self._connection.getresponse()
        assert self._answer.getheader("content-type", "").startswith("text/event-stream")

    def next(self, name: str) -> Any:
        """The data of the next event of this name."""
        while True:
            line = self._answer.readline().decode()
            assert line, "the stream ended"
            if line == f"event: {name}\n":
                return json.loads(self._answer.readline().decode().removeprefix("data: "))

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def events(running: Daemon, root: Path) -> Iterator[Sse]:
    found = Sse(running, root, shared_token())
    yield found
    found.close()


def socket(running: Daemon, root: Path, token: str, **more: Any) -> ClientConnection:
    return connect(
        f"ws://127.0.0.1:{running.port}/stream",
        additional_headers={"Authorization": f"Bearer {token}", "Preread-Namespace": str(root)},
        open_timeout=SECONDS, proxy=None, **more,
    )  # fmt: skip


def ask(wire: ClientConnection, message: Any) -> Any:
    """The answer to a message; events that come before it are passed over."""
    wire.send(message if isinstance(message, str) else json.dumps(message))
    while "event" in (found := json.loads(wire.recv(SECONDS))):
        pass
    return found


def event(wire: ClientConnection, name: str) -> Any:
    while (found := json.loads(wire.recv(SECONDS))).get("event") != name:
        pass
    return found["data"]


def test_builds_messages_and_dossiers_are_told_as_they_happen(
    running: Daemon, root: Path, other: Path, events: Sse
) -> None:
    assert events.next("hello") == {"builds": []}
    token = shared_token()
    load = {"method": "load", "params": {"feature": "cart", "level": "light", "force": True}}
    loaded = running.operation(load, token, Preread_Namespace=str(root))
    assert loaded["result"]["status"] == "ok"
    build = events.next("build")
    assert (build["feature"], build["level"]) == ("cart", "light")
    while build["state"] != "ok":
        build = events.next("build")
    with (
        socket(running, root, running.token("write")) as wire,
        socket(running, other, token) as far,
    ):
        said = ask(wire, {"method": "say", "params": {"text": "tea is ready"}})
        assert "result" in said
        assert events.next("message")["text"] == "tea is ready"
        code = root / "api" / "shop" / "checkout.py"
        code.write_text(code.read_text().replace("def ", "def renamed_"))
        stale = events.next("dossier")
        while not stale.get("stale"):
            stale = events.next("dossier")
        assert stale["feature"] in {"cart", "checkout"}
        far.send(json.dumps({"method": "say", "params": {"text": "elsewhere"}}))
        heard = [event(far, name) for name in ("hello", "message")]
        assert "tea" not in json.dumps(heard)


@pytest.mark.parametrize("text", ["{", '{"jsonrpc": "2.0", "id": NaN, "method": "config.ops"}'])
def test_a_socket_answers_states_and_json_rpc(running: Daemon, root: Path, text: str) -> None:
    with socket(running, root, shared_token()) as wire:
        state = ask(wire, {"method": "context.status", "metadata": {"request_id": "r"}})
        assert state["metadata"]["request_id"] == "r"
        rpc = {"jsonrpc": "2.0", "id": 4, "method": "context.status"}
        assert ask(wire, rpc)["id"] == 4
        assert len(ask(wire, [rpc, rpc])) == 2
        assert ask(wire, 7)["error"]["code"] == -32600
        wire.send(text)
        with pytest.raises(ConnectionClosed) as closed:
            ask(wire, rpc)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1007


def test_a_call_on_a_socket_is_cancelled_and_answered(running: Daemon, root: Path) -> None:
    lock = Layout(root).lock("refund")
    lock.parent.mkdir(parents=True, exist_ok=True)
    load = {"method": "context.load", "params": {"feature": "refund", "level": "light"}}
    calls: dict[str | int, State] = {
        "mine": load | {"metadata": {"request_id": "mine"}},
        7: load | {"jsonrpc": "2.0", "id": 7},
    }
    with FileLock(lock), socket(running, root, shared_token()) as wire:
        for name, call in calls.items():
            wire.send(json.dumps(call))
            while "another process" not in event(wire, "build")["message"]:
                pass
            for wrong in ("another", [], None):
                wire.send(json.dumps(cancel(wrong)))
            answer = ask(wire, cancel(name))
            assert answer["error"]["code"] in {"E_CANCELLED", CODES["E_CANCELLED"].jsonrpc}
            assert call.keys() - {"method", "params"} <= answer.keys()
            while event(wire, "build")["state"] != "error":
                pass
        assert "result" in ask(wire, {"method": "context.status"})


def cancel(name: Any) -> State:
    return {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": name}}


def test_a_socket_has_a_scope_a_size_and_an_origin(running: Daemon, root: Path) -> None:
    with socket(running, root, running.token("read")) as wire:
        refused = ask(wire, {"method": "say", "params": {"text": "x"}})
        assert refused["error"]["code"] == "E_NOT_ALLOWED"
        wire.send(b"\x00")
        with pytest.raises(ConnectionClosed):
            wire.recv(SECONDS)
    with socket(running, root, shared_token()) as wire, pytest.raises(ConnectionClosed):
        ask(wire, "x" * (5 * 2**20))
    foreign = {"origin": "http://evil.example"}
    for place, token, more, status in (
        (root, "no", {}, 401),
        (root, shared_token(), foreign, 403),
        (Path("/etc"), shared_token(), {}, 404),
    ):
        with pytest.raises(InvalidStatus) as answer:
            socket(running, place, token, **more)
        assert answer.value.response.status_code == status
        assert json.loads(answer.value.response.body or b"")["error"]["code"] != "E_INTERNAL"
    assert running.ask("GET", "/health").status == 200


def test_what_was_opened_with_a_token_that_is_revoked_ends(running: Daemon, root: Path) -> None:
    token = running.token("write")
    said = {"method": "say", "params": {"text": "still here"}}
    with (
        closing(Sse(running, root, token)) as followed,
        socket(running, root, token) as asking,
        socket(running, root, token) as listening,
    ):
        assert "result" in ask(asking, said)
        assert followed.next("message") == event(listening, "message")
        assert running.cli("token", "revoke", token.split("_")[1]).status == 0
        asking.send(json.dumps(said))
        assert "result" in running.operation(said, shared_token(), Preread_Namespace=str(root))
        for wire in (asking, listening):
            with pytest.raises(ConnectionClosed) as closed:
                event(wire, "the end")
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1008
        with pytest.raises(AssertionError, match="the stream ended"):
            followed.next("the end")


def test_followers_of_a_closed_project_get_no_more_events(running: Daemon, tmp_path: Path) -> None:
    (tmp_path / "closed" / ".project").mkdir(parents=True)
    running.allow(tmp_path / "closed")
    token = shared_token()
    with (
        closing(Sse(running, tmp_path / "closed", token)) as followed,
        socket(running, tmp_path / "closed", token) as wire,
    ):
        said = {"method": "say", "params": {"text": "the last word"}}
        assert "result" in ask(wire, said)
        assert followed.next("message") == event(wire, "message")
        assert running.cli("serve", "forbid", str(tmp_path / "closed")).status == 0
        assert ask(wire, said)["error"]["code"] == "E_NOT_FOUND"
        local = running.operation(said, over="socket", Preread_Namespace=str(tmp_path / "closed"))
        assert "result" in local
        with pytest.raises(ConnectionClosed):
            event(wire, "the end")
        with pytest.raises(AssertionError, match="the stream ended"):
            followed.next("the end")


class McpStream:
    """A stream of MCP's notifications, as the protocol of an era has it."""

    def __init__(self, running: Daemon, root: Path, token: str, era: str) -> None:
        types = {"Accept": "application/json, text/event-stream", "Preread_Namespace": str(root),
            "Content_Type": "application/json"}  # fmt: skip
        about = {"protocolVersion": era, "capabilities": {}, "clientInfo": CLIENT}
        if era == MODERN:
            types |= {"Mcp_Protocol_Version": era, "Mcp_Method": "subscriptions/listen"}
            meta = {f"io.modelcontextprotocol/{name}": it for name, it in about.items()}
            meta["io.modelcontextprotocol/clientCapabilities"] = {}
            params = {"_meta": meta, "notifications": {"resourcesListChanged": True}}
            request = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen"}
            sent = "POST", json.dumps(request | {"params": params})
        else:
            begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
            begun = running.ask("POST", "/mcp", begin, token, **types)
            types["Mcp_Session_Id"] = begun.headers["mcp-session-id"]
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert running.ask("POST", "/mcp", ready, token, **types).status == 202
            listing = {"jsonrpc": "2.0", "id": 2, "method": "resources/list"}
            assert running.ask("POST", "/mcp", listing, token, **types).status == 200
            sent = "GET", None
        self._connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=SECONDS)
        headers = {name.replace("_", "-"): value for name, value in types.items()}
        headers["Authorization"] = f"Bearer {token}"
        self._connection.request(sent[0], "/mcp", sent[1], headers)
        self._answer = self._connection.getresponse()
        assert self._answer.getheader("content-type", "").startswith("text/event-stream")
        if era == MODERN:
            assert self.hears("acknowledged")

    def hears(self, word: str) -> bool:
        """Whether a notification with this word comes before the stream ends."""
        while line := self._answer.readline():
            if line.startswith(b"data:") and word in line.decode():
                return True
        return False

    def is_silent(self) -> bool:
        return not select.select([self._connection.sock], [], [], 1.0)[0]

    def close(self) -> None:
        self._connection.close()


def test_mcp_streams_end_with_their_token_and_with_their_project(
    running: Daemon, tmp_path: Path
) -> None:
    root = tmp_path / "told"
    (root / ".project").mkdir(parents=True)
    running.allow(root)
    tokens = {name: running.token("read") for name in ("revoked", "valid")}
    names = (f"feature-{number}" for number in count())

    def load() -> None:
        given = {"feature": next(names), "level": "light"}
        state = {"method": "context.load", "params": given}
        assert "result" in running.operation(state, over="socket", Preread_Namespace=str(root))

    load()  # nobody watches a project without any
    with ExitStack() as stack:
        streams = {
            (name, era): stack.enter_context(closing(McpStream(running, root, token, era)))
            for name, token in tokens.items()
            for era in ("2025-06-18", MODERN)
        }
        while any(stream.is_silent() for stream in streams.values()):
            load()  # the watcher may have only just begun
        for stream in streams.values():
            assert stream.hears("list_changed")
        ident = tokens["revoked"].split("_")[1]
        for taken, gone in (
            (("token", "revoke", ident), "revoked"),
            (("serve", "forbid", str(root)), "valid"),
        ):
            assert running.cli(*taken).status == 0
            load()
            for (name, era), stream in streams.items():
                if name == gone:
                    for _ in range(5):
                        if not stream.hears("list_changed"):  # of what was loaded before
                            break
                        load()
                    else:
                        pytest.fail(f"{name} {era} goes on")
                elif gone == "revoked":
                    assert stream.hears("list_changed"), era


def test_a_project_whose_messages_cannot_be_read_is_followed_and_harms_no_other(
    running: Daemon, root: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    (broken / ".project" / ".state").mkdir(parents=True)
    database = broken / ".project" / ".state" / "state.db"
    database.write_bytes(b"no database" * 1000)
    cache = broken / ".project" / ".cache"
    cache.write_text("a file where locks belong, so that nothing can be set aside")
    running.allow(broken)
    with (
        socket(running, broken, shared_token()) as far,
        socket(running, root, shared_token()) as wire,
    ):
        assert event(far, "hello") == event(wire, "hello") == {"builds": []}
        said = {"method": "say", "params": {"text": "still here"}}
        assert ask(far, said)["error"]["code"] == "E_WRITE"
        assert "result" in ask(wire, said)
        assert event(wire, "message")["text"] == "still here"
        cache.unlink()  # somebody mends it, and what is said after it was read again is told
        for _ in range(SECONDS):
            far.send(json.dumps(said))
            with suppress(TimeoutError):
                while (found := json.loads(far.recv(1))).get("event") != "message":
                    pass
                break
        assert found["data"]["text"] == "still here"
