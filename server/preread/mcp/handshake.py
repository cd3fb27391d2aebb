"""Finds a connection's protocol era when a client probes for the newer one and falls back.

The SDK's server settles on an era at the first request. A client sends `server/discover` first, and
`initialize` if that is not answered in time (Claude Code: after 2.5 s). A server that was slow to
start reads both at once, and has to follow the second.
"""

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import NotificationOptions, Server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from preread.mcp.transport import Streams

Item = SessionMessage | Exception
PROBE, FALLBACK = "server/discover", "initialize"


async def run(server: Server, streams: Streams) -> None:
    """Serve one client. An `initialize` that follows only probes starts the connection again."""
    opening: Item | None = None
    async with streams.read, streams.write:
        while True:
            feed, read = anyio.create_memory_object_stream[Item]()
            changes = NotificationOptions(resources_changed=True)
            options = server.create_initialization_options(changes)
            async with anyio.create_task_group() as tasks, feed:
                tasks.start_soon(server.run, read, streams.write.clone(), options)
                opening = await _feed(streams.read, feed, opening)
            if opening is None:
                return


async def _feed(
    source: MemoryObjectReceiveStream[Item],
    feed: MemoryObjectSendStream[Item],
    opening: Item | None,
) -> Item | None:
    """Pass messages on until the input ends, or until one has to start a new connection.

    Returns that message, if any.
    """
    if opening is not None:
        await feed.send(opening)
    only_probes = opening is None
    probed = False
    async for item in source:
        method = _requested(item)
        if only_probes and probed and method == FALLBACK:
            return item
        probed = probed or method == PROBE
        only_probes = only_probes and method in ("", PROBE)
        await feed.send(item)
    return None


def _requested(item: Item) -> str:
    """The method of a request; empty for anything else."""
    message = item.message if isinstance(item, SessionMessage) else None
    return message.method if isinstance(message, JSONRPCRequest) else ""
