"""One body for every face: states by the command line, in process, over MCP of both eras, and to a
daemon.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from _daemon import shared, shared_token
from _mcp_process import connect
from conftest import run_cli
from preread.builds.jobs import Caller, Jobs
from preread.client import AsyncClient
from preread.operations import REGISTRY, shared_state, states
from preread.operations.registry import Context

State = dict[str, Any]
Call = Callable[[State], Awaitable[State]]
FACES = ("in process", "command line", "legacy", "2026-07-28", "http", "socket", "websocket")
ENVIRON = {"PREREAD_CLAUDE": "off"}
BY_DAEMON = ("http", "socket", "websocket")


def by_daemon(kind: Any, name: str, root: Path) -> Any:
    """A client of the tests' daemon for the project at `root`."""
    running = shared()
    if name == "socket":
        return kind.over_socket(root, environ=running.environ)
    running.allow(root)
    over = kind.over_websocket if name == "websocket" else kind.over_http
    return over(running.url, shared_token(), namespace=str(root))


async def _ignore(message: str, done: float, total: float) -> None:
    """Nobody waits for progress here."""


async def answer(
    root: Path, given: Any, operations=REGISTRY, by: str = "person", ask=None,
    environ: Mapping[str, str] = ENVIRON, report=_ignore, within: float = 120, times_out: bool = False,
) -> State:  # fmt: skip
    """The state as it comes back from this process."""
    with anyio.fail_after(within):  # by default, a load on a busy machine
        async with Jobs() as jobs:
            context = Context(root, environ, jobs, Caller(None, report, times_out, ask), by=by)
            return states.dump(await shared_state.perform(operations, context, given, "a test"))


@asynccontextmanager
async def face(name: str, root: Path) -> AsyncIterator[Call]:
    """Runs states through one of FACES on the project at `root`."""
    if name == "in process":
        yield lambda state: answer(root, state)
    elif name == "command line":

        async def by_command(state: State) -> State:
            done: State = run_cli("call", "-", cwd=root, input=json.dumps(state)).json
            return done

        yield by_command
    elif name in BY_DAEMON:
        async with by_daemon(AsyncClient, name, root) as client:
            yield client.send
    else:
        async with connect(root, name, ENVIRON) as client:

            async def by_tool(state: State) -> State:
                reply = await client.call_tool("context_operation", state)
                done = dict(reply.structured_content)
                assert not reply.is_error or "error" in done
                return done

            yield by_tool
