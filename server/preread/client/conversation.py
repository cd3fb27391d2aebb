"""Concurrent calls over one WebSocket; events are ignored."""

import asyncio
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import anyio
from websockets.exceptions import ConnectionClosed

from preread.errors import PrereadError

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

PARALLEL = 4  # calls of one connection that the daemon runs at a time
ID = "request_id"
CANCEL, CANCEL_SECONDS = "$/cancelRequest", 2.0
State = dict[str, Any]


class Conversation:
    """The calls and answers on one connection."""

    def __init__(self, connection: "ClientConnection", where: str) -> None:
        self._connection, self._where = connection, where
        self._waiting: dict[str, asyncio.Future[State]] = {}
        self._free = asyncio.Semaphore(PARALLEL)

    async def __aenter__(self) -> Self:
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *error: object) -> None:
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading

    async def send(self, state: State) -> State:
        """The answer to a shared state. Raises E_SERVER when the connection is closed."""
        ident = os.urandom(8).hex()
        about = state.get("metadata")
        about = dict(about) if isinstance(about, dict) else {}
        asked = {**state, "metadata": {**about, ID: ident}}
        async with self._free:
            if self._reading.done():
                raise self._closed(self._connection.close_reason or "the connection is closed")
            answer = self._waiting[ident] = asyncio.get_running_loop().create_future()
            try:
                await self._connection.send(json.dumps(asked))
                done: State = await answer
            except asyncio.CancelledError:
                await self._cancel(ident)
                raise
            except ConnectionClosed as error:
                raise self._closed(str(error)) from error
            finally:
                del self._waiting[ident]
        if ID in about:  # put the caller's own id back
            done["metadata"][ID] = about[ID]
        return done

    async def _cancel(self, ident: str) -> None:
        """Tell the daemon to cancel a call."""
        message = {"jsonrpc": "2.0", "method": CANCEL, "params": {"id": ident}}
        with anyio.move_on_after(CANCEL_SECONDS, shield=True), suppress(ConnectionClosed):
            await self._connection.send(json.dumps(message))

    async def _read(self) -> None:
        """Dispatch the answers to their callers, until the connection ends."""
        why = "the connection was closed"
        try:
            async for text in self._connection:
                found = json.loads(text)
                ident = (found.get("metadata") or {}).get(ID, "")
                waiting = self._waiting.get(ident)
                if waiting is not None and not waiting.done():
                    waiting.set_result(found)
        except ConnectionClosed as error:
            why = str(error)
        finally:
            for each in self._waiting.values():
                if not each.done():
                    each.set_exception(self._closed(why))

    def _closed(self, why: str) -> PrereadError:
        message = f"The daemon at {self._where} did not answer: {why}."
        return PrereadError("E_SERVER", message, "`preread serve status` says whether it runs.")
