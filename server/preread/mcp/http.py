"""MCP over streamable HTTP, in both eras, for one project and clients with the same rights."""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from preread.mcp.server import Handlers

IDLE_SECONDS, MAX_SESSIONS = 1800.0, 200
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


class Endpoint:
    """An MCP endpoint; Host, Origin and token are already checked."""

    def __init__(self, handlers: Handlers) -> None:
        self.handlers = handlers
        self._sessions = StreamableHTTPSessionManager(
            handlers.server(), session_idle_timeout=IDLE_SECONDS, max_sessions=MAX_SESSIONS
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._sessions.run():
            yield

    def for_client(self, name: str) -> App:
        """The app for one client: a session can be used only by the client that started it."""
        user = AuthenticatedUser(AccessToken(token=name, client_id=name, scopes=[]))

        async def app(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
            scope["user"] = user
            await self._sessions.handle_request(scope, receive, send)

        return app
