"""The daemon as a real process: who may ask what of it, over TCP and over its Unix socket."""

import asyncio
import fcntl
import json
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from uvicorn.server import ServerState

from _daemon import Daemon, daemon
from _half_pairs import HALF, spellings, with_half_pairs
from _mcp_process import shop
from conftest import ROOT, child_environ, run_cli
from preread.client import Client as Preread
from preread.daemon import paths, protocol, service
from preread.daemon.guard import MAX_BODY, Rates
from preread.daemon.tokens import Tokens
from preread.errors import PrereadError

STATUS = {"method": "context.status"}
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
)
OFF = {"PREREAD_CLAUDE": "off"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with daemon(tmp_path_factory.mktemp("d")) as found:
        yield found


@pytest.fixture(scope="module")
def root(running: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An allowed project with a dossier of `checkout`."""
    found = shop(tmp_path_factory.mktemp("one") / "shop")
    assert run_cli("load", "checkout", cwd=found, env=OFF).status == 0
    running.allow(found)
    return found


@pytest.fixture(scope="module")
def other(running: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another allowed project, with a dossier of `cart` and a fact of its own."""
    found = shop(tmp_path_factory.mktemp("two") / "shop")
    assert run_cli("load", "cart", cwd=found, env=OFF).status == 0
    assert run_cli("remember", "the zebra is striped", cwd=found, env=OFF).status == 0
    running.allow(found)
    return found


@pytest.fixture(scope="module")
def tokens(running: Daemon, root: Path, other: Path) -> dict[str, str]:
    """A token of each scope, for `root` only."""
    return {
        scope: running.token(scope, "--namespace", str(root))
        for scope in ("read", "write", "execute")
    }


# -- who may ask


def test_a_wrong_host_origin_token_or_scope_has_a_status_of_its_own(
    running: Daemon, tokens: dict[str, str]
) -> None:
    assert running.ask("GET", "/health").json["status"] == "ok"
    for path in ("/operation", "/rpc", "/mcp", "/metrics", "/stream", "/", "/nosuch"):
        assert running.ask("POST", path, STATUS).status in {401, 429}
    assert running.ask("GET", "/health", Host="evil.example").status == 421
    assert running.ask("GET", "/health", Host="127.0.0.1").status == 421
    token = tokens["read"]
    own, name = f"http://127.0.0.1:{running.port}", f"localhost:{running.port}"
    for origin in (
        "http://evil.example", "null", f"http://127.0.0.1:{running.port + 1}",
        f"https://127.0.0.1:{running.port}", f"http://{name}",
    ):  # fmt: skip
        assert running.ask("POST", "/operation", STATUS, token, Origin=origin).status == 403
    assert running.ask("POST", "/operation", STATUS, token, Origin=own).status == 200
    there = {"Host": name, "Origin": f"http://{name}"}
    assert running.ask("POST", "/operation", STATUS, token, **there).status == 200
    refused = running.ask("POST", "/operation", {"batch": [STATUS, {"method": "remember"}]}, token)
    assert refused.status == 403
    assert 'scope="write"' in refused.headers["www-authenticate"]
    assert running.ask("GET", "/health", over="socket", Origin=own).status == 403


def test_a_target_that_is_a_whole_url_is_that_of_its_host(
    running: Daemon, tokens: dict[str, str]
) -> None:
    own = f"127.0.0.1:{running.port}"
    for target, host, status in (
        (f"http://{own}/health", own, b"200"),
        (f"HTTP://{own}/metrics?x=/", "evil.example", b"200"),
        (f"http://{own}", own, b"401"),  # the page, which tells how to log in
        (f"http://{own}/%6eosuch", own, b"404"),
        ("http://evil.example/health", own, b"421"),
        (f"https://{own}/health", own, b"421"),
        (f"http://me@{own}/health", own, b"421"),
    ):
        bearer = f"Authorization: Bearer {tokens['read']}\r\n" if "/?" not in target else ""
        bearer = "" if target.endswith(own) else bearer
        head = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{bearer}Connection: close\r\n\r\n"
        assert running.raw(head.encode(), 60)[9:12] == status, target


def test_at_the_schemes_own_port_clients_name_none(tmp_path: Path) -> None:
    try:
        socket.create_server(("127.0.0.1", 80)).close()
    except OSError as error:
        pytest.skip(f"port 80: {error}")
    with daemon(tmp_path / "h", "--http", "--port", "80") as found:
        for host in ("localhost", "localhost:80", "127.0.0.1"):
            assert found.ask("GET", "/health", Host=host).status == 200
        assert found.ask("GET", "/health", Host="localhost:443").status == 421


def test_a_build_or_a_program_needs_its_scope_by_every_way(
    running: Daemon, tokens: dict[str, str]
) -> None:
    load = {"method": "load", "params": {"feature": "cart"}}
    check = {"method": "context.check", "params": {"feature": "checkout", "run": True}}
    nested = {**STATUS, "then": {"batch": [{**STATUS, "then": load}]}}
    rpc = {"jsonrpc": "2.0", "id": 1, **load}
    for token, path, body in (
        ("read", "/operation", load),
        ("read", "/operation", nested),
        ("read", "/rpc", rpc),
    ):
        assert running.ask("POST", path, body, tokens[token]).status == 403
    fine = {"jsonrpc": "2.0", "id": 2, "method": "config.ops"}
    inside = running.ask("POST", "/rpc", [rpc, fine], tokens["read"]).json
    assert inside[0]["error"]["data"]["code"] == "E_NOT_ALLOWED"
    assert inside[1]["result"]["operations"]
    assert running.operation(check, tokens["read"])["method"] == "context.check"


def test_tokens_expire_are_revoked_and_are_kept_as_hashes(running: Daemon, root: Path) -> None:
    made = {
        "revoked": running.token("read"),
        "expired": running.token("read", "--expires", "1s"),
        "valid": running.token("read", "--expires", "30d"),
    }
    ident = made["revoked"].split("_")[1]
    assert ident in running.cli("token", "list").out
    [listed] = [one for one in running.cli("token", "list", "--json").json if one["id"] == ident]
    assert (listed["scope"], "digest" in listed) == ("read", False)
    assert running.cli("token", "revoke", ident, "--json").json == listed
    gone = running.cli("token", "revoke", ident, "--json")
    assert (gone.status, gone.json["code"]) == (1, "E_NOT_FOUND")
    kept = Path(paths.state_folder(running.environ)) / "tokens.json"
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert all(token.split("_", 2)[2] not in kept.read_text() for token in made.values())
    time.sleep(1.1)
    changed = made["valid"][:-1] + ("A" if made["valid"][-1] != "A" else "B")
    for token in (made["revoked"], made["expired"], changed):
        assert running.ask("GET", "/metrics", token=token).status in {401, 429}
    assert running.ask("GET", "/metrics", token=made["valid"]).status == 200
    assert running.cli("token", "new", "--scope", "read", "--expires", "soon").status == 2


def test_guesses_are_slowed_down_and_the_rate_of_a_token_is_limited(running: Daemon) -> None:
    late = running.ask("GET", "/metrics", token=f"prd_0_{'x' * 43}")
    while late.status != 429:  # one a second is allowed
        assert late.status == 401
        late = running.ask("GET", "/metrics", token=f"prd_00000000_{'x' * 43}")
    assert int(late.headers["retry-after"]) >= 1
    assert running.ask("GET", "/health").status == 200
    rates = Rates(10, 3)
    assert [rates.wait("a") > 0 for _ in range(4)] == [False, False, False, True]
    assert rates.wait("b") == 0


def test_a_token_file_that_is_damaged_lets_nobody_in(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    tokens = Tokens(environ)
    shown = tokens.new("read")
    assert tokens.check(shown) is not None
    (tmp_path / "preread" / "tokens.json").write_text('[{"id": "x"}]')
    with pytest.raises(PrereadError, match="it is damaged"):
        tokens.check(shown)


def test_a_token_file_of_another_user_lets_nobody_in(tmp_path: Path) -> None:
    tokens = Tokens({"XDG_STATE_HOME": str(tmp_path)})
    tokens.new("read")
    kept = tmp_path / "preread" / "tokens.json"
    if os.getuid() == 0:
        os.chown(kept, 65534, -1)
    else:  # only root can give a file away; this one is root's
        kept.unlink()
        kept.symlink_to("/etc/passwd")
    with pytest.raises(PrereadError, match="another user"):
        tokens.all()


# -- namespaces


def test_nothing_of_one_namespace_is_seen_from_another(
    running: Daemon, root: Path, other: Path, tokens: dict[str, str]
) -> None:
    def dossiers(**given: Any) -> Any:
        done = running.operation(STATUS | given, tokens["read"])
        return [one["feature"] for one in done["result"]["dossiers"]] if "result" in done else done

    assert dossiers() == ["checkout"]
    for scope in tokens:
        assert "warnings" in running.operation(STATUS, tokens[scope])["result"]
        assert running.operation(STATUS, tokens[scope])["result"]["warnings"] == []
    assert dossiers(options={"namespace": str(root)}) == ["checkout"]
    for name in (str(other), "/etc", "../two/shop", f"{root}/../../two/shop", f"{other}/", "/"):
        for given in (
            {"options": {"namespace": name}},
            {"batch": [], "options": {"namespace": name}},
        ):
            assert dossiers(**given)["error"]["code"] == "E_NOT_FOUND"
        answer = running.operation(STATUS, tokens["read"], Preread_Namespace=name)
        assert answer["error"]["code"] == "E_NOT_FOUND"
    inner = {"batch": [STATUS | {"options": {"namespace": str(other)}}]}
    assert running.operation(inner, tokens["read"])["batch"][0]["error"]["code"] == "E_NOT_FOUND"
    recall = {"method": "recall", "params": {"topic": "zebra"}}
    assert "striped" not in json.dumps(running.operation(recall, tokens["read"]))
    wide = running.token("read")
    found = running.operation(recall | {"options": {"namespace": str(other)}}, wide)
    assert "striped" in json.dumps(found)
    assert "which" not in running.operation(STATUS, wide)
    assert running.operation(STATUS, wide)["error"]["code"] == "E_NOT_FOUND"  # which one?


def test_a_folder_is_closed_to_http_until_it_is_allowed_and_open_to_this_users_processes(
    running: Daemon, tmp_path: Path
) -> None:
    (tmp_path / "new" / ".git").mkdir(parents=True)
    folder, token = tmp_path / "new", running.token("read")

    def code(**more: Any) -> str:
        done = running.operation(STATUS, **more, Preread_Namespace=str(folder))
        return done.get("error", {}).get("code", "ok")

    assert (code(token=token), code(over="socket")) == ("E_NOT_FOUND", "ok")
    assert running.cli("serve", "allow", str(folder)).status == 0
    assert code(token=token) == "ok"
    folder.rename(tmp_path / "moved")
    folder.symlink_to("/etc")
    assert code(token=token) == "E_NOT_FOUND"
    assert running.cli("serve", "forbid", str(folder)).status == 0
    assert str(folder) not in running.cli("serve", "namespaces").out


def test_messages_are_those_of_one_namespace_and_each_token_is_a_session(
    running: Daemon, root: Path, other: Path
) -> None:
    one, two = running.token("write"), running.token("write")
    there = {"Preread_Namespace": str(root)}
    for token in (one, two):
        running.operation({"method": "session.register", "params": {}}, token, **there)
    elsewhere = {"Preread_Namespace": str(other)}
    running.operation({"method": "session.register", "params": {}}, two, **elsewhere)
    said = {"method": "say", "params": {"text": "the kettle boils"}}
    assert "result" in running.operation(said, one, **there)
    heard = running.operation({"method": "hear"}, two, **there)["result"]["messages"]
    assert [each["text"] for each in heard] == ["the kettle boils"]
    assert running.operation({"method": "hear"}, two, **elsewhere)["result"]["messages"] == []
    assert running.operation({"method": "hear"}, one, **there)["result"]["messages"] == []


# -- JSON-RPC


def test_json_rpc_answers_as_the_specification_says(
    running: Daemon, tokens: dict[str, str]
) -> None:
    def rpc(body: Any) -> Any:
        answer = running.ask("POST", "/rpc", body, tokens["read"])
        return answer.json if answer.body else answer.status

    call = {"jsonrpc": "2.0", "method": "context.status"}
    assert rpc(call | {"id": "a"})["result"]["dossiers"][0]["feature"] == "checkout"
    assert rpc(call) == 204
    assert rpc([call, call]) == 204
    assert rpc(b"{")["error"]["code"] == -32700
    endless = rpc(b'{"jsonrpc": "2.0", "method": "context.status", "id": 1e999}')
    assert (endless["id"], endless["error"]["code"]) == (None, -32600)
    assert rpc([])["error"]["code"] == -32600
    none, _, unknown = rpc([1, call | {"id": 2}, {**call, "id": 3, "method": "nosuch"}])
    assert (none["id"], none["error"]["code"]) == (None, -32600)
    assert (unknown["error"]["code"], unknown["error"]["data"]["code"]) == (-32601, "E_METHOD")
    assert rpc(call | {"id": 1, "params": [1]})["error"]["code"] == -32602
    assert (
        rpc(call | {"id": 1, "params": {"feature": "nosuch"}})["error"]["data"]["code"]
        == "E_NOT_FOUND"
    )
    assert len(rpc([call | {"id": n} for n in range(50)])) == 50
    assert rpc([call] * 51)["error"]["code"] == -32600


def test_half_a_surrogate_pair_anywhere_is_answered_with_text(
    running: Daemon, tokens: dict[str, str]
) -> None:
    state = {"method": "context.status", "metadata": {"request_id": HALF[0], HALF[1]: HALF[2]}}
    bodies = [state, {"batch": [state], "then": state}, *with_half_pairs(HALF[0])]
    for body in bodies:
        for data in spellings(body):
            for path in ("/rpc", "/operation"):
                answer = running.ask("POST", path, data, tokens["read"])
                assert answer.status < 429, (path, data, answer)
                assert answer.status == 204 or isinstance(answer.json, dict), (path, data, answer)
    assert running.ask("POST", "/operation", STATUS, tokens["read"]).status == 200


# -- MCP


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_mcp_of_both_eras_with_its_scope(
    running: Daemon, root: Path, tokens: dict[str, str], era: str
) -> None:
    for scope, works in (("write", True), ("read", False)):
        headers = {"authorization": f"Bearer {tokens[scope]}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30) as wire:
            transport = streamable_http_client(f"{running.url}/mcp", http_client=wire)
            async with Client(transport, mode=era) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert ("load_context" in names) == works
                status = await client.call_tool("context_operation", STATUS)
                assert "checkout" in json.dumps(status.structured_content)
                said = {"method": "remember", "params": {"content": f"tea is hot {era}"}}
                done = await client.call_tool("context_operation", said)
                assert done.is_error != works
                listed = await client.list_resources()
                assert "dossier://checkout/summary.md" in {str(r.uri) for r in listed.resources}
                if works:
                    loaded = await client.call_tool("load_context", {"feature": "checkout"})
                    assert loaded.structured_content["status"] == "ok"


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_caller_over_mcp_hears_of_its_builds_progress(
    running: Daemon, root: Path, tokens: dict[str, str], era: str
) -> None:
    heard: list[tuple[float, str | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    headers = {"authorization": f"Bearer {tokens['write']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as wire:
        transport = streamable_http_client(f"{running.url}/mcp", http_client=wire)
        async with Client(transport, mode=era) as client:
            given = {"feature": "checkout", "level": "light", "force": True}
            done = await client.call_tool("load_context", given, progress_callback=tell)
            assert done.structured_content["state"] == "built"
            state = {"method": "context.load", "params": given}
            again = await client.call_tool("context_operation", state, progress_callback=tell)
            assert again.structured_content["result"]["state"] == "built"
    said = [message for _, message in heard]
    assert said.count("checking every source") == 2
    assert "reading the project's files" in said
    first = [progress for progress, _ in heard[: said.index("checking every source") + 1]]
    assert first == sorted(set(first))


@pytest.mark.anyio
async def test_a_session_is_only_for_the_token_that_began_it(
    running: Daemon, root: Path, tokens: dict[str, str]
) -> None:
    begin = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "x", "version": "1"}},
    }  # fmt: skip
    types = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    first = running.ask("POST", "/mcp", begin, tokens["write"], **types)
    session = first.headers["mcp-session-id"]
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    again = {**types, "Mcp_Session_Id": session}
    assert running.ask("POST", "/mcp", ping, tokens["write"], **again).status == 200
    others = running.token("write", "--namespace", str(root))
    for token in (tokens["read"], others):
        answer = running.ask("POST", "/mcp", ping, token, **again)
        assert answer.status == 404


# -- bounds


def test_what_is_too_long_or_no_http_is_refused_and_the_daemon_goes_on(
    running: Daemon, tokens: dict[str, str]
) -> None:
    token, host = tokens["read"], f"127.0.0.1:{running.port}"
    assert (
        running.ask("POST", "/operation", b"", token, Content_Length=str(MAX_BODY + 1)).status
        == 413
    )
    for body in (
        b"",
        b"[]",
        b"{",
        b'"x"',
        b"[" * 100_000,
        b'{"method": NaN}',
        b"\xff",
        b"1" * 5000,
    ):
        assert running.ask("POST", "/operation", body, token).status == 400
    chunks = b"80000\r\n" + b"x" * 0x80000 + b"\r\n"
    head = f"POST /operation HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    long = head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunks * 9 + b"0\r\n\r\n"
    with suppress(ConnectionError):  # it did not wait for the rest
        assert b" 413 " in running.raw(long)
    twice = f"GET /health HTTP/1.1\r\nHost: {host}\r\nHost: evil\r\n\r\n"
    assert b" 400 " in running.raw(twice.encode())
    assert b" 400 " in running.raw(b"GET /health HTTP/1.1\r\nX: " + b"x" * 70_000 + b"\r\n\r\n")
    assert b" 400 " in running.raw(b"\x16\x03\x01 hello\r\n\r\n")
    both = head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    assert b" 200 " not in running.raw(both.encode() + b"0\r\n\r\n")
    assert running.ask("GET", "/health").status == 200


def test_an_unknown_path_or_method_is_an_error_in_json_like_every_other(
    running: Daemon, tokens: dict[str, str]
) -> None:
    for method, path, status, code in (
        ("GET", "/operation", 405, "E_USAGE"),
        ("GET", "/operations", 404, "E_NOT_FOUND"),
        ("POST", "/static/page.css", 405, "E_USAGE"),
    ):
        answer = running.ask(method, path, token=tokens["read"])
        assert (answer.status, answer.json["error"]["code"]) == (status, code)
        assert "POST /operation" in answer.json["error"]["hint"]
        assert ("allow" in {name.lower() for name in answer.headers}) == (status == 405)


def test_one_request_names_one_namespace(running: Daemon, tokens: dict[str, str]) -> None:
    head = f"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nContent-Length: 2\r\n"
    head += f"Authorization: Bearer {tokens['read']}\r\nConnection: close\r\n"
    head += 2 * "Preread-Namespace: /a\r\n"
    answer = running.raw(f"{head}\r\n[]".encode())
    assert b" 400 " in answer
    assert b"more than one header preread-namespace" in answer


def test_who_goes_away_or_is_refused_leaves_no_fault_in_the_log(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / ".project").mkdir(parents=True)
    with daemon(tmp_path / "h") as found:
        found.allow(root)
        bearer = f"Authorization: Bearer {found.token('read')}\r\n".encode()
        at = f"Host: 127.0.0.1:{found.port}\r\n".encode()
        upgrade = UPGRADE.replace(b"Host: x\r\n", at).replace(b"GET /", b"GET /stream")
        assert b" 401 " in found.raw(upgrade)
        call = json.dumps({"method": "config.ops"}).encode()
        asked = b"\x81" + bytes([0x80 | len(call)]) + bytes(4) + call
        for begin, more in (
            (b"POST /operation HTTP/1.1\r\n" + at + bearer + b"Content-Length: 9\r\n\r\n{", b""),
            (upgrade[:-2] + bearer + b"\r\n", asked * 5),
        ):
            for _ in range(3):
                with socket.create_connection(("127.0.0.1", found.port), timeout=60) as wire:
                    wire.sendall(begin)
                    if more:
                        assert wire.recv(100).startswith(b"HTTP/1.1 101 ")
                        wire.sendall(more)
                        wire.recv(1)
                    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert found.ask("GET", "/health").status == 200


@pytest.mark.anyio
async def test_who_trickles_stalls_idles_or_connects_too_often_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(protocol, "STALLED_SECONDS", 0.3)
    size = 2**26

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            if scope["path"] == "/large":
                await send({"type": "websocket.send", "bytes": b"x" * size})
            while (await receive())["type"] != "websocket.disconnect":
                pass
            return
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        body = b"x" * (size if scope["path"] == "/large" else 1)
        await send({"type": "http.response.body", "body": body})

    listener = protocol.BoundedListener(socket.create_server(("127.0.0.1", 0)))
    make = partial(protocol.BoundedProtocol, listener=listener)
    config = uvicorn.Config(
        app, http=make, ws=protocol.BoundedWebSocket, lifespan="off",
        log_config=None, timeout_keep_alive=1, ws_ping_interval=0.3, ws_ping_timeout=0.3,
    )  # fmt: skip
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(partial(make, config, state, {}), sock=listener)
    port = listening.sockets[0].getsockname()[1]
    whole, head = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"POST / HTTP/1.1\r\nHost: x\r\n"
    with anyio.fail_after(60):
        for data in (b"GET / HT", head + b"Content-Length: 5\r\n\r\nab", whole + whole[:9], b""):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(data)
            with suppress(ConnectionError):
                assert (b" 200 " in await reader.read()) == data.startswith(whole)
            writer.close()
        monkeypatch.setattr(protocol, "REQUEST_SECONDS", 60.0)
        config.ws_ping_interval = 60.0
        for request in (whole, UPGRADE):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1000)
            writer.write(request.replace(b"/ H", b"/large H"))
            while not state.connections:  # noqa: ASYNC110
                await anyio.sleep(0.05)
            while state.connections:  # noqa: ASYNC110
                await anyio.sleep(0.05)
            writer.close()
        begun = b"\x01\x80" + bytes(4)  # an empty text that goes on
        for opcode in (b"\x00", b"\x89", b"\x8a"):  # with empty parts, with pings, with pongs
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(UPGRADE)
            assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
            writer.write(begun + (opcode + b"\x80" + bytes(4)) * 6000)
            with suppress(ConnectionError):
                await reader.read()
            writer.close()
        config.ws_ping_interval = 0.3

        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(UPGRADE)  # and then it answers no ping
        assert b" 101 " in await reader.read()
        writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(whole)  # and then it asks for nothing else
        assert b" 200 " in await reader.read()
        writer.close()

        monkeypatch.setattr(protocol, "MAX_CONNECTIONS", 3)
        several = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
        with suppress(ConnectionError):  # the oldest that has asked for nothing makes room
            assert await several[0][0].read() == b""
        for reader, writer in several[1:]:
            writer.write(whole)
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        late, writer = await asyncio.open_connection("127.0.0.1", port)
        with suppress(ConnectionError):  # all others have asked
            assert await late.read() == b""
        writer.close()
        for _, writer in several:
            writer.close()
    listening.close()


@pytest.mark.anyio
async def test_a_call_that_the_servers_end_cuts_off_is_no_fault_of_the_app(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun = anyio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        begun.set()
        await anyio.sleep_forever()

    config = uvicorn.Config(
        app, ws=protocol.BoundedWebSocket, lifespan="off", log_config=None,
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            writer.write(UPGRADE)
            assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
            await begun.wait()
            server.should_exit = True
            await reader.read()
            writer.close()
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert told == ["Cancel 1 running task(s), timeout graceful shutdown exceeded"]


# -- the process


def test_sockets_are_private_and_there_is_one_daemon(running: Daemon) -> None:
    folder = Path(paths.runtime_folder(running.environ))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in (paths.http_socket(running.environ), paths.lines_socket(running.environ)):
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    done = running.cli("serve", "--port", "0")
    assert (done.status, "E_DAEMON" in done.err) == (1, True)
    status = running.cli("serve", "status", "--json").json
    assert (status["pid"], status["answers"]) == (running.pid, True)


def test_whatever_the_umask_all_its_files_are_private(tmp_path: Path, project: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run"), **OFF}
    before = os.umask(0)
    try:
        for arguments in (
            ("serve", "allow", str(project)),
            ("token", "new", "--scope", "read"),
            ("serve", "--detach", "--socket"),
        ):
            assert run_cli(*arguments, cwd=tmp_path, env=environ).status == 0
    finally:
        os.umask(before)
    folders = [tmp_path / "run" / "preread", tmp_path / ".local" / "state" / "preread"]
    files = {path.name: path.stat().st_mode & 0o077 for one in folders for path in one.iterdir()}
    found = run_cli("serve", "stop", "--json", cwd=tmp_path, env=environ).json
    assert found["address"] == paths.http_socket(environ)
    names = {"tokens.json", "tokens.lock", "namespaces.json", "daemon.json", "daemon.log"}
    assert names < files.keys()
    assert not any(files.values()), files


def test_clients_cannot_fill_the_log(tmp_path: Path) -> None:
    with daemon(tmp_path / "h", "--http") as found:
        head = f"GET /stream HTTP/1.1\r\nHost: 127.0.0.1:{found.port}\r\n"
        for odd in ("x\r\n\r\n", f"{head}Connection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n"):
            assert found.raw(odd.encode(), 60).startswith(b"HTTP/1.1 4")
    assert len((tmp_path / "h" / "log").read_text().splitlines()) == 1


def test_garbage_is_looked_for_only_among_what_calls_have_made(
    tmp_path: Path, project: Path
) -> None:
    """All calls wait for a full collection; with everything imported, for 60 ms of a processor."""
    counted = tmp_path / "counted"
    program = (
        "import gc, signal; from pathlib import Path; from preread.__main__ import main\n"
        f"count = lambda *_: Path({str(counted)!r}).write_text(str(len(gc.get_objects())))\n"
        "signal.signal(signal.SIGUSR1, count); main()"
    )
    with daemon(tmp_path / "h", "--socket", program=("-c", program)) as found:
        with Preread.over_socket(project, environ=found.environ) as client:
            assert client.status().dossiers == ()
        os.kill(found.pid, signal.SIGUSR1)
        while not (counted.exists() and counted.read_text()):
            time.sleep(0.01)
    assert int(counted.read_text()) < 30_000


def test_a_long_log_is_set_aside_when_a_daemon_starts(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), **OFF}
    log = Path(paths.log(environ))
    log.parent.mkdir(parents=True)
    log.write_bytes(b"x" * (2**20 + 1))
    assert run_cli("serve", "--detach", "--socket", cwd=tmp_path, env=environ).status == 0
    assert run_cli("serve", "stop", cwd=tmp_path, env=environ).status == 0
    assert log.with_suffix(".log.1").stat().st_size == 2**20 + 1
    assert len(log.read_text().splitlines()) == 1
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        failed = run_cli("serve", "--detach", "--port", port, cwd=tmp_path, env=environ)
    assert failed.status == 1
    assert f"cannot listen on 127.0.0.1, port {port}: address already in use" in failed.err
    assert "process" not in failed.err, "that was an earlier daemon"
    assert failed.err.count("E_DAEMON") == 1, "the daemon's own error is not wrapped in another"
    assert [path.name for path in (tmp_path / "preread").iterdir()] == ["daemon.lock"]


def test_a_log_that_cannot_be_written_does_not_end_the_daemon(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), **OFF}
    log = Path(paths.log(environ))
    log.parent.mkdir(parents=True)
    log.symlink_to("/dev/full")
    assert run_cli("serve", "--detach", "--socket", cwd=tmp_path, env=environ).status == 0
    found = service.status(environ)
    assert found is not None
    assert found.answers
    assert run_cli("serve", "stop", cwd=tmp_path, env=environ).status == 0


def test_a_runtime_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "preread").symlink_to("elsewhere")
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), **OFF}
    done = run_cli("serve", "--socket", cwd=tmp_path, env=environ)
    assert (done.status, "is a link" in done.err, "chmod" in done.err) == (1, True, False)


def test_a_path_that_is_too_long_for_a_socket_is_refused_and_tcp_works(tmp_path: Path) -> None:
    runtime = tmp_path / ("x" * 100)
    runtime.mkdir()
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(runtime), **OFF}
    done = run_cli("serve", "--port", "0", cwd=tmp_path, env=environ)
    assert (done.status, "too long" in done.err, "--http" in done.err) == (1, True, True)
    for words in (("--http", "--detach", "--port", "0"), ("stop",)):
        assert run_cli("serve", *words, cwd=tmp_path, env=environ).status == 0


def test_after_an_upgrade_the_status_says_that_the_old_daemon_runs(
    running: Daemon, tmp_path: Path
) -> None:
    older = (
        "import preread; preread.__version__ = '0.0.9'; from preread.__main__ import main; main()"
    )
    with daemon(tmp_path / "h", "--socket", program=("-c", older)) as found:
        assert "Stop it, and start it again" in found.cli("serve", "status").out
    assert "Stop it" not in running.cli("serve", "status").out


def test_others_are_served_only_with_a_token_that_is_valid(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    for lifetime in (None, 0.0):
        if lifetime is not None:
            Tokens(env).new("read", lifetime=lifetime)
        done = run_cli("serve", "--host", "0.0.0.0", "--port", "0", cwd=tmp_path, env=env)
        assert (done.status, "preread token new" in done.err) == (1, True)


def test_a_service_managers_socket_that_others_can_reach_needs_a_token(tmp_path: Path) -> None:
    env = child_environ({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), **OFF})
    with socket.create_server(("0.0.0.0", 0)) as listening:
        copy = fcntl.fcntl(listening, fcntl.F_DUPFD, 50)
        serve = f'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@" 3<&{copy}'
        program = ["bash", "-c", serve, "bash", sys.executable, "-m", "preread", "serve"]
        done = subprocess.run(
            program, env=env, pass_fds=[copy], capture_output=True, text=True, timeout=60
        )
        os.close(copy)
    assert (done.returncode, "preread token new" in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize(
    ("count", "why"),
    [
        ("1", "descriptor 3 does not listen"),
        ("2", "Socket operation on non-socket"),
        ("0", "counts none"),
        ("many", "invalid literal"),
    ],
)
def test_a_service_manager_that_gives_no_listening_sockets_is_told_so(
    tmp_path: Path, count: str, why: str
) -> None:
    env = child_environ({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), **OFF})
    listening = socket.create_server(("127.0.0.1", 0))
    with socket.socket(type=socket.SOCK_DGRAM) as other, listening as one:
        copies = [fcntl.fcntl(found, fcntl.F_DUPFD, 50) for found in (other, one)]
        first = copies[0] if count == "1" else copies[1]
        given = f'exec "$@" 3<&{first} 4</dev/null'
        script = f"export LISTEN_FDS={count} LISTEN_PID=$$; {given}"
        program = ["bash", "-c", script, "bash", sys.executable, "-m", "preread", "serve"]
        done = subprocess.run(
            program, env=env, pass_fds=copies, capture_output=True, text=True, timeout=60
        )
        for copy in copies:
            os.close(copy)
    assert done.returncode == 1
    assert "E_DAEMON: The service manager's sockets cannot be used: " in done.stderr
    assert why in done.stderr


def test_an_empty_host_is_not_every_address(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), **OFF}
    Tokens(child_environ(env)).new("read")
    done = run_cli("serve", "--host", "", "--port", "0", cwd=tmp_path, env=env)
    assert (done.status, "The host is empty" in done.err) == (1, True)


def test_without_a_runtime_folder_the_error_names_the_variable(tmp_path: Path) -> None:
    (tmp_path / "ended").write_text("")
    env = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "ended"), **OFF}
    done = run_cli("serve", "--port", "0", cwd=tmp_path, env=env)
    assert (done.status, "Set XDG_RUNTIME_DIR" in done.err) == (1, True)


def test_who_is_served_elsewhere_may_use_the_address_and_no_other_name(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    token = Tokens(env).new("read")
    with daemon(tmp_path / "h", "--host", "0.0.0.0", "--http", env=env) as found:
        for host, status in (
            (f"127.0.0.2:{found.port}", b" 200 "),
            (f"evil.example:{found.port}", b" 421 "),
            (f"127.0.0.3:{found.port}", b" 421 "),
        ):
            head = f"GET /metrics HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
            with socket.create_connection(("127.0.0.2", found.port), timeout=60) as connection:
                connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
                assert status in connection.makefile("rb").readline()


def test_it_starts_detached_stops_and_recovers_from_a_kill(tmp_path: Path, project: Path) -> None:
    environ = {"HOME": str(tmp_path / "h"), "XDG_RUNTIME_DIR": str(tmp_path), **OFF}
    (tmp_path / "h").mkdir()

    def cli(*arguments: str) -> Any:
        return run_cli(*arguments, cwd=tmp_path, env=environ)

    assert cli("serve", "status").status == 1
    assert cli("serve", "stop").status == 1
    for _ in range(2):
        assert "runs as process" in cli("serve", "--detach", "--socket").out
        found = service.status(environ)
        assert found is not None
        with Preread.over_socket(project, environ=environ) as client:
            assert client.status().dossiers == ()
        os.kill(found.pid, signal.SIGKILL)
        while service.status(environ) is not None:
            time.sleep(0.01)
    assert cli("serve", "--detach", "--socket").status == 0
    assert cli("serve", "stop").status == 0
    assert cli("serve", "status").status == 1
    assert not (tmp_path / "preread" / "http.sock").exists()
    assert "preread 0" in cli("serve", "logs").out
    with (
        Preread.over_socket(project, environ=environ) as client,
        pytest.raises(PrereadError) as none,
    ):
        client.status()
    assert none.value.code == "E_SERVER"


def test_the_sockets_of_a_service_manager_are_used_and_left_in_place(tmp_path: Path) -> None:
    env = child_environ({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), **OFF})
    env |= {"LISTEN_FDS": "3"}
    (tmp_path / "preread").mkdir(mode=0o700)
    sockets = [paths.http_socket(env), paths.lines_socket(env)]
    listening = [socket.create_server(("127.0.0.1", 0))]
    listening += [socket.socket(socket.AF_UNIX) for _ in sockets]
    for path, one in zip(sockets, listening[1:], strict=True):
        one.bind(path)
        one.listen()
    port = listening[0].getsockname()[1]

    copies = [fcntl.fcntl(one, fcntl.F_DUPFD, 50) for one in listening]
    given = " ".join(f"{number}<&{copy}" for number, copy in enumerate(copies, 3))
    program = [sys.executable, "-m", "preread", "serve"]
    shell = ["bash", "-c", f'LISTEN_PID=$$ exec "$@" {given}', "bash", *program]
    with subprocess.Popen(shell, env=env, pass_fds=copies) as process:
        found = Daemon(env, process.pid, port)
        assert found.ask("GET", "/health").status == 200  # the sockets wait for the process
        assert found.ask("GET", "/health", over="socket").status == 200
        process.terminate()
    assert process.returncode == 0
    assert all(Path(path).exists() for path in sockets)
    for one, copy in zip(listening, copies, strict=True):
        one.close()
        os.close(copy)


def test_who_has_allowed_nothing_is_told_how(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    for words, said in {
        ("serve", "namespaces"): "`preread serve allow DIR`",
        ("token", "list"): "`preread token new`",
        ("serve", "--port", "65536"): "0<=x<=65535",
    }.items():
        done = run_cli(*words, cwd=tmp_path, env=env)
        assert said in done.out + done.err


def test_units_are_written_for_systemd_and_launchd(tmp_path: Path) -> None:
    done = run_cli("serve", "--install", cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert done.status == 0
    written = [Path(line) for line in done.out.splitlines() if not line.startswith("Now: ")]
    assert written
    assert all("preread" in path.read_text() for path in written)
    units = service.units({"HOME": "/home/ada"}, "linux")
    assert [path.name for path in units] == ["preread.service", "preread.socket"]
    assert "ListenStream=127.0.0.1:9742" in "".join(units.values())
    [plist] = service.units({"HOME": "/Users/ada"}, "darwin").values()
    assert "<key>RunAtLoad</key>" in plist


def test_the_commands_of_the_document_work(tmp_path: Path, root: Path) -> None:
    text = (ROOT / "docs" / "daemon.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    script = "set -e\n" + "\n".join(blocks).replace("curl -s", "echo; curl -sS --fail")
    runs = f'preread() {{ {sys.executable} -m preread "$@"; }}\n'
    env = child_environ({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), **OFF})
    try:
        done = subprocess.run(
            ["bash", "-c", runs + script],
            cwd=root,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")
        answers = [line for line in done.stdout.splitlines() if line.startswith(("{", "["))]
        assert len(answers) == 5
        assert not any('"error"' in answer for answer in answers), answers
        assert "preread_calls_total" in done.stdout
    finally:
        run_cli("serve", "stop", cwd=tmp_path, env=env)
