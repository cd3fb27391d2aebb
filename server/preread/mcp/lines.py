"""MCP as lines over a connection to the daemon, like stdio for a separate process."""

import asyncio
from contextlib import suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError

from preread.mcp import handshake
from preread.mcp.server import Handlers
from preread.mcp.transport import (
    ANSWER_SECONDS,
    POLL_SECONDS,
    Streams,
    Unanswered,
    parse,
    written,
)

STALLED_SECONDS = 60.0  # a client may leave its replies unread for so long


async def serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handlers: Handlers
) -> None:
    """Serve one client until it closes its input and has its replies, or disconnects."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
    write, outgoing = anyio.create_memory_object_stream[SessionMessage]()
    unanswered = Unanswered()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, reader, incoming, write.clone(), unanswered)
        tasks.start_soon(_write, writer, outgoing, unanswered, tasks.cancel_scope)
        await handshake.run(handlers.server(), Streams(read, write))
        tasks.cancel_scope.cancel()


async def _read(
    reader: asyncio.StreamReader,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    answers: MemoryObjectSendStream[SessionMessage],
    unanswered: Unanswered,
) -> None:
    async with incoming, answers:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            while (line := await _line(reader)) != b"":
                if line is not None and not line.strip():
                    continue
                found = parse(line)
                if isinstance(found, JSONRPCError):
                    unanswered.read(found)
                    await answers.send(SessionMessage(found))
                else:
                    unanswered.read(found.message)
                    await incoming.send(found)
        with anyio.move_on_after(ANSWER_SECONDS):
            while unanswered:  # noqa: ASYNC110 - two seconds at most
                await anyio.sleep(POLL_SECONDS)


async def _line(reader: asyncio.StreamReader) -> bytes | None:
    """The next line; None for one that is too long, empty at the end of input."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError:  # an unfinished line is ignored
        return b""
    except asyncio.LimitOverrunError:
        pass
    while True:  # to the end of that line
        try:
            await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError as error:
            await reader.readexactly(max(1, error.consumed))
        except asyncio.IncompleteReadError:
            return b""
        else:
            return None


async def _write(
    writer: asyncio.StreamWriter,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    unanswered: Unanswered,
    scope: anyio.CancelScope,
) -> None:
    """Write replies until the client disconnects or stops reading, which ends the connection."""
    try:
        async with outgoing:
            async for item in outgoing:
                writer.write(written(item.message))
                with anyio.fail_after(STALLED_SECONDS):
                    await writer.drain()
                unanswered.written(item.message)
    except (OSError, TimeoutError):
        scope.cancel()
