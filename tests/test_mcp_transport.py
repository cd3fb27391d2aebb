"""The transport: malformed, hostile and huge input over real pipes; only messages on stdout."""

import json
import os
import re
import sys

import anyio
import pytest

from _half_pairs import HALF, spellings, with_half_pairs
from _mcp_process import BOUND, connect, environ, shop, wired
from preread.mcp import transport

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path):
    return shop(tmp_path / "shop")


DEEP = b"[" * 100_000
GARBLED = [
    (b"garbage\n", -32700, None),
    (b"\xff\xfe\x00\n", -32700, None),
    (b'{"jsonrpc": "2.0", "id": 5, "method": \n', -32700, None),
    (DEEP + b"\n", -32700, None),
    (b"[]\n", -32600, None),
    (b'"text"\n', -32600, None),
    (b"null\n", -32600, None),
    (b'{"id": 5, "method": "ping"}\n', -32600, 5),
    (b'{"jsonrpc": "1.0", "id": "x", "method": "ping"}\n', -32600, "x"),
    (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}\n', -32600, None),
    (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}\n', -32600, None),
    (b'{"jsonrpc": "2.0", "id": 6, "method": "ping", "params": [1]}\n', -32600, 6),
    (
        b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "\\ud800"}}\n',
        -32600,
        7,
    ),
]


async def test_every_garbled_line_is_answered_and_the_next_request_too(project):
    async with wired(project) as wire:
        await wire.initialize()
        for line, code, number in GARBLED:
            await wire.send(line)
            answer = await wire.receive()
            assert (answer["error"]["code"], answer["id"]) == (code, number), line[:80]
        await wire.send(b"\n  \n")
        await wire.request(99, "ping")
        assert await wire.receive() == {"jsonrpc": "2.0", "id": 99, "result": {}}


async def test_garbage_before_the_first_message_does_no_harm(project):
    async with wired(project) as wire:
        await wire.send(b"GET / HTTP/1.1\r\n")
        assert (await wire.receive())["error"]["code"] == -32700
        assert (await wire.initialize())["result"]["serverInfo"]["name"] == "preread"


async def test_a_line_that_is_too_long_is_refused_and_not_kept_in_memory(project):
    async with wired(project) as wire:
        await wire.initialize()
        for _ in range(3 * transport.MAX_LINE // 2**20):
            await wire.send(b"x" * 2**20)
        await wire.send(b"\n")
        answer = await wire.receive()
        assert (answer["error"]["code"], answer["id"]) == (-32600, None)
        assert str(transport.MAX_LINE) in answer["error"]["message"]
        await wire.request(1, "ping")
        assert (await wire.receive())["id"] == 1


async def test_a_message_may_arrive_in_pieces_and_several_at_once(project):
    async with wired(project) as wire:
        await wire.initialize()
        data = b"".join(
            json.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"}).encode() + b"\r\n"
            for n in (1, 2, 3)
        )
        for start in range(0, len(data), 7):
            await wire.send(data[start : start + 7])
        assert sorted([(await wire.receive())["id"] for _ in range(3)]) == [1, 2, 3]


@pytest.mark.parametrize("half", HALF)
async def test_half_a_surrogate_pair_anywhere_never_ends_the_server(project, half):
    async with wired(project) as wire:
        await wire.initialize()
        for number, message in enumerate(with_half_pairs(half)):
            for line in spellings(message):
                await wire.send(line)
                await wire.request(f"ping {number}", "ping")
                assert (await wire.answer(f"ping {number}"))["result"] == {}, line


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are Unicode")
async def test_a_project_whose_name_is_no_text_is_served(tmp_path):
    folder = shop(tmp_path / os.fsdecode(b"caf\xe9"))
    async with wired(folder) as wire:
        await wire.initialize()
        await wire.request(
            1, "tools/call", name="context_operation", arguments={"method": "context.status"}
        )
        root = (await wire.answer(1))["result"]["structuredContent"]["result"]["root"]
        # A long path is fenced, since its names can say as much as a sentence.
        assert re.sub(r"</?data-[0-9a-f]{12}>", "", root).endswith("/caf?")


UNSERVED = [
    ("no/such/method", {}, -32601),
    ("tools/call", {}, -32602),
    ("tools/call", {"name": "load_context", "arguments": "text"}, -32602),
    ("tools/call", {"name": ["load_context"]}, -32602),
    ("resources/read", {}, -32602),
    ("completion/complete", {"ref": {"type": "ref/none"}}, -32602),
    ("prompts/get", {"name": "load"}, -32602),
]


async def test_a_request_that_cannot_be_served_is_an_error(project):
    async with wired(project) as wire:
        await wire.initialize()
        for number, (method, params, code) in enumerate(UNSERVED):
            await wire.request(f"{number}", method, **params)
            assert (await wire.answer(f"{number}"))["error"]["code"] == code, method
            await wire.request(f"ping {number}", "ping")
            assert (await wire.answer(f"ping {number}"))["result"] == {}, method


async def test_hostile_arguments_are_refused_by_name_and_nothing_is_made(project):
    names = ["$(touch pwned)", "`id`", "../../x", "a\x00b", "x" * 100_000, "con", "ünïcode"]
    names += ["", " ", "-", "\n", "🦊"]
    async with wired(project) as wire:
        await wire.initialize()
        before = sorted(path.name for path in project.rglob("*") if ".git" not in path.parts)
        for number, name in enumerate(names, 1):
            await wire.call(number, feature=name)
            result = (await wire.answer(number))["result"]
            assert result["isError"], name
            assert result["structuredContent"]["code"] == "E_FEATURE_NAME", name
            assert len(result["content"][0]["text"]) < 1000
        after = sorted(path.name for path in project.rglob("*") if ".git" not in path.parts)
    assert before == after


NOISY = """
import os, subprocess, sys
from pathlib import Path
print("before")
from preread.mcp import serve_stdio, tools
succeeded = tools.succeeded
def noisy(reply):
    print("a stray print", flush=True)
    sys.__stdout__.write("another"); sys.__stdout__.flush()
    os.write(1, b"and one past Python\\n")
    code = "import sys; print(repr(sys.stdin.read()) + ' from a child')"
    subprocess.run([sys.executable, "-c", code])
    return succeeded(reply)
tools.succeeded = noisy
serve_stdio(Path(sys.argv[1]), os.environ)
"""


async def test_stray_output_goes_to_standard_error_and_children_get_no_input(
    project,
):
    process = await anyio.open_process(
        [sys.executable, "-c", NOISY.replace('print("before")', ""), str(project)], env=environ()
    )
    with anyio.fail_after(BOUND):
        async with process:
            first = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "x", "version": "1"},
            }
            call = {"name": "context_operation", "arguments": {"method": "context.status"}}
            for number, (method, params) in enumerate(
                (("initialize", first), ("tools/call", call))
            ):
                request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                await process.stdin.send(json.dumps(request).encode() + b"\n")
            out = b""
            while out.count(b"\n") < 2:
                out += await process.stdout.receive()
            await process.stdin.aclose()
            err = b""
            async for chunk in process.stderr:
                err += chunk
            async for chunk in process.stdout:
                out += chunk
    assert {json.loads(line)["id"] for line in out.splitlines()} == {0, 1}
    for stray in (b"a stray print", b"another", b"and one past Python", b"'' from a child"):
        assert stray in err


@pytest.mark.parametrize("way", ["argument", "environment", "working directory"])
async def test_the_project_is_found_by_argument_then_environment_then_working_directory(
    tmp_path, way
):
    folders = {
        name: tmp_path / name.replace(" ", "-")
        for name in ("argument", "environment", "working directory")
    }
    for folder in folders.values():
        (folder / ".git").mkdir(parents=True)
        (folder / "deeper").mkdir()
    env = (
        {}
        if way == "working directory"
        else {"CLAUDE_PROJECT_DIR": str(folders["environment"] / "deeper")}
    )
    argument = folders["argument"] / "deeper" if way == "argument" else None
    async with connect(argument, env=env, cwd=folders["working directory"] / "deeper") as client:
        reply = await client.call_tool("load_context", {"feature": "login"})
        assert not reply.is_error, reply.content
    for name, folder in folders.items():
        assert (folder / ".project").exists() == (name == way)


async def test_a_missing_project_is_an_error_of_the_call_and_the_server_continues(
    tmp_path,
):
    async with connect(tmp_path / "nowhere") as client:
        reply = await client.call_tool("load_context", {"feature": "login"})
        assert reply.content[0].text.startswith("E_PROJECT_DIR: ")
        (tmp_path / "nowhere").mkdir()
        assert not (await client.call_tool("load_context", {"feature": "login"})).is_error


def test_lines_are_read_whole_whatever_the_chunks():
    read, write = os.pipe()
    os.write(write, b"one\n\ntwo\r\nthree")
    os.close(write)
    try:
        assert list(transport.lines(read)) == [b"one", b"", b"two\r"]
    finally:
        os.close(read)
