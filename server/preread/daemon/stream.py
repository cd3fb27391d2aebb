"""Events of a namespace as they happen: server-sent events, or a WebSocket in both directions."""

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from starlette.responses import StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from preread.daemon import rpc
from preread.daemon.calls import calls_of
from preread.daemon.guard import MAX_BODY
from preread.daemon.hub import Event, build_data
from preread.daemon.peers import Peer, Refused
from preread.daemon.projects import Namespace, Projects
from preread.errors import PrereadError
from preread.operations.states import failure_of

PING_SECONDS = 15.0
PARALLEL = 4  # calls of one socket that run at a time
INVALID, ENDED, TOO_SLOW = 1007, 1008, 1013  # WebSocket close codes
Running = dict[str, anyio.CancelScope]  # one socket's running calls by id


def events(projects: Projects, namespace: Namespace, peer: Peer) -> StreamingResponse:
    """Server-sent events, from now on."""
    return StreamingResponse(
        _lines(projects, namespace, peer),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


async def _lines(projects: Projects, namespace: Namespace, peer: Peer) -> AsyncIterator[str]:
    async with namespace.hub.following() as following:
        yield _sse(_hello(namespace))
        async for event in _events_for(projects, namespace, peer, following):
            yield ": ping\n\n" if event is None else _sse(event)


async def _events_for(
    projects: Projects, namespace: Namespace, peer: Peer,
    following: MemoryObjectReceiveStream[Event],
) -> AsyncIterator[Event | None]:  # fmt: skip
    """The events for a follower, None while idle; ends if it is too slow or loses access."""
    while True:
        event: Event | None = None
        with anyio.move_on_after(PING_SECONDS):
            try:
                event = await following.receive()
            except anyio.EndOfStream:  # too slow; the browser connects again
                return
        if projects.has_lost_access(peer, namespace.root):
            return
        if event is None or _is_for(event, peer):
            yield event


def _sse(event: Event) -> str:
    return f"event: {event.name}\ndata: {json.dumps(event.data)}\n\n"


def _hello(namespace: Namespace) -> Event:
    """The first event for a new follower: the running builds."""
    return Event("hello", {"builds": [build_data(job) for job in namespace.loop.running()]})


def _is_for(event: Event, peer: Peer) -> bool:
    return event.recipient in {"", peer.identity.id}


async def talk(
    socket: WebSocket, projects: Projects, namespace: Namespace, peer: Peer, perform: rpc.Answer
) -> None:
    """Send events; answer JSON-RPC messages and shared states, until the client is gone."""
    await socket.accept()
    async with namespace.hub.following() as following, anyio.create_task_group() as tasks:
        tasks.start_soon(_send, socket, projects, namespace, peer, following)
        await _receive(socket, peer, perform)
        tasks.cancel_scope.cancel()


async def _send(
    socket: WebSocket, projects: Projects, namespace: Namespace, peer: Peer,
    following: MemoryObjectReceiveStream[Event],
) -> None:  # fmt: skip
    hello = _hello(namespace)
    await _send_json(socket, {"event": hello.name, "data": hello.data})
    async for event in _events_for(projects, namespace, peer, following):
        if event is not None:
            await _send_json(socket, {"event": event.name, "data": event.data})
    await _close(socket, ENDED if projects.has_lost_access(peer, namespace.root) else TOO_SLOW)


async def _close(socket: WebSocket, reason: int) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):  # it is closed
        await socket.close(reason)


async def _receive(socket: WebSocket, peer: Peer, perform: rpc.Answer) -> None:
    free = anyio.Semaphore(PARALLEL)
    running: Running = {}
    async with anyio.create_task_group() as calls:
        while True:
            try:
                text = await socket.receive_text()
            # KeyError: a binary message. RuntimeError: a send has found the socket closed.
            except (WebSocketDisconnect, KeyError, RuntimeError):
                break
            message = _parsed(text)
            if peer.has_ended() or message is None:
                await _close(socket, INVALID if message is None else ENDED)
                break
            if (ident := rpc.cancelled(message)) is not None:
                if scope := running.get(str(ident)):
                    scope.cancel()
                continue
            await free.acquire()  # back-pressure for clients that send too fast
            calls.start_soon(_answer, socket, peer, message, perform, free, running)
        calls.cancel_scope.cancel()


def _parsed(text: str) -> Any:  # noqa: ANN401 - any JSON
    """The JSON of a message; None if it is invalid or too long."""
    if len(text) > MAX_BODY:
        return None
    try:
        return json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError):
        return None


def no_constant(name: str) -> None:
    """Python's parser would take NaN and Infinity, and a reply would repeat them."""
    raise ValueError(f"{name} is not valid JSON")


async def _answer(
    socket: WebSocket, peer: Peer, message: Any, perform: rpc.Answer,  # noqa: ANN401
    free: anyio.Semaphore, running: Running,
) -> None:  # fmt: skip
    answer, ident, scope = None, _ident(message), anyio.CancelScope()
    if ident:
        running[ident] = scope
    try:
        with scope:
            peer.spend(calls_of(message))
            work = perform if _is_state(message) else partial(rpc.answered, perform=perform)
            answer = await work(message)
    except Refused as refused:
        answer = _failed(message, refused.error)
    finally:
        if running.get(ident) is scope:  # a client may have reused the id
            del running[ident]
    if scope.cancelled_caught:
        error = PrereadError("E_CANCELLED", "The caller cancelled this call.")
        answer = _failed(message, error)
    if answer is not None:
        await _send_json(socket, answer)
    free.release()  # only after sending, or unread answers would pile up


def _is_state(message: Any) -> bool:  # noqa: ANN401 - any JSON
    return isinstance(message, dict) and "jsonrpc" not in message


def _failed(message: Any, error: PrereadError) -> Any:  # noqa: ANN401 - any JSON
    """The answer to a rejected message."""
    failure = failure_of(error)
    if _is_state(message):
        return {"version": 1, **message, "error": failure}
    return rpc.refused(message, failure)


def _ident(message: Any) -> str:  # noqa: ANN401 - any JSON
    """The id by which a message can be cancelled: `id`, or a state's `request_id`."""
    found = message if isinstance(message, dict) else {}
    if "jsonrpc" not in found:
        metadata = found.get("metadata")
        ident = metadata.get("request_id") if isinstance(metadata, dict) else None
    else:
        ident = found.get("id")
    return str(ident) if isinstance(ident, str | int) else ""


async def _send_json(socket: WebSocket, data: object) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):  # it is closed, which `_receive` notices
        await socket.send_text(json.dumps(data))
