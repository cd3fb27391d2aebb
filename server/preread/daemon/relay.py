"""`preread mcp` with a running daemon: relays lines between the client and the daemon.

This process starts fast: it imports only a little of the standard library. If the daemon ends,
calls in flight fail with an error, and the next call goes to a new daemon, or to a server that
this process starts.
"""

import json
import os
import select
import socket
import struct
import sys
from collections.abc import Mapping

from preread import __version__
from preread.daemon import paths

CHUNK = 2**16
HELLO_SECONDS, LAST_SECONDS = 2.0, 3.0  # to wait for the daemon's hello, and after the client's end
FROM_CLIENT, TO_CLIENT = 0, 1
INTERNAL = -32603
INITIALIZE, SUBSCRIBE, UNSUBSCRIBE = "initialize", "resources/subscribe", "resources/unsubscribe"
# How an answer begins, and what follows its id.
ANSWER, ID_ENDS = b'{"jsonrpc":"2.0","id":', (b',"result":', b',"error":')
GONE = "Preread's daemon ended during this call. Nothing that was published is lost. Call again."


class Unusable(Exception):  # noqa: N818 - a state
    """No daemon can serve this client; the reason is empty if none was ever started."""


def run(arguments: list[str], environ: Mapping[str, str]) -> int | None:
    """Relay until the client disconnects; the exit status, or None if this process must serve."""
    project = _project(arguments, environ)
    if project is None or os.name == "nt":
        return None
    try:
        connection = connect(project, environ)
    except Unusable as error:
        if str(error):
            _say(f"serving without the daemon: {error}")
        return None
    return Relay(project, environ, connection).run()


def _project(arguments: list[str], environ: Mapping[str, str]) -> str | None:
    """The project folder of a command line; None if it has options that the relay does not know."""
    named = environ.get("CLAUDE_PROJECT_DIR") or "."
    if len(arguments) == 2 and arguments[0] == "--project":
        named = arguments[1]
    elif len(arguments) == 1 and arguments[0].startswith("--project="):
        named = arguments[0].partition("=")[2]
    elif arguments:
        return None
    return os.path.abspath(named)


def connect(project: str, environ: Mapping[str, str]) -> socket.socket:
    """Connect to the daemon and read its hello. Raises Unusable."""
    path = paths.lines_socket(environ)
    if not os.path.exists(path):
        raise Unusable
    connection = socket.socket(socket.AF_UNIX)
    try:
        if problem := paths.problem(os.path.dirname(path)):
            raise OSError(f"{os.path.dirname(path)} {problem}")
        connection.settimeout(HELLO_SECONDS)
        connection.connect(path)
        if paths.peer_of(connection)[0] != os.getuid():  # it would get the whole environment
            raise OSError(f"{path} belongs to another user")
        pairs = (f"{name}={value}" for name, value in environ.items())
        hello = os.fsencode("\0".join((__version__, project, *pairs)))
        connection.sendall(struct.pack("!I", len(hello)) + hello)
        word = b""
        while not word.endswith(b"\n"):
            byte = connection.recv(1)
            if not byte:
                raise OSError("it hung up")
            word += byte
    except OSError as error:
        connection.close()
        slow = f"it has not answered within {HELLO_SECONDS:.0f} s"
        why = slow if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise Unusable(why) from error
    if word != b"ok\n":
        connection.close()
        raise Unusable(word.decode("utf-8", "replace").strip())
    connection.settimeout(None)
    return connection


class Relay:
    """Relays between one client and its server."""

    def __init__(self, project: str, environ: Mapping[str, str], connection: socket.socket) -> None:
        self._project, self._environ = project, environ
        self._socket: socket.socket | None = connection
        self._reader, self._writer = connection.fileno(), connection.fileno()  # -1 if gone
        # Messages to repeat to the next server, such as the handshake and subscriptions.
        self._state: dict[str, bytes] = {}
        self._unanswered: dict[str | int, str] = {}  # method by request id
        self._duplicates: set[str | int] = set()  # ids of requests that the client has answers to
        self._rest_of_client = self._rest_of_server = b""

    def run(self) -> int:
        """Run until the client is gone, or has closed its input and got its answers."""
        try:
            while True:
                readers = [FROM_CLIENT] + [self._reader] * (self._reader >= 0)
                readable, _, _ = select.select(readers, [], [])
                if self._reader in readable:
                    self._from_server()
                if FROM_CLIENT in readable and not self._from_client():
                    self._finish()
                    return 0
        except BrokenPipeError:  # the client has stopped reading
            return 0

    # -- from the client

    def _from_client(self) -> bool:
        """Pass on complete lines; False at the end of input."""
        data = os.read(FROM_CLIENT, CHUNK)
        whole, newline, self._rest_of_client = (self._rest_of_client + data).rpartition(b"\n")
        if newline:
            self._send(whole + newline)
        return bool(data)

    def _send(self, lines: bytes) -> None:
        if self._writer < 0:
            self._connect_again()
        for line in lines.splitlines(keepends=True):
            self._note(line)
        try:
            _write(self._writer, lines)
        except OSError:
            self._lost()

    def _note(self, line: bytes) -> None:
        """Remember unanswered requests, and messages that the next server would need."""
        message = _parsed(line)
        method, ident = message.get("method"), message.get("id")
        if not isinstance(method, str):
            return
        if isinstance(ident, str | int):
            self._unanswered[ident] = method
        params = message.get("params")
        uri = str(params.get("uri")) if isinstance(params, dict) else ""
        if method in {INITIALIZE, "notifications/initialized", "logging/setLevel"}:
            self._state[method] = line
        elif method == SUBSCRIBE:
            self._state[f"{method} {uri}"] = line
        elif method == UNSUBSCRIBE:
            self._state.pop(f"{SUBSCRIBE} {uri}", None)

    # -- from the server

    def _from_server(self) -> None:
        try:
            data = os.read(self._reader, CHUNK)
        except OSError:
            data = b""
        if not data:
            self._lost()
            return
        whole, newline, self._rest_of_server = (self._rest_of_server + data).rpartition(b"\n")
        if newline:
            lines = (whole + newline).splitlines(keepends=True)
            _write(TO_CLIENT, b"".join(line for line in lines if self._is_for_client(line)))

    def _is_for_client(self, line: bytes) -> bool:
        """Whether to pass a line on to the client; notes which request it answers."""
        ident = _answered(line)
        if ident is None:
            return True
        if ident in self._duplicates:
            self._duplicates.discard(ident)
            return False
        self._unanswered.pop(ident, None)
        return True

    # -- when the server has ended

    def _lost(self) -> None:
        """Answer each pending request with an error."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._reader, self._writer, self._rest_of_server = None, -1, -1, b""
        unanswered, self._unanswered = self._unanswered, {}
        self._duplicates.clear()
        for ident, method in unanswered.items():
            self._state.pop(method, None)  # a handshake that was not completed
            outcome: dict[str, object] = {"error": {"code": INTERNAL, "message": GONE}}
            if method == "tools/call":  # models see results, but not protocol errors
                content = [{"type": "text", "text": GONE}]
                outcome = {
                    "result": {"content": content, "isError": True, "resultType": "complete"}
                }
            answer = {"jsonrpc": "2.0", "id": ident, **outcome}
            _write(TO_CLIENT, json.dumps(answer).encode() + b"\n")

    def _connect_again(self) -> None:
        """Connect to the next daemon, or start a server; then repeat what the last one knew."""
        try:
            self._socket = connect(self._project, self._environ)
            self._reader = self._writer = self._socket.fileno()
        except Unusable as error:
            _say(f"serving without the daemon: {str(error) or 'it ended'}")
            self._serve_alone()
        for line in self._state.values():
            ident = _parsed(line).get("id")
            if isinstance(ident, str | int):
                self._duplicates.add(ident)
            _write(self._writer, line)

    def _serve_alone(self) -> None:
        from preread.infra.subprocesses import detached

        program = [sys.executable, "-m", "preread", "mcp", "--alone", "--project", self._project]
        process = detached.on_pipes(program, self._environ)
        assert process.stdin is not None  # noqa: S101 - pipes were asked for
        assert process.stdout is not None  # noqa: S101
        # Duplicates, because the process object closes its own when it is garbage-collected.
        self._reader, self._writer = os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno())
        process.stdin.close()
        process.stdout.close()
        process.returncode = 0  # it ends when our end of the pipe closes; nobody waits for it

    def _finish(self) -> None:
        """Close the server's input, and pass on its last output."""
        if self._socket is not None:
            self._socket.shutdown(socket.SHUT_WR)
        elif self._writer >= 0:
            os.close(self._writer)
        while self._reader >= 0 and select.select([self._reader], [], [], LAST_SECONDS)[0]:
            self._from_server()


def _parsed(line: bytes) -> dict[str, object]:
    """The message on a line; empty if there is none, which the server will report."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _answered(line: bytes) -> str | int | None:
    """The id of the request that a line answers, or None. Looks only at the start of the line."""
    if not line.startswith(ANSWER):
        return None
    ends = [place for end in ID_ENDS if (place := line.find(end, len(ANSWER), 1000)) > 0]
    try:
        found = json.loads(line[len(ANSWER) : min(ends)]) if ends else None
    except ValueError:
        return None
    return found if isinstance(found, str | int) else None


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _say(text: str) -> None:
    sys.stderr.write(f"preread: {text}\n")
    sys.stderr.flush()
