"""Stands in for Preread's MCP server while that is being installed.

A client gives a server 30 seconds to start, and packages may take longer to install. So the relay
answers the handshake and the lists at once, from answers.json, which was recorded from the real
server. Everything else waits in the pipe to a second process, the child. Once that has its
packages, it becomes the server, and after its first message the relay only passes bytes on. If the
child fails, or takes too long, the reply to a call says why, and the next call tries again.

Only the standard library, and the syntax of Python 3.8.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from typing import Any

sys.dont_write_bytecode = True  # the plugin's folder may be read-only
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from child import CHUNK, Child, write  # noqa: E402 - beside this file, which -I leaves out

MAX_WAITING = 2**20  # bytes that wait for the server; beyond them the client has to wait
# Seconds that a call waits for the server to start. The error then opens the gates.
PATIENCE = 120.0
# Seconds for the server to end. Claude Code kills the relay 0.5 s after its first signal.
AFTER_SIGNAL, AFTER_INPUT = 0.35, 1.5
# The only request that the relay answers and passes on, too. A client's probe for the newer
# protocol, `server/discover`, is not passed on: the server settles on an era at its first request,
# and a client that got no answer in time has fallen back to the older one by then.
HANDSHAKE = "initialize"
# In the newer protocol, each request names the version.
VERSION = "io.modelcontextprotocol/protocolVersion"
INTERNAL = -32603
FROM_CLIENT, TO_CLIENT = 0, 1


class Ended(Exception):  # noqa: N818 - not an error
    """The client is gone, or a signal came."""

    def __init__(self, status: int, seconds: float) -> None:
        super().__init__(status)
        self.status, self.seconds = status, seconds


class Relay:
    """Connects one client with the server, which may still be starting."""

    def __init__(self, command: list[str], answers: dict[str, Any], signals: int) -> None:
        self.command, self.answers, self.signals = command, answers, signals
        self.child: Child | None = Child(command)
        self.up = False  # whether the child has become the server
        self.handshake: list[bytes] = []  # the client's messages, repeated to every child
        # Ids of requests that were answered here, and that the child will answer again.
        self.duplicates: list[Any] = []
        self.waiting: list[dict[str, Any]] = []  # requests that only the server can answer
        self.deadline = 0.0  # of the first of them
        # Incomplete lines from the client and from the child.
        self.client_rest, self.child_rest = b"", b""

    def run(self) -> int:
        """Run until the server ends, and return its status; or until Ended is raised."""
        while True:
            child = self.child
            readers = [self.signals, *(child.readers if child else [])]
            readers += [] if child and len(child.waiting) > MAX_WAITING else [FROM_CLIENT]
            writers = [child.input] if child and child.waiting else []
            patience = max(0.0, self.deadline - time.monotonic()) if self.waiting else None
            readable, writable, _ = select.select(readers, writers, [], patience)
            if self.waiting and time.monotonic() >= self.deadline:
                self.too_slow()
            if self.signals in readable:
                raise Ended(128 + os.read(self.signals, 1)[0], AFTER_SIGNAL)
            if child and writable:
                child.write()
            if child and self.has_ended(child, readable):
                return child.status()
            if FROM_CLIENT in readable:
                self.from_client(os.read(FROM_CLIENT, CHUNK))

    def has_ended(self, child: Child, readable: list[int]) -> bool:
        """Handle what a child wrote; true when it was the server and has ended."""
        if child.errors in readable:
            child.forward_errors()
        if child.output not in readable:
            return False
        data = os.read(child.output, CHUNK)
        if data:
            self.from_child(data)
        elif self.up:
            return True
        else:
            self.failed(child)
        return False

    # -- from the client

    def from_client(self, data: bytes) -> None:
        if not data:
            raise Ended(0, AFTER_INPUT)
        if self.up and self.child:
            self.child.waiting += data
            return
        *lines, self.client_rest = (self.client_rest + data).split(b"\n")
        for line in lines:
            self.from_client_line(line + b"\n")

    def from_client_line(self, line: bytes) -> None:
        message = _parsed(line)
        method, is_request = message.get("method"), "id" in message and "method" in message
        answer = self.answer(method, message) if is_request else None
        if answer is not None:
            self.reply(message, result=answer)
        elif is_request:
            self.deadline = self.deadline if self.waiting else time.monotonic() + PATIENCE
            self.waiting.append(message)
        if method == HANDSHAKE and answer is not None:
            self.handshake.append(line)
            self.duplicates.append(message["id"])
        elif method == "notifications/initialized":
            self.handshake.append(line)
        elif answer is not None:
            return
        if self.child:
            self.child.waiting += line
        elif is_request and answer is None:
            self.start_again(line)

    def answer(self, method: object, message: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """What the server would answer; None if only the server can tell."""
        if method == "ping":
            return {}
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        era = meta.get(VERSION) if isinstance(meta, dict) else None
        found = self.answers.get(str(era or "legacy"), {}).get(method)
        if (
            method == HANDSHAKE
            and found
            and params.get("protocolVersion") in self.answers["versions"]
        ):
            return {**found, "protocolVersion": params["protocolVersion"]}
        return found

    def start_again(self, line: bytes) -> None:
        self.child = Child(self.command)
        self.duplicates = [
            message["id"] for message in map(_parsed, self.handshake) if "id" in message
        ]
        self.child.waiting += b"".join(self.handshake) + line

    # -- from the child

    def from_child(self, data: bytes) -> None:
        """Pass it on, except for duplicates. The first line shows that the server is up."""
        if self.up and not self.duplicates:
            _send(data)
            return
        *lines, self.child_rest = (self.child_rest + data).split(b"\n")
        for line in lines:
            ident = _parsed(line).get("id")
            if ident in self.duplicates and "method" not in _parsed(line):
                self.duplicates.remove(ident)
            else:
                _send(line + b"\n")
        if lines and not self.up and self.child:
            self.up = True
            self.waiting.clear()
            self.child.waiting += self.client_rest
        if self.up and not self.duplicates:
            _send(self.child_rest)
            self.child_rest = b""

    def failed(self, child: Child) -> None:
        """Refuse the waiting requests: the child ended before it became the server."""
        child.status()
        why = child.error_text.strip() or f"it ended with status {child.process.returncode}"
        self.child, self.child_rest = None, b""
        self.refuse(
            f"Preread's server could not be started. {why}\n"
            "Tell the person. When it is fixed, or to try again, call this tool again."
        )

    def too_slow(self) -> None:
        """Refuse the waiting requests, and drop the child's later replies to them."""
        self.duplicates += [message["id"] for message in self.waiting]
        self.refuse(
            f"Preread's server has not started within {PATIENCE:g} seconds; it may still be "
            "installing its packages. Go on without it, tell the person, and call this tool again "
            "later."
        )

    def refuse(self, text: str) -> None:
        """Reply to the waiting requests with this error."""
        waiting, self.waiting = self.waiting, []
        for message in waiting:
            if message["method"] == "tools/call":
                content = [{"type": "text", "text": text}]
                self.reply(
                    message, result={"content": content, "isError": True, "resultType": "complete"}
                )
            else:
                self.reply(message, error={"code": INTERNAL, "message": text})

    def reply(self, message: dict[str, Any], **outcome: Any) -> None:  # noqa: ANN401 - JSON
        _send(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}).encode() + b"\n")


def _parsed(line: bytes) -> dict[str, Any]:
    """The message on a line; empty for anything else, which the server will reply to."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _send(data: bytes) -> None:
    try:
        write(TO_CLIENT, data)
    except OSError:  # the client is gone
        raise Ended(0, AFTER_INPUT) from None


def main(command: list[str]) -> int:
    signals, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # the loop reads the pipe
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
