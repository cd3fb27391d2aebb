"""Stands in for Preread's MCP server while that is being installed: answers what it can, holds what it cannot.

A client gives a server 30 seconds to start; packages may take longer. So the handshake and the lists are answered at
once, from answers.json, which the real server gave. All else waits in the pipe of a start of ours that takes time:
once its environment is there it becomes the server, and from its first message on this only passes bytes. If it fails,
calls get the reason, and the next one tries again. Only the standard library, and grammar of Python 3.8.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any

CHUNK = 2**16
ENOUGH = 2**20  # bytes that wait for a server; beyond them the client waits
TAIL = 2000  # characters of the reason that a call is told
AFTER_SIGNAL = (
    0.35  # seconds for the server to end: 0.5 after its first signal Claude Code kills us
)
AFTER_INPUT = 1.5
HANDSHAKE = ("initialize", "server/discover")
VERSION = (
    "io.modelcontextprotocol/protocolVersion"  # of the later era, in which each request names it
)
INTERNAL = -32603
FROM_CLIENT, TO_CLIENT, ERRORS = 0, 1, 2


class Ended(Exception):  # noqa: N818 - no error: a way to end
    """The client is gone, or a signal came."""

    def __init__(self, status: int, seconds: float) -> None:
        super().__init__(status)
        self.status, self.seconds = status, seconds


class Child:
    """One start of ours behind pipes, in a session of its own."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        self.streams = (self.process.stdin, self.process.stdout, self.process.stderr)
        self.input, self.output, self.errors = (stream.fileno() for stream in self.streams)  # type: ignore[union-attr]
        os.set_blocking(self.input, False)
        os.set_blocking(self.errors, False)
        self.readers = [self.output, self.errors]
        self.waiting = bytearray()  # for its input
        self.said = ""  # the end of what it wrote to standard error

    def write(self) -> None:
        """As much of what waits as the pipe takes."""
        try:
            del self.waiting[: os.write(self.input, self.waiting)]
        except BlockingIOError:
            pass
        except OSError:  # it ended: its output will say so
            self.waiting.clear()

    def listen(self) -> bool:
        """Pass on what it wrote to standard error; whether there was something."""
        try:
            data = os.read(self.errors, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self.readers = [self.output]
        with suppress(OSError):
            _write(ERRORS, data)
        self.said = (self.said + data.decode("utf-8", "replace"))[-TAIL:]
        return bool(data)

    def end(self, seconds: float) -> None:
        """End it, and an installer that it may have started, with a bound."""
        self._signal(signal.SIGTERM)
        while select.select([self.output], [], [], seconds)[0] and os.read(self.output, CHUNK):
            pass
        self._signal(signal.SIGKILL)
        self.process.wait()

    def status(self) -> int:
        """Its exit status, after its output has ended; what else it started may hold its streams."""
        while self.listen():
            pass
        for stream in self.streams:
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        return self.process.wait()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


class Relay:
    """Between one client and the server that comes."""

    def __init__(self, command: list[str], answers: dict[str, Any], signals: int) -> None:
        self.command, self.answers, self.signals = command, answers, signals
        self.child: Child | None = Child(command)
        self.up = False
        self.handshake: list[bytes] = []  # the client's, for every child
        self.swallowed: list[
            Any
        ] = []  # ids that were answered here, whose answers still come from the child
        self.held: list[dict[str, Any]] = []  # requests that wait for the server
        self.asked, self.told = (
            b"",
            b"",
        )  # what came after the last end of a line, from the client and from the child

    def run(self) -> int:
        """Until the client is gone, a signal comes (Ended), or the server ended (its status)."""
        while True:
            child = self.child
            readers = [self.signals, *(child.readers if child else [])]
            readers += [] if child and len(child.waiting) > ENOUGH else [FROM_CLIENT]
            readable, writable, _ = select.select(
                readers, [child.input] if child and child.waiting else [], []
            )
            if self.signals in readable:
                raise Ended(128 + os.read(self.signals, 1)[0], AFTER_SIGNAL)
            if child:
                if child.errors in readable:
                    child.listen()
                if writable:
                    child.write()
                if child.output in readable:
                    data = os.read(child.output, CHUNK)
                    if not data and self.up:
                        return child.status()
                    self.from_child(data) if data else self.failed(child)
            if FROM_CLIENT in readable:
                self.from_client(os.read(FROM_CLIENT, CHUNK))

    # -- from the client

    def from_client(self, data: bytes) -> None:
        if not data:
            raise Ended(0, AFTER_INPUT)
        if self.up and self.child:
            self.child.waiting += data
            return
        *lines, self.asked = (self.asked + data).split(b"\n")
        for line in lines:
            self.from_client_line(line + b"\n")

    def from_client_line(self, line: bytes) -> None:
        message = _parsed(line)
        method, is_request = message.get("method"), "id" in message and "method" in message
        answer = self.answer(method, message) if is_request else None
        if answer is not None:
            self.reply(message, result=answer)
        elif is_request:
            self.held.append(message)
        if method in HANDSHAKE and answer is not None:
            self.handshake.append(line)
            self.swallowed.append(message["id"])
        elif method == "notifications/initialized":
            self.handshake.append(line)
        elif answer is not None:
            return
        if self.child:
            self.child.waiting += line
        elif is_request and answer is None:
            self.start_again(line)

    def answer(self, method: object, message: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """What the server would answer now; None where only it knows."""
        if method == "ping":
            return {}
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        era = meta.get(VERSION) if isinstance(meta, dict) else None
        found = self.answers.get(str(era or "legacy"), {}).get(method)
        if (
            method == "initialize"
            and found
            and params.get("protocolVersion") in self.answers["versions"]
        ):
            return {**found, "protocolVersion": params["protocolVersion"]}
        return found

    def start_again(self, line: bytes) -> None:
        self.child = Child(self.command)
        self.swallowed = [
            message["id"] for message in map(_parsed, self.handshake) if "id" in message
        ]
        self.child.waiting += b"".join(self.handshake) + line

    # -- from the child

    def from_child(self, data: bytes) -> None:
        """Pass it on, but for what was answered before. The first line says that the server is up."""
        if self.up and not self.swallowed:
            _tell(data)
            return
        *lines, self.told = (self.told + data).split(b"\n")
        for line in lines:
            ident = _parsed(line).get("id")
            if ident in self.swallowed and "method" not in _parsed(line):
                self.swallowed.remove(ident)
            else:
                _tell(line + b"\n")
        if lines and not self.up and self.child:
            self.up = True
            self.held.clear()
            self.child.waiting += self.asked
        if self.up and not self.swallowed:
            _tell(self.told)
            self.told = b""

    def failed(self, child: Child) -> None:
        """It ended before it became the server: who waits is told why."""
        child.status()
        why = child.said.strip() or f"it ended with status {child.process.returncode}"
        text = (
            f"Preread's server could not be started. {why}\n"
            "Tell the person so. When it is mended, or to try once more, call this tool again."
        )
        self.child, held = None, self.held
        self.held, self.told = [], b""
        for message in held:
            if message["method"] == "tools/call":
                content = [{"type": "text", "text": text}]
                self.reply(
                    message, result={"content": content, "isError": True, "resultType": "complete"}
                )
            else:
                self.reply(message, error={"code": INTERNAL, "message": text})

    def reply(self, message: dict[str, Any], **outcome: Any) -> None:  # noqa: ANN401 - JSON
        _tell(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}).encode() + b"\n")


def _parsed(line: bytes) -> dict[str, Any]:
    """The message of a line; nothing for what is none, to which the server will answer."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _tell(data: bytes) -> None:
    try:
        _write(TO_CLIENT, data)
    except OSError:  # nobody reads any more
        raise Ended(0, AFTER_INPUT) from None


def main(command: list[str]) -> int:
    signals, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # the loop reads of it
    with open(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "answers.json"), encoding="utf-8"
    ) as file:
        relay = Relay(command, json.load(file), signals)
    try:
        return relay.run()
    except Ended as end:
        if relay.child:
            relay.child.end(end.seconds)
        return end.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
