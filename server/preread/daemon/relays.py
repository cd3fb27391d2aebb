"""The daemon's side of relays: each connection is one client that speaks MCP in lines."""

import asyncio
import os
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from preread import __version__
from preread.builds.jobs import Jobs
from preread.daemon.paths import peer_of
from preread.daemon.projects import FolderRunner
from preread.daemon.serving import Serving
from preread.errors import PrereadError
from preread.mcp import lines
from preread.mcp.server import Handlers, recover
from preread.mcp.transport import MAX_LINE
from preread.records import sessions

HELLO_SECONDS, MAX_HELLO = 5.0, 2**21
MAX_RELAYS = 300


@dataclass(frozen=True)
class Hello:
    """A relay's first line: its version, project folder and environment."""

    version: str
    folder: str
    environ: Mapping[str, str]


async def listen(serving: Serving, socket_: socket.socket) -> asyncio.Server:
    """Serve the relays that connect to a Unix socket."""

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.relays += 1
        try:
            with suppress(OSError, EOFError, TimeoutError):
                await _serve(serving, reader, writer)
        finally:
            serving.relays -= 1
            writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.tasks.start_soon(client, reader, writer)

    return await asyncio.start_unix_server(connected, sock=socket_, limit=MAX_LINE)


async def _serve(
    serving: Serving, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    uid, pid = peer_of(writer.get_extra_info("socket"))
    if uid != os.getuid():
        return
    with anyio.fail_after(HELLO_SECONDS):
        hello = await _hello(reader)
    if refusal := _refusal(serving, hello):
        writer.write(f"{refusal}\n".encode())
        await writer.drain()
        return
    writer.write(b"ok\n")
    sessions.CALLER.set(sessions.Identity(name="mcp", pid=pid or os.getpid()))
    folder = Path(hello.folder)
    handlers = Handlers(folder, hello.environ, FolderRunner(serving.projects, folder))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_attend, serving, handlers)
        await lines.serve(reader, writer, handlers)
        tasks.cancel_scope.cancel()


async def _attend(serving: Serving, handlers: Handlers) -> None:
    """Recover killed builds, then tell the client of changed dossiers, until cancelled."""

    async def recovered(_jobs: Jobs) -> None:
        await recover(handlers.start, handlers.environ)

    with suppress(PrereadError):  # calls will report the error
        namespace = await serving.projects.around(handlers.start)
        await namespace.loop.run(recovered)
        await serving.tell_subscribers(namespace, handlers)


async def _hello(reader: asyncio.StreamReader) -> Hello:
    """Read a relay's hello. Raises EOFError if there is none."""
    (size,) = struct.unpack("!I", await reader.readexactly(4))
    if size > MAX_HELLO:
        raise EOFError
    version, nul, rest = os.fsdecode(await reader.readexactly(size)).partition("\0")
    if not nul:
        raise EOFError
    folder, *variables = rest.split("\0")
    pairs = (each.partition("=") for each in variables if "=" in each)
    return Hello(version, folder, {name: value for name, _, value in pairs})


def _refusal(serving: Serving, hello: Hello) -> str:
    if hello.version != __version__:
        return f"the daemon has version {__version__}, not {hello.version}"
    if not Path(hello.folder).is_absolute():
        return "the folder is not absolute"
    return "the daemon has too many clients" if serving.relays > MAX_RELAYS else ""
