"""JSON-RPC messages as lines on two file descriptors; malformed lines get an error answer."""

import json
import os
import re
import select
import threading
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import NamedTuple

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.lowlevel import EventLoopToken, current_token
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

MAX_LINE = 8 * 2**20  # bytes; a tool call needs a few thousand
CHUNK = 2**16
# After the end of input: to answer everything, then to answer the calls that were stopped.
ANSWER_SECONDS, STOPPED_SECONDS, POLL_SECONDS = 2.0, 0.5, 0.01
CANCELLED = "notifications/cancelled"
_SURROGATES = re.compile("[\ud800-\udfff]")


class Unanswered:
    """The requests that have no answer yet. The reader adds, the writer removes."""

    def __init__(self) -> None:
        self._keys: set[Hashable] = set()

    def read(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._keys.add(message.id)
        elif isinstance(message, JSONRPCError):  # the answer to an invalid line
            self._keys.add(id(message))
        elif isinstance(message, JSONRPCNotification) and message.method == CANCELLED:
            ident = (message.params or {}).get("requestId")
            if isinstance(ident, str | int):
                self._keys.discard(ident)

    def written(self, message: JSONRPCMessage) -> None:
        self._keys.discard(id(message))
        if not isinstance(message, JSONRPCRequest | JSONRPCNotification):
            self._keys.discard(message.id)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def wait(self, descriptor: int, seconds: float) -> None:
        """Wait until there are none, or this descriptor has no reader any more."""
        until = time.monotonic() + seconds
        while self._keys and time.monotonic() < until and _has_reader(descriptor):
            time.sleep(POLL_SECONDS)


def _has_reader(descriptor: int) -> bool:
    if not hasattr(select, "poll"):  # Windows
        return True
    poll = select.poll()
    poll.register(descriptor, 0)
    return not poll.poll(0)  # a pipe without a reader reports POLLERR


class Streams(NamedTuple):
    """What the SDK's server reads from and writes to."""

    read: MemoryObjectReceiveStream[SessionMessage | Exception]
    write: MemoryObjectSendStream[SessionMessage]


def lines(descriptor: int) -> Iterator[bytes | None]:
    """The lines of a descriptor to the end of input; None for one longer than MAX_LINE."""
    pending, too_long = bytearray(), False
    while True:
        try:
            chunk = os.read(descriptor, CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            return
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            pending += part
            yield None if too_long or len(pending) > MAX_LINE else bytes(pending)
            pending, too_long = bytearray(), False
        pending += rest
        if len(pending) > MAX_LINE:
            pending, too_long = bytearray(), True


def parse(line: bytes | None) -> SessionMessage | JSONRPCError:
    """The message on a line, or the error answer that JSON-RPC 2.0 (5.1) requires for a bad one."""
    if line is None:
        return _refusal(INVALID_REQUEST, f"The line is longer than {MAX_LINE} bytes.")
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        message = None
    if message is not None and not isinstance(message, JSONRPCNotification):
        return SessionMessage(message)
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return _refusal(PARSE_ERROR, "The line is not JSON.")
    # A "notification" with an id is a request whose id has the wrong type.
    if message is not None and "id" not in value:
        return SessionMessage(message)
    ident = value.get("id") if isinstance(value, dict) else None
    text = "The line is not a JSON-RPC 2.0 message."
    return _refusal(INVALID_REQUEST, text, ident if _is_usable(ident) else None)


def _is_usable(ident: object) -> bool:
    """Whether an answer can repeat an id; Python's JSON reader accepts half a surrogate pair."""
    if isinstance(ident, str):
        return ident.isascii() or not _SURROGATES.search(ident)
    return isinstance(ident, int) and not isinstance(ident, bool)


def written(message: JSONRPCMessage) -> bytes:
    """The line of a message. Text that UTF-8 cannot encode, as in file names, is replaced.

    A message that still cannot be written becomes an error answer.
    """
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError:  # pydantic's errors, and UnicodeEncodeError
        pass
    try:
        value = message.model_dump(by_alias=True, exclude_unset=True)
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        ident = getattr(message, "id", None)
        refusal = _refusal(INTERNAL_ERROR, f"The answer cannot be written as JSON: {error}", ident)
        return written(refusal) if _is_usable(ident) else b"\n"


def _refusal(code: int, message: str, ident: RequestId | None = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=ident, error=ErrorData(code=code, message=message))


@asynccontextmanager
async def connected(wire: tuple[int, int], on_end: Callable[[], None]) -> AsyncIterator[Streams]:
    """The SDK's streams over two descriptors.

    `on_end` is called, in any thread, when the client is gone. If it only closed its input, its
    requests are answered first, for at most ANSWER_SECONDS. The reader is a daemon thread, because
    nothing can interrupt a blocked read, and the process need not wait for such a thread.
    """
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
    write, outgoing = anyio.create_memory_object_stream[SessionMessage]()
    answers, unanswered = write.clone(), Unanswered()
    async with anyio.create_task_group() as tasks, incoming, answers:
        tasks.start_soon(_write, wire[1], outgoing, incoming, unanswered, on_end)
        reader = partial(_read, wire, incoming, answers, unanswered, on_end, current_token())
        threading.Thread(target=reader, name="reader", daemon=True).start()
        yield Streams(read, write)


def _read(
    wire: tuple[int, int],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    answers: MemoryObjectSendStream[SessionMessage],
    unanswered: Unanswered,
    on_end: Callable[[], None],
    loop: EventLoopToken,
) -> None:
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.RunFinishedError):
        for line in lines(wire[0]):
            if line is not None and not line.strip():
                continue
            found = parse(line)
            unanswered.read(found if isinstance(found, JSONRPCError) else found.message)
            if isinstance(found, JSONRPCError):
                anyio.from_thread.run(answers.send, SessionMessage(found), token=loop)
            else:
                anyio.from_thread.run(incoming.send, found, token=loop)
    unanswered.wait(wire[1], ANSWER_SECONDS)
    on_end()
    unanswered.wait(wire[1], STOPPED_SECONDS)
    with suppress(anyio.RunFinishedError):
        anyio.from_thread.run_sync(incoming.close, token=loop)


async def _write(
    descriptor: int,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    unanswered: Unanswered,
    on_end: Callable[[], None],
) -> None:
    async with outgoing:
        async for item in outgoing:
            line = written(item.message)
            try:
                await anyio.to_thread.run_sync(_write_all, descriptor, line, abandon_on_cancel=True)
            except OSError:  # the client no longer reads: the same as the end of its input
                on_end()
                incoming.close()
                return
            unanswered.written(item.message)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
