"""Notifies clients when dossiers change or become stale: a watcher and its subscribers."""

import asyncio
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from mcp.server import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams

from preread.errors import PrereadError
from preread.mcp import resources
from preread.operations.dispatch import expected
from preread.operations.registry import services_of

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

    from preread.builds.watching import News

Call = ServerRequestContext[Any, Any]
START_SECONDS = 2.0  # delay, because a starting client has more urgent things to wait for
QUEUE, MAX_SESSIONS = 100, 1000
SESSION_HEADER = "mcp-session-id"


class Subscribed(NamedTuple):
    """One client's latest session, and the URIs that it subscribed to."""

    session: "ServerSession"
    uris: set[str]


class Subscribers:
    """Clients' subscriptions: URIs of a session, or streams of the newer protocol."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        # By the session's id; the client of a stdio server has none.
        self._sessions: dict[str, Subscribed] = {}

    def heard_from(self, call: Call) -> "Subscribed":
        """Remember a client, to notify it when the list of resources changes."""
        ident = call.request.headers.get(SESSION_HEADER, "") if call.request else ""
        known = self._sessions.pop(ident, None)
        if len(self._sessions) >= MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        found = self._sessions[ident] = Subscribed(call.session, known.uris if known else set())
        return found

    def subscribe(self, call: Call, params: SubscribeRequestParams) -> EmptyResult:
        self.heard_from(call).uris.add(str(params.uri))
        return EmptyResult()

    async def unsubscribe(self, call: Call, params: UnsubscribeRequestParams) -> EmptyResult:
        self.heard_from(call).uris.discard(str(params.uri))
        return EmptyResult()

    async def tell(self, news: "News") -> None:
        """Notify the clients of files that changed, were published or were removed."""
        for uri in resources.changed(news):
            await self.bus.publish(ResourceUpdated(uri))
            for one in tuple(self._sessions.values()):
                if uri in one.uris:
                    await one.session.send_resource_updated(uri)
        if resources.is_list_changed(news):
            await self.bus.publish(ResourcesListChanged())
            for one in tuple(self._sessions.values()):
                await one.session.send_resource_list_changed()


async def watch(start: Path, environ: Mapping[str, str], subscribers: Subscribers) -> None:
    """Watch the project until cancelled, if the settings allow it."""
    await anyio.sleep(START_SECONDS)
    try:
        if not services_of(start, environ).settings.watch:
            return
    except PrereadError:  # calls will report the error
        return
    from preread.builds.watching import Watcher

    loop = asyncio.get_running_loop()
    send, receive = anyio.create_memory_object_stream["News"](QUEUE)

    def tell(news: "News") -> None:
        loop.call_soon_threadsafe(send.send_nowait, news)

    watcher = Watcher(
        lambda: services_of(start, environ), tell, _say,
        expected=partial(expected, start, "watch"), refreshes=True,
    )  # fmt: skip
    # A daemon, so that the process never waits for it.
    threading.Thread(target=watcher.run, name="watch", daemon=True).start()
    try:
        async for news in receive:
            await subscribers.tell(news)
    finally:
        watcher.stop.set()


def _say(text: str) -> None:
    with suppress(OSError, ValueError):  # nobody reads it any more
        sys.stderr.write(f"preread: {text}\n")
