"""A scripted Messages API on loopback, so that tests run the real Claude Code without an account.

    with MessagesAPI() as api:
        # Turn by turn, from the start for each session:
        api.play([[tool("Read", file_path="a.py")], [text("Done.")]])
        # For prompts that contain this text:
        api.play(lambda request: [text("no")], when="coupon")
        ... run the CLI with ANTHROPIC_BASE_URL=api.url ...
        api.requests  # what it asked

A turn is a list of blocks, a `Turn` with more data, or a fault: `Fail`, `Hang`. Requests without
tools are the program's own (titles, checks of a key): they are answered and take no turn.
"""

import itertools
import json
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Literal

from _loopback import Service

PATIENCE = 30.0
Block = dict[str, Any]
_ids = itertools.count(1)


def text(words: str) -> Block:
    """The model says something."""
    return {"type": "text", "text": words}


def tool(name: str, /, **arguments: Any) -> Block:
    """The model calls a tool."""
    return {"type": "tool_use", "id": f"toolu_{next(_ids):06}", "name": name, "input": arguments}


@dataclass(frozen=True)
class Turn:
    """An answer with more to it than its blocks."""

    blocks: Sequence[Block]
    usage: Mapping[str, int] = field(default_factory=dict)  # over input 100, output 10
    stop: str = ""  # by default `tool_use` where a tool is called, else `end_turn`
    pause: float = 0  # seconds before each block
    # Where the connection breaks: before the first block ends, after the blocks, or after them
    # and in the middle of a line. Claude Code may go on from a block that it has whole.
    cut: Literal["", "block", "event", "line"] = ""


@dataclass(frozen=True)
class Fail:
    """An error status."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hang:
    """Nothing comes after these blocks (at first not even a status) until the client goes away."""

    after: Sequence[Block] = ()


Answer = list[Block] | Turn | Fail | Hang
Script = Sequence[Answer] | Callable[["Request"], Answer]

UNAUTHORIZED = Fail(401, "authentication_error", "invalid x-api-key")
OVERLOADED = Fail(529, "overloaded_error", "Overloaded")
BROKEN = Fail(500, "api_error", "Internal server error")
NO_MODEL = Fail(404, "not_found_error", "model: no-such-model")
TOO_LONG = Fail(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum")
NO_CREDIT = Fail(
    400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."
)


def rate_limit(retry_after: int | None = None) -> Fail:
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return Fail(
        429, "rate_limit_error", "This request would exceed your account's rate limit.", headers
    )


def _words(content: str | list[Block]) -> str:
    """The text of a message or of a tool's result."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text") or _words(block.get("content") or "") for block in content)


@dataclass(frozen=True)
class Result:
    """What a tool answered."""

    id: str
    text: str
    is_error: bool


@dataclass(frozen=True)
class Request:
    """One POST of the client, as scripts and tests look at it."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def session(self) -> str:
        """Which run of the program asks."""
        return self.headers.get("x-claude-code-session-id") or self.prompt

    @property
    def key(self) -> str:
        """The credential, whichever way it is sent."""
        return self.headers.get("x-api-key") or self.headers.get("authorization", "")

    @property
    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.body.get("tools", ())]

    @property
    def system(self) -> str:
        return _words(self.body.get("system", ""))

    @property
    def messages(self) -> list[Block]:
        return self.body.get("messages", [])

    @property
    def prompt(self) -> str:
        """The first message, with what the program puts around it."""
        return _words(self.messages[0]["content"]) if self.messages else ""

    @property
    def said(self) -> str:
        """The last message."""
        return _words(self.messages[-1]["content"]) if self.messages else ""

    @property
    def turn(self) -> int:
        """How many answers the model has given before this one."""
        return sum(message["role"] == "assistant" for message in self.messages)

    @property
    def results(self) -> list[Result]:
        """The answers of all tools so far."""
        blocks = (b for m in self.messages if isinstance(m["content"], list) for b in m["content"])
        return [
            Result(b["tool_use_id"], _words(b.get("content", "")), bool(b.get("is_error")))
            for b in blocks
            if b["type"] == "tool_result"
        ]

    @property
    def folder(self) -> Path:
        """The working directory of the client."""
        found = next(line for line in self.whole.split("\n") if "working directory: " in line)
        return Path(found.rpartition("working directory: ")[2].strip())

    @property
    def whole(self) -> str:
        """Everything that was sent, readable: a secret is in here or was not sent."""
        return (
            json.dumps([dict(self.headers), self.body], ensure_ascii=False)
            .replace("\\n", "\n")
            .replace('\\"', '"')
        )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "MessagesAPI"

    def log_message(self, *arguments: object) -> None:
        """Say nothing on the tests' standard error."""

    def do_HEAD(self) -> None:
        self._send(200, {})

    def do_GET(self) -> None:
        self._send(
            404, {"type": "error", "error": {"type": "not_found_error", "message": "not scripted"}}
        )

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        request = Request(
            self.path, {name.lower(): value for name, value in self.headers.items()}, body
        )
        if not self.path.startswith("/v1/messages"):
            self.server.note(request)
            self._send(
                404,
                {"type": "error", "error": {"type": "not_found_error", "message": "not scripted"}},
            )
        elif "count_tokens" in self.path:
            self.server.note(request)
            self._send(200, {"input_tokens": 100})
        else:
            self._answer(request, self.server.answer(request))

    def _answer(self, request: Request, answer: Answer) -> None:
        match answer:
            case Fail(status, kind, message, headers):
                error = {
                    "type": "error",
                    "error": {"type": kind, "message": message},
                    "request_id": "req_1",
                }
                self._send(status, error, headers)
            case Hang(after):
                if after:
                    self._stream(request, Turn(after), ending=False)
                self._wait_for_the_client_to_go()
            case _:
                turn = answer if isinstance(answer, Turn) else Turn(answer)
                if request.body.get("stream"):
                    self._stream(request, turn)
                elif (
                    turn.cut
                ):  # the program asks again without a stream; that breaks off before its first byte
                    self.close_connection = True
                else:
                    self._send(200, {**_message(request, turn), "content": list(turn.blocks)})

    def _send(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            **(headers or {}),
            "content-type": "application/json",
            "content-length": len(data),
        }.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, request: Request, turn: Turn, *, ending: bool = True) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in _events(request, turn):
            if event["type"] == "content_block_start" and turn.pause:
                self._wait_for_the_client_to_go(turn.pause)
            if event["type"] == "message_delta" and (turn.cut or not ending):
                break
            if event["type"] == "content_block_stop" and turn.cut == "block":
                break
            self._chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n")
        if not ending:
            return
        if turn.cut:
            if turn.cut == "line":
                self._chunk('event: content_block_delta\ndata: {"type": "content_blo')
            self.close_connection = True  # without the end that a chunked body has
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, words: str) -> None:
        data = words.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _wait_for_the_client_to_go(self, seconds: float | None = None) -> None:
        gone = select.select([self.connection, self.server.ending], [], [], seconds)[0]
        self.close_connection = self.close_connection or bool(gone)


def _message(request: Request, turn: Turn) -> dict[str, Any]:
    stop = turn.stop or (
        "tool_use" if any(b["type"] == "tool_use" for b in turn.blocks) else "end_turn"
    )
    usage = {"input_tokens": 100, "output_tokens": 10, **turn.usage}
    head = {
        "id": f"msg_{next(_ids):06}",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model"),
    }
    return {**head, "content": [], "stop_reason": stop, "stop_sequence": None, "usage": usage}


def _events(request: Request, turn: Turn) -> Iterator[dict[str, Any]]:
    message = _message(request, turn)
    begun = {"stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": {**message, **begun}}
    for index, block in enumerate(turn.blocks):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": message["usage"]}
    yield {"type": "message_stop"}


class MessagesAPI(Service):
    """The service. `requests` offered tools, `asides` did not; `errors` are a script's mistakes."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.requests: list[Request] = []
        self.asides: list[Request] = []
        self.errors: list[str] = []
        self._scripts: list[tuple[str, Script]] = [("", [[text("Done.")]])]
        self._places: dict[tuple[int, str], int] = {}
        self._changed = threading.Condition()
        self.ending, self._end = socket.socketpair()

    def play(self, script: Script, when: str = "") -> None:
        """Answer by this script if the prompt has a text; the script set last comes first."""
        with self._changed:
            self._scripts.append((when, script))

    def wait(self, holds: Callable[[list[Request]], bool], seconds: float = PATIENCE) -> None:
        """Until the requests so far are as wanted."""
        with self._changed:
            if not self._changed.wait_for(lambda: holds(self.requests), seconds):
                raise TimeoutError(f"waited in vain; {len(self.requests)} requests came")

    def note(self, request: Request) -> None:
        with self._changed:
            self.asides.append(request)

    def answer(self, request: Request) -> Answer:
        if not request.tools:
            self.note(request)
            return [text('{"title": "A test"}')]
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            number, script = next((n, s) for n, (w, s) in self._numbered() if w in request.prompt)
            place = self._places.setdefault((number, request.session), 0)
            self._places[number, request.session] += 1
        if callable(script):
            try:
                return script(request)  # outside the lock: a script may wait for something
            except ConnectionError:
                raise
            except Exception as error:  # a refusal ends the run; a cut would be tried 10 times
                self.errors.append(repr(error))
                return Fail(400, "invalid_request_error", "the script failed")
        if place < len(script):
            return script[place]
        self.errors.append(
            f"the script has {len(script)} turns and was asked for one more: {request.said[-500:]}"
        )
        return Fail(400, "invalid_request_error", "the script is over")

    def _numbered(self) -> Iterator[tuple[int, tuple[str, Script]]]:
        return reversed(list(enumerate(self._scripts)))  # type: ignore[return-value]

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(
            error, ConnectionError
        ):  # clients that go away are what some tests are about
            self.errors.append(repr(error))

    def shutdown(self) -> None:
        super().shutdown()
        with suppress(OSError):
            self._end.close()

    def server_close(self) -> None:
        super().server_close()
        self.ending.close()
