"""Limits on HTTP connections: who may connect, how many, and how slow they may be."""

import asyncio
import gc
import os
import resource
import socket
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame

from preread.daemon.paths import peer_of

REQUEST_SECONDS = 15.0  # for a whole request to arrive
STALLED_SECONDS = 20.0  # how long a client may leave its reply unread
MAX_CONNECTIONS = 500  # per listening socket
COLLECT_SECONDS = 0.5  # enough for connections that were shut down to be closed
# Frames of a WebSocket between two of our pings, without the first of each message.
MAX_FRAMES = 5000


class BoundedListener(socket.socket):
    """A listening socket that counts connections when they are accepted, before any TLS handshake.

    A connection that has sent no request ends after REQUEST_SECONDS, or earlier, the oldest first,
    to make room for another. A protocol cannot do this, because asyncio does not tell it of a TLS
    connection before the handshake.
    """

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(fileno=listening.detach())
        self._open: WeakSet[socket.socket] = WeakSet()
        # Those without a request so far, by descriptor.
        self._new: dict[int, tuple[socket.socket, asyncio.TimerHandle]] = {}
        self._ending: socket.socket | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        """Raises BlockingIOError if there is no connection, ConnectionAbortedError if no room."""
        if self._ending is not None and self._ending.fileno() >= 0:
            raise BlockingIOError  # its transport closes it a few rounds of the event loop later
        connection, address = super().accept()
        if self._is_full():
            if not self._new:
                connection.close()
                raise ConnectionAbortedError
            self._ending = self._end(next(iter(self._new)))
        self._open.add(connection)
        number = connection.fileno()
        self.forget(number)  # an earlier connection with this number, which is closed
        timer = asyncio.get_running_loop().call_later(REQUEST_SECONDS, self._end, number)
        self._new[number] = connection, timer
        return connection, address

    def forget(self, number: int) -> None:
        """Stop timing a connection: its first request has arrived, or it is closed."""
        if found := self._new.pop(number, None):
            found[1].cancel()

    def _is_full(self) -> bool:
        # Half of the descriptors are for files, programs and relays.
        most = min(MAX_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        return sum(one.fileno() >= 0 for one in self._open) >= most

    def _end(self, number: int) -> socket.socket:
        connection, timer = self._new.pop(number)
        timer.cancel()
        with suppress(OSError):  # it is closed, or the client has disconnected
            connection.shutdown(socket.SHUT_RDWR)  # its transport then closes it
        if not self._new:
            # Handshakes leave reference cycles that hold much memory in few objects, too few to
            # start the collector.
            asyncio.get_running_loop().call_later(COLLECT_SECONDS, gc.collect)
        return connection


class _SlowReaders(asyncio.Protocol):
    """Ends connections whose clients do not read; uvicorn would wait for them."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    _write_timer: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(STALLED_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_write_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_write_timer()
        super().connection_lost(exc)

    def _cancel_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


class BoundedProtocol(_SlowReaders, H11Protocol):
    """uvicorn's protocol with timeouts; by itself it waits forever for slow clients."""

    _request_timer: asyncio.TimerHandle | None = None
    _number = -1  # the connection's descriptor

    def __init__(
        self, config: Config, server_state: ServerState, app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None, *, listener: BoundedListener,
    ) -> None:  # fmt: skip
        super().__init__(config, server_state, app_state, _loop)
        self._listener = listener

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        found = transport.get_extra_info("socket")
        if found.family == socket.AF_UNIX:
            uid, pid = peer_of(found)
            if uid != os.getuid():
                transport.abort()
                return
            self.client = ("unix", pid)
        self._number = found.fileno()
        self._await_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.scope is not None:
            self._listener.forget(self._number)
        if not self._is_receiving():
            self._cancel_request_timer()
        elif self._request_timer is None:
            self._await_request()

    def handle_websocket_upgrade(self, event: Any) -> None:  # noqa: ANN401 - h11's request
        self._cancel_request_timer()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_request_timer()
        super().connection_lost(exc)

    def _cancel_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _await_request(self) -> None:
        self._request_timer = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _is_receiving(self) -> bool:
        """Whether part of a request has arrived."""
        if self.transport.get_protocol() is not self:  # a WebSocket, which has its own limits
            return False
        state = self.conn.their_state
        return state is h11.SEND_BODY or (state is h11.IDLE and bool(self.conn.trailing_data[0]))


class BoundedWebSocket(_SlowReaders, WebSocketsSansIOProtocol):
    """uvicorn's protocol with a limit on frames; by itself it takes any number of pings."""

    _frames = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        found = transport.get_extra_info("socket")
        if found.family == socket.AF_UNIX:
            self.client = ("unix", peer_of(found)[1])

    async def run_asgi(self) -> None:
        app = self.app

        async def until_the_end(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
            # Only the server's end cancels it; uvicorn would log that as the app's fault.
            with suppress(asyncio.CancelledError):
                await app(scope, receive, send)

        self.app = until_the_end
        await super().run_asgi()

    async def send(self, message: Any) -> None:  # noqa: ANN401 - an ASGI message
        await super().send(message)
        if self.close_sent:  # also after a refusal, for which uvicorn would log an error
            self.handshake_complete = True

    def send_keepalive_ping(self) -> None:
        self._frames = 0
        super().send_keepalive_ping()

    def handle_ping(self) -> None:
        if self._count_frame():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        if self._count_frame():
            super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        if self._count_frame():
            super().handle_cont(event)

    def _count_frame(self) -> bool:
        """Count a frame. If there are too many, end the connection and return False."""
        self._frames += 1
        if self._frames > MAX_FRAMES:
            self.transport.abort()
        return self._frames <= MAX_FRAMES
