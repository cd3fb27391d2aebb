"""Builds of the real server process as clients meet them: shared, promised, joined, cancelled."""

from collections import Counter
from contextlib import suppress

import anyio
import anyio.to_thread
import psutil
import pytest

from _mcp_process import BOUND, MODES, connect, left_behind, shop, wired

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path):
    return shop(tmp_path / "shop")


async def gone(process_id):
    """Wait until a process has ended."""
    with suppress(psutil.NoSuchProcess):
        await anyio.to_thread.run_sync(psutil.Process(process_id).wait, BOUND)


async def load(client, replies, **given):
    replies.append((await client.call_tool("load_context", given)).structured_content)


@pytest.mark.parametrize("mode", MODES)
async def test_twenty_calls_at_once_for_one_feature_are_one_build(project, mode):
    replies = []
    async with connect(project, mode) as client, anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(lambda: load(client, replies, feature="checkout"))
    states = Counter(reply["state"] for reply in replies)
    assert states["built"] == 1
    assert states["built"] + states["joined"] + states["cached"] == 20
    assert len({reply["dossier"] for reply in replies}) == 1


@pytest.mark.parametrize("mode", MODES)
async def test_a_hurried_client_gets_building_and_its_next_call_joins(project, slow_git, mode):
    replies = []
    async with connect(project, mode, slow_git.env | {"PREREAD_REPLY_WITHIN": "0.05"}) as client:
        await load(client, replies, feature="checkout")
        assert replies[0]["status"] == "building"
        assert replies[0]["next"].startswith(
            "Call again with the same arguments, `load_context with {"
        )
        assert await slow_git.entered()
        slow_git.let_go()
        while replies[-1]["status"] == "building":
            await load(client, replies, feature="checkout")
    assert replies[-1]["state"] in {"joined", "cached"}


@pytest.mark.parametrize("mode", MODES)
async def test_claude_code_waits_for_the_whole_build(project, slow_git, mode):
    replies = []
    env = slow_git.env | {"PREREAD_REPLY_WITHIN": "0.01"}
    async with (
        connect(project, mode, env, name="claude-code") as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(lambda: load(client, replies, feature="checkout"))
        await slow_git.entered()
        await load(client, other := [], feature="../x")  # the server is not blocked meanwhile
        assert other[0]["code"] == "E_FEATURE_NAME"
        assert not replies
        slow_git.let_go()
    assert replies[0]["state"] == "built"


@pytest.mark.parametrize("mode", MODES)
async def test_the_cancellation_of_one_of_two_callers_leaves_the_build_to_the_other(
    project, slow_git, mode
):
    replies, told = [], anyio.Event()

    async def second(client):
        async def tell(progress, total, message):
            told.set()

        reply = await client.call_tool(
            "load_context", {"feature": "checkout"}, progress_callback=tell
        )
        replies.append(reply.structured_content)

    async with connect(project, mode, slow_git.env) as client, anyio.create_task_group() as tasks:
        with anyio.CancelScope() as first:
            async with anyio.create_task_group() as inner:
                inner.start_soon(lambda: load(client, replies, feature="checkout"))
                await slow_git.entered()
                tasks.start_soon(second, client)
                await told.wait()
                first.cancel()
        slow_git.let_go()
    assert [reply["state"] for reply in replies] == ["joined"]
    assert left_behind(project, "checkout") == []


@pytest.mark.parametrize("mode", MODES)
async def test_the_cancellation_of_the_last_caller_ends_the_build_and_leaves_nothing(
    project, slow_git, mode
):
    replies = []
    async with connect(project, mode, slow_git.env) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: load(client, replies, feature="checkout"))
            child = await slow_git.entered()
            tasks.cancel_scope.cancel()
        await gone(child)
        slow_git.let_go()
        await load(client, replies, feature="checkout")
    assert [reply["state"] for reply in replies] == ["built"]
    assert left_behind(project, "checkout") == []


async def test_a_cancelled_call_is_not_answered_and_the_server_continues(project, slow_git):
    async with wired(project, slow_git.env) as wire:
        await wire.initialize()
        await wire.call(1, feature="checkout")
        child = await slow_git.entered()
        cancelled = {"requestId": 1, "reason": "enough"}
        await wire.send(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}
        )
        await gone(child)
        slow_git.let_go()
        await wire.call(2, feature="checkout")
        messages = []
        while not messages or messages[-1].get("id") != 2:
            messages.append(await wire.receive())
    assert not [message for message in messages if message.get("id") == 1]
    assert messages[-1]["result"]["structuredContent"]["state"] == "built"


async def test_another_feature_is_built_while_a_build_is_stuck(project, slow_git):
    async with wired(project, slow_git.env) as wire:
        await wire.initialize()
        await wire.call(1, feature="checkout")
        await slow_git.entered()
        cart = {
            "name": "load_context",
            "arguments": {"feature": "cart"},
            "_meta": {"progressToken": "cart"},
        }
        await wire.request(2, "tools/call", **cart)
        assert (await wire.receive())["params"]["progressToken"] == "cart"
        slow_git.let_go()
        answers = [await wire.receive_result(), await wire.receive_result()]
    assert {reply["structuredContent"]["state"] for reply in answers} == {"built"}


async def test_two_servers_of_one_project_share_one_build(project, slow_git):
    async with wired(project, slow_git.env) as one, wired(project) as two:
        for wire in (one, two):
            await wire.initialize()
        await one.call(1, feature="checkout")
        await slow_git.entered()
        await two.call(1, feature="checkout")
        slow_git.let_go()
        states = [
            (await wire.answer(1))["result"]["structuredContent"]["state"] for wire in (one, two)
        ]
    assert states[0] == "built"
    assert states[1] in {"joined", "cached"}
