"""The real server process for tests, driven by the SDK's client or line by line; a slow git."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from filelock import FileLock
from mcp import Client, StdioServerParameters
from mcp_types import Implementation

from _loaded import read_at_start
from conftest import DERIVED, SHOP, child_environ, loaded
from preread.layout import Layout

MODES = ("legacy", "2026-07-28", "auto")
# What each request of the newer protocol has.
MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2.1.329"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}
BOUND = 30  # seconds for what takes one or two; the machine may be busy
REAL_GIT = shutil.which("git")


def environ(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Nothing of the person who runs the tests; also for fixtures that outlive one test."""
    foreign = ("PREREAD_", "CLAUDE", "ANTHROPIC_", "GIT_", "XDG_")
    ours = {
        k: v
        for k, v in child_environ().items()
        if k == "PREREAD_TEST_WRITES" or not k.startswith(foreign)
    }
    return ours | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"} | dict(extra or {})


def shop(folder: Path) -> Path:
    """The example shop as a git repository."""
    shutil.copytree(SHOP, folder, ignore=DERIVED)
    who = ["-c", "user.name=Test Person", "-c", "user.email=test@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "All of it"]):
        subprocess.run([REAL_GIT, *arguments], cwd=folder, check=True, env=environ())
    return folder


def arguments(project: Path | None) -> list[str]:
    return ["-m", "preread", "mcp", *(["--project", str(project)] if project else [])]


def command(arguments: list[str], environ: Mapping[str, str]) -> list[str]:
    """A program that runs `python` with these arguments, forked if possible (_loaded)."""
    if arguments[:2] == ["-m", "preread"] and read_at_start(environ) == loaded().environ:
        return loaded().program(arguments[2:])
    return [sys.executable, *arguments]


class Person:
    """Who answers the questions of a client, always with the same."""

    def __init__(self, answer) -> None:
        self.asked: list[str] = []
        self.answer = answer

    async def __call__(self, _context, params):
        self.asked.append(params.message)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def connect(
    project: Path | None, mode="legacy", env=None, name="a-client", cwd=None, program=None,
    person=None, patience=BOUND,
) -> Client:  # fmt: skip
    """The SDK's client of a real server process; to be entered. `person` answers its questions.

    `patience` is in seconds, for each of its requests.
    """
    whole = environ(env)
    first, *more = command(program or arguments(project), whole)
    server = StdioServerParameters(command=first, args=more, env=whole, cwd=cwd)
    return Client(
        server,
        mode=mode,
        client_info=Implementation(name=name, version="1"),
        read_timeout_seconds=patience,
        elicitation_callback=person,
    )


class Wire:
    """One server process and its pipes, message by message."""

    def __init__(self, process) -> None:
        self.process = process
        self._held = b""

    async def send(self, message) -> None:
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        await self.process.stdin.send(data)

    async def receive(self):
        """The next message; every line of the server is one, or this fails."""
        while b"\n" not in self._held:
            try:
                self._held += await self.process.stdout.receive()
            except anyio.EndOfStream:
                pytest.fail(f"the server ended with status {await self.process.wait()}")
        line, _, self._held = self._held.partition(b"\n")
        return json.loads(line)

    async def answer(self, number):
        """The answer to a request; what else comes before it is passed over."""
        while True:
            message = await self.receive()
            if message.get("id") == number and "method" not in message:
                return message

    async def receive_result(self):
        """The next result, of whichever request."""
        while "result" not in (message := await self.receive()):
            assert "error" not in message, message
        return message["result"]

    async def request(self, number, method, **params):
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    async def call(self, number, **given):
        await self.request(number, "tools/call", name="load_context", arguments=given)

    async def initialize(self):
        client = {"name": "a-client", "version": "1"}
        await self.request(
            0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client
        )
        found = await self.answer(0)
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return found

    async def ended(self) -> int:
        """The exit status; also sees that nothing but whole messages came before it."""
        rest = self._held
        try:
            while True:
                rest += await self.process.stdout.receive()
        except anyio.EndOfStream:
            pass
        for line in rest.split(b"\n"):
            assert not line or json.loads(line)["jsonrpc"] == "2.0"
        return await self.process.wait()


@asynccontextmanager
async def wired(project: Path, env=None, stdout=subprocess.PIPE, *, anew: bool = False):
    """A server process on the test's pipes, killed at the end; `anew` starts a new interpreter."""
    whole = environ(env)
    program = [sys.executable, *arguments(project)] if anew else command(arguments(project), whole)
    process = await anyio.open_process(program, env=whole, stdout=stdout, stderr=None, cwd=project)
    try:
        with anyio.fail_after(BOUND):
            yield Wire(process)
    finally:
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()


class SlowGit:
    """A `git` that reports its process id and waits to be released: a real build, but slow."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._open = folder / "open"
        self._pipes, self._waiting = [], []
        for name in ("entered", "go"):
            os.mkfifo(folder / name)
            self._pipes.append(os.open(folder / name, os.O_RDWR | os.O_NONBLOCK))
        script = folder / "bin" / "git"
        script.parent.mkdir()
        script.write_text(
            f"#!/bin/sh\ncd_to='{folder}'\n"
            'if [ ! -e "$cd_to/open" ]; then echo $$ > "$cd_to/entered"; read -r _ < "$cd_to/go"; '
            "fi\n"
            f'exec {REAL_GIT} "$@"\n'
        )
        script.chmod(0o755)
        self.env = {"PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}

    async def entered(self) -> int:
        """Wait until a git waits; its process id."""
        while not self._waiting:
            await anyio.wait_readable(self._pipes[0])
            self._waiting += os.read(self._pipes[0], 4096).split()
        return int(self._waiting.pop(0))

    def let_go(self) -> None:
        """Let the waiting one go on, and every later one pass."""
        self._open.touch()
        os.write(self._pipes[1], b"\n" * 64)

    def close(self) -> None:
        self.let_go()
        for pipe in self._pipes:
            os.close(pipe)


def remains(project: Path, feature: str) -> list[str]:
    """The files that an ended build left: staged drafts, the hint for the gates."""
    layout = Layout(project.resolve())
    found = [path.name for path in layout.staging.glob("*")] if layout.staging.is_dir() else []
    return found + (["hint"] if layout.building(feature).exists() else [])


def left_behind(project: Path, feature: str) -> list[str]:
    """What an ended build left behind: files, a held lock.

    Whoever looks at the lock holds it for a moment, and recovery skips a held one: what waits for
    looks at what `remains` first.
    """
    layout, found = Layout(project.resolve()), remains(project, feature)
    lock = FileLock(layout.lock(feature))
    try:
        lock.acquire(timeout=0)
        lock.release()
    except TimeoutError:
        found.append("lock")
    return found
