"""The server exits at once and leaves nothing: at end of input, at signals, idle or building."""

import json
import os
import signal
import time
from contextlib import asynccontextmanager

import anyio
import psutil
import pytest

from _mcp_process import BOUND, MODERN, left_behind, shop, wired
from preread.mcp.transport import ANSWER_SECONDS

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX signals and named pipes"),
]
AT_ONCE = 0.5  # seconds after the first signal Claude Code kills


@pytest.fixture
def project(tmp_path):
    return shop(tmp_path / "shop")


@asynccontextmanager
async def in_mid_build(project, slow_git):
    """A server with a build under way, which waits for its git; with the process id of that."""
    async with wired(project, slow_git.env, anew=True) as wire:
        await wire.initialize()
        await wire.call(1, feature="checkout")
        child = await slow_git.entered()
        assert left_behind(project, "checkout") == ["hint", "lock"]
        yield wire, child


@asynccontextmanager
async def unheard_in_mid_build(project, slow_git):
    """The same with a client that no longer reads."""
    read, write = os.pipe()
    async with wired(project, slow_git.env, stdout=write, anew=True) as wire:
        os.close(write)
        client = {"name": "a-client", "version": "1"}
        await wire.request(
            0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client
        )
        await wire.call(1, feature="checkout")
        child = await slow_git.entered()
        os.close(read)
        yield wire, child


async def ended_at_once(wire):
    begun = time.monotonic()
    status = await wire.ended()
    assert time.monotonic() - begun < AT_ONCE
    return status


async def test_the_slow_git_waits_until_it_is_let_go_and_is_git_then(project, slow_git):
    head = ["git", "rev-parse", "HEAD"]
    with anyio.fail_after(BOUND):
        async with await anyio.open_process(head, cwd=project, env=slow_git.env) as first:
            assert await slow_git.entered() == first.pid
            assert first.returncode is None
            slow_git.let_go()
            assert len(await first.stdout.receive()) == 41
        second = await anyio.run_process(head, cwd=project, env=slow_git.env)
    assert len(second.stdout) == 41


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_an_idle_server_at_once(project, number):
    async with wired(project, anew=True) as wire:
        await wire.initialize()
        wire.process.send_signal(number)
        assert await ended_at_once(wire) == 128 + number


async def test_the_end_of_input_ends_an_idle_server_at_once(project):
    async with wired(project, anew=True) as wire:
        await wire.initialize()
        await wire.process.stdin.aclose()
        assert await ended_at_once(wire) == 0


async def test_the_end_of_input_before_any_message_ends_the_server(project):
    async with wired(project, anew=True) as wire:
        await wire.process.stdin.aclose()
        assert await wire.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_in_mid_build_ends_all_of_it_at_once_and_leaves_nothing(
    project, slow_git, number
):
    async with in_mid_build(project, slow_git) as (wire, child):
        wire.process.send_signal(number)
        assert await ended_at_once(wire) == 128 + number
        assert not psutil.pid_exists(child)
    assert left_behind(project, "checkout") == []


async def test_the_first_of_two_signals_decides_the_status(project, slow_git):
    async with in_mid_build(project, slow_git) as (wire, child):
        wire.process.send_signal(signal.SIGINT)
        wire.process.send_signal(signal.SIGTERM)
        assert await ended_at_once(wire) in {128 + signal.SIGINT, 128 + signal.SIGTERM}
        assert not psutil.pid_exists(child)
    assert left_behind(project, "checkout") == []


async def test_the_end_of_a_client_in_mid_build_ends_all_of_it_at_once_and_leaves_nothing(
    project, slow_git
):
    async with unheard_in_mid_build(project, slow_git) as (wire, child):
        begun = time.monotonic()
        await wire.process.stdin.aclose()
        assert await wire.process.wait() == 0
        assert time.monotonic() - begun < AT_ONCE
        assert not psutil.pid_exists(child)
    assert left_behind(project, "checkout") == []


async def test_the_end_of_input_in_mid_build_ends_it_soon_with_an_answer(project, slow_git):
    async with in_mid_build(project, slow_git) as (wire, child):
        begun = time.monotonic()
        await wire.process.stdin.aclose()
        answer = await wire.answer(1)
        assert answer["result"]["structuredContent"]["code"] == "E_CANCELLED"
        assert await wire.ended() == 0
        assert time.monotonic() - begun < ANSWER_SECONDS + 2 * AT_ONCE
        assert not psutil.pid_exists(child)
    assert left_behind(project, "checkout") == []


@pytest.mark.parametrize("era", ["initialize", "server/discover"])
async def test_requests_before_the_end_of_input_are_all_answered(project, era):
    shared = {} if era == "initialize" else MODERN
    first = MODERN
    if era == "initialize":
        who = {"name": "a-client", "version": "1"}
        first = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who}
    call = {"name": "context_operation", "arguments": {"method": "context.status"}}
    requests = [(era, first), ("tools/list", shared), *[("tools/call", call | shared)] * 20]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(requests)
    ]
    lines.insert(5, "no JSON")
    async with wired(project, anew=True) as wire:
        await wire.send("".join(f"{line}\n" for line in lines).encode())
        await wire.process.stdin.aclose()
        out = b"".join([chunk async for chunk in wire.process.stdout])
        assert await wire.process.wait() == 0
    answers = [json.loads(line) for line in out.splitlines()]
    assert [a["id"] for a in answers if "error" in a] == [None]
    assert {a["id"] for a in answers} == {None, *range(len(requests))}


async def test_a_build_that_replied_building_ends_with_the_server_too(project, slow_git):
    slow_git.env["PREREAD_REPLY_WITHIN"] = "0.01"
    async with in_mid_build(project, slow_git) as (wire, child):
        assert (await wire.answer(1))["result"]["structuredContent"]["status"] == "building"
        wire.process.send_signal(signal.SIGTERM)
        assert await ended_at_once(wire) == 128 + signal.SIGTERM
        assert not psutil.pid_exists(child)
    assert left_behind(project, "checkout") == []


async def test_a_client_that_stops_reading_and_disconnects_ends_the_server(project, slow_git):
    async with unheard_in_mid_build(project, slow_git) as (wire, child):
        await wire.request(2, "tools/list")
        assert await wire.process.wait() == 0
        assert not psutil.pid_exists(child)
    assert left_behind(project, "checkout") == []


async def test_after_a_kill_in_mid_build_the_next_server_builds(project, slow_git):
    async with in_mid_build(project, slow_git) as (wire, _):
        wire.process.kill()
        await wire.process.wait()
    slow_git.let_go()
    async with wired(project) as wire:
        await wire.initialize()
        await wire.call(1, feature="checkout")
        assert (await wire.answer(1))["result"]["structuredContent"]["state"] == "built"
    assert left_behind(project, "checkout") == []
