"""`preread mcp` in front of a daemon: small, and the session goes on whatever happens to the daemon."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import psutil
import pytest

from _daemon import Daemon, daemon
from _mcp_process import MODERN, SlowGit, Wire, connect, environ, shop
from conftest import run_cli
from preread.daemon import paths

pytestmark = pytest.mark.anyio
BOUND = 240  # seconds; a server starts several times, on a busy machine
OFF = {"PREREAD_CLAUDE": "off"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = shop(tmp_path_factory.mktemp("relay") / "shop")
    assert run_cli("load", "checkout", cwd=found, env=OFF).status == 0
    return found


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with daemon(tmp_path_factory.mktemp("r"), "--socket") as found:
        yield found


@asynccontextmanager
async def relay(root: Path, env: Mapping[str, str]) -> AsyncIterator[Wire]:
    """`preread mcp` in an interpreter of its own; `errors` in the wire is what it says."""
    program = [sys.executable, "-m", "preread", "mcp", "--project", str(root)]
    process = await anyio.open_process(program, env=env, stderr=subprocess.PIPE)
    wire = Wire(process)
    try:
        with anyio.fail_after(BOUND):
            yield wire
    finally:
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()


async def said(wire: Wire) -> str:
    """What a process that ends with its input says on standard error."""
    await wire.process.stdin.aclose()
    text = b""
    async for chunk in wire.process.stderr:
        text += chunk
    return text.decode()


def relays(running: Daemon) -> int:
    metrics = running.ask("GET", "/metrics", over="socket").body.decode()
    return int(metrics.partition("\npreread_relays ")[2].split("\n")[0])


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
async def test_a_client_is_served_by_the_daemon_as_a_session_of_its_own(
    running: Daemon, root: Path, mode: str
) -> None:
    env = {name: running.environ[name] for name in ("HOME", "XDG_RUNTIME_DIR", *OFF)}
    program = ["-m", "preread", "mcp", "--project", str(root)]
    async with connect(root, mode, env, program=program) as one:
        loaded = await one.call_tool("load_context", {"feature": "checkout"})
        assert loaded.structured_content["state"] == "cached"
        async with connect(root, mode, env, program=program) as two:
            call = {"method": "session.register", "params": {"doing": "tests"}}
            ids = []
            for client in (one, two):
                done = await client.call_tool("context_operation", call)
                ids.append(done.structured_content["result"]["session"]["id"])
            assert relays(running) == 2
            assert len(set(ids)) == 2
            assert str(running.pid) not in ids


async def test_it_is_small_and_ends_with_its_input(running: Daemon, root: Path) -> None:
    async with relay(root, running.environ) as wire:
        await wire.initialize()
        memory = psutil.Process(wire.process.pid).memory_info().rss
        assert memory <= 14 * 2**20, "bytes; bench/daemon.py measures it without the test's guard"
        await wire.send(b"no json\n")
        assert (await wire.receive())["error"]["code"] == -32700
        await wire.call(1, feature="checkout")
        await wire.process.stdin.aclose()
        assert (await wire.answer(1))["result"]["structuredContent"]["status"] == "ok"
        assert await wire.ended() == 0


async def test_a_killed_daemon_is_an_error_of_its_calls_and_the_next_call_works(
    tmp_path: Path, slow_git: SlowGit
) -> None:
    root, home = shop(tmp_path / "shop"), tmp_path / "h"
    home.mkdir()
    with daemon(home, "--socket") as first:
        whole = {**first.environ, **slow_git.env}
        async with relay(root, whole) as wire:
            await wire.initialize()
            uri = "dossier://checkout/summary.md"
            await wire.request(7, "resources/subscribe", uri=uri)
            await wire.answer(7)
            await wire.call(1, feature="checkout", level="light")
            await slow_git.entered()
            os.kill(first.pid, signal.SIGKILL)
            failed = (await wire.answer(1))["result"]
            assert failed["isError"]
            assert "Call again" in failed["content"][0]["text"]
            slow_git.let_go()
            with daemon(home, "--socket") as second:
                await wire.call(2, feature="checkout", level="light")
                assert (await wire.answer(2))["result"]["structuredContent"]["status"] == "ok"
                assert relays(second) == 1
            await wire.call(3, feature="checkout")
            assert (await wire.answer(3))["result"]["structuredContent"]["state"] == "cached"
            text = await said(wire)
            assert text.count("serving without the daemon") == 1


async def test_a_session_of_the_newer_protocol_goes_on_too(tmp_path: Path, root: Path) -> None:
    with daemon(tmp_path / "h", "--socket") as first:
        async with relay(root, first.environ) as wire:
            await wire.request(1, "tools/list", **MODERN)
            assert (await wire.answer(1))["result"]["tools"]
            os.kill(first.pid, signal.SIGKILL)
            given = {"name": "load_context", "arguments": {"feature": "checkout"}}
            await wire.request(2, "tools/call", **given, **MODERN)
            done = (await wire.answer(2))["result"]
            if done["isError"]:  # it was sent before the daemon's end was noticed
                assert "Call again" in done["content"][0]["text"]
                await wire.request(3, "tools/call", **given, **MODERN)
                done = (await wire.answer(3))["result"]
            assert done["structuredContent"]["status"] == "ok"


@pytest.mark.parametrize(
    "kind", ["none", "dead", "other version", "silent", "open to others", "another user's"]
)
async def test_without_a_daemon_that_serves_it_it_serves_itself_and_says_why(
    tmp_path: Path, root: Path, kind: str
) -> None:
    env = environ({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), **OFF})
    if kind == "another user's" and os.getuid():
        pytest.skip("only root can serve as another user")
    mode = 0o755 if kind == "open to others" else 0o700
    Path(paths.runtime_folder(env)).mkdir(mode)  # noqa: ASYNC240
    reasons = {
        "dead": "refused", "other version": "version 9", "silent": "not answered",
        "open to others": "open to others", "another user's": "belongs to another user",
    }  # fmt: skip
    with socket.socket(socket.AF_UNIX) as listening:
        if kind != "none":
            listening.bind(paths.lines_socket(env))
        if kind == "another user's":  # the kernel reports who listens
            os.seteuid(65534)
        if kind in {"other version", "silent", "another user's"}:
            listening.listen()
        os.seteuid(os.getuid())
        if kind == "other version":
            threading.Thread(target=refuse, args=(listening,), daemon=True).start()
        async with relay(root, env) as wire:
            await wire.initialize()
            await wire.call(1, feature="checkout")
            assert (await wire.answer(1))["result"]["structuredContent"]["status"] == "ok"
            text = await said(wire)
    expected = reasons.get(kind)
    assert text.count("serving without the daemon") == (expected is not None)
    assert (expected or "") in text


def refuse(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(100_000)
        connection.sendall(b"the daemon has version 9, not yours\n")
