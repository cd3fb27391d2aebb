"""Limits on HTTP connections: who may connect, how many, and how slow they may be."""

import asyncio
import os
import socket
import struct
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

REQUEST_SECONDS = 15.0  # for a whole request to arrive
STALLED_SECONDS = 20.0  # that a client may read nothing of its answer
MAX_CONNECTIONS = 500
# Of a WebSocket, besides the first of each message, between two of our pings.
MAX_FRAMES = 5000


class BoundedProtocol(H11Protocol):
    """uvicorn's protocol with timeouts: by itself it waits for ever for slow clients."""

    _request_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        found = transport.get_extra_info("socket")
        if found.family == socket.AF_UNIX:
            uid, pid = peer_of(found)
            if uid != os.getuid():
                transport.abort()
                return
            self.client = ("unix", pid)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        self._await_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_receiving():
            self._cancel("_request_timer")
        elif self._request_timer is None:
            self._await_request()

    def handle_websocket_upgrade(self, event: Any) -> None:  # noqa: ANN401 - h11's request
        self._cancel("_request_timer")
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel("_request_timer")
        self._cancel("_write_timer")
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(STALLED_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel("_write_timer")

    def _cancel(self, name: str) -> None:
        timer: asyncio.TimerHandle | None = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)

    def _await_request(self) -> None:
        self._request_timer = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _is_receiving(self) -> bool:
        """Whether part of a request has arrived."""
        if self.transport.get_protocol() is not self:  # a WebSocket, which has limits of its own
            return False
        state = self.conn.their_state
        return state is h11.SEND_BODY or (state is h11.IDLE and bool(self.conn.trailing_data[0]))


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's, which waits for slow readers, and takes any number of pings and empty frames."""

    _write_timer: asyncio.TimerHandle | None = None
    _frames = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        found = transport.get_extra_info("socket")
        if found.family == socket.AF_UNIX:
            self.client = ("unix", peer_of(found)[1])

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(STALLED_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel()

    async def send(self, message: Any) -> None:  # noqa: ANN401 - an ASGI message
        await super().send(message)
        if self.close_sent:  # also by a refusal, after which uvicorn's log has a fault otherwise
            self.handshake_complete = True

    def send_keepalive_ping(self) -> None:
        self._frames = 0
        super().send_keepalive_ping()

    def handle_ping(self) -> None:
        if self._is_bounded():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        if self._is_bounded():
            super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        if self._is_bounded():
            super().handle_cont(event)

    def _is_bounded(self) -> bool:
        """Count a frame; the connection ends with the first that is too many."""
        self._frames += 1
        if self._frames > MAX_FRAMES:
            self.transport.abort()
        return self._frames <= MAX_FRAMES

    def _cancel(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The user and process at the other end of a Unix socket; process 0 if unknown."""
    if hasattr(socket, "SO_PEERCRED"):
        size = struct.calcsize("3i")
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        pid, uid, _ = struct.unpack("3i", found)
        return uid, pid
    # On other systems, the private folder of the socket has to be enough.
    return os.getuid(), 0
