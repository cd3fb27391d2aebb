"""MCP over streamable HTTP, in both eras, for one project and clients with the same rights."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from preread.mcp.server import Handlers

IDLE_SECONDS, MAX_SESSIONS = 1800.0, 200
TICK = 10.0
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


class Endpoint:
    """An MCP endpoint; Host, Origin and token are already checked."""

    def __init__(self, handlers: Handlers) -> None:
        self.handlers = handlers
        self._open, self._used = 0, time.monotonic()  # requests, and when the last one ended
        self._sessions = StreamableHTTPSessionManager(
            handlers.server(), session_idle_timeout=IDLE_SECONDS, max_sessions=MAX_SESSIONS
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._sessions.run():
            yield

    async def unused(self) -> None:
        """Return when it has had no request for so long that no session is left."""
        while self._open or time.monotonic() - self._used <= IDLE_SECONDS:  # noqa: ASYNC110
            await anyio.sleep(TICK)  # time sets no event

    def for_client(self, name: str) -> App:
        """The app for one client: a session can be used only by the client that started it."""
        user = AuthenticatedUser(AccessToken(token=name, client_id=name, scopes=[]))

        async def app(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
            scope["user"] = user
            self._open += 1
            try:
                await self._sessions.handle_request(scope, receive, send)
            finally:
                self._open, self._used = self._open - 1, time.monotonic()

        return app
