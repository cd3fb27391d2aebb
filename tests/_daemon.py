"""A real daemon for tests, in a home of its own, and what asks it."""

import atexit
import http.client
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from _mcp_process import environ
from conftest import Ran, run_cli
from preread.daemon import paths, service


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Daemon:
    """A running daemon: its environment, its process, its port."""

    environ: dict[str, str]
    pid: int
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cli(self, *arguments: str, cwd: Path | None = None) -> Ran:
        return run_cli(*arguments, cwd=cwd or Path(self.environ["HOME"]), env=self.environ)

    def token(self, scope: str = "write", *more: str) -> str:
        done = self.cli("token", "new", "--scope", scope, *more)
        assert done.status == 0, done.err
        return done.out.strip()

    def allow(self, root: Path) -> None:
        assert self.cli("serve", "allow", str(root)).status == 0

    def ask(
        self, method: str, path: str, body: Any = None, token: str = "", *, over: str = "tcp",
        **headers: str,
    ) -> Answer:  # fmt: skip
        """One request, on a connection of its own."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            given["authorization"] = f"Bearer {token}"
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if over == "tcp":
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        else:
            connection = service.UnixConnection(paths.http_socket(self.environ))
        try:
            connection.request(method, path, data, given)
            found = connection.getresponse()
            return Answer(found.status, dict(found.getheaders()), found.read())
        finally:
            connection.close()

    def operation(self, state: Any, token: str = "", **more: Any) -> Any:
        return self.ask("POST", "/operation", state, token, **more).json

    def raw(self, data: bytes, seconds: float = 10) -> bytes:
        """What comes back for these bytes, until the daemon closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            connection.sendall(data)
            found = b""
            while chunk := connection.recv(65536):
                found += chunk
            return found


@contextmanager
def daemon(
    home: Path, *arguments: str, env: Mapping[str, str] | None = None,
    program: Sequence[str] = ("-m", "preread"),
) -> Iterator[Daemon]:  # fmt: skip
    """A daemon with a home and sockets of its own, ended with the block."""
    home.mkdir(parents=True, exist_ok=True)
    whole = environ(
        {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "PREREAD_CLAUDE": "off", **(env or {})}
    )
    command = [sys.executable, *program, "serve", "--port", "0", *arguments]
    log = home / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=whole, cwd="/", stdin=subprocess.DEVNULL, stderr=output
        )
        try:
            found = service.status(whole)
            while found is None or not found.answers:
                assert process.poll() is None, log.read_text()
                try:
                    process.wait(0.05)
                except subprocess.TimeoutExpired:
                    found = service.status(whole)
            yield Daemon(whole, found.pid, found.port)
            if process.poll() is None:
                process.terminate()
                assert process.wait(15) == 0
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        text = log.read_text()
        assert not {"Traceback", "ASGI"} & {*text.split()}, text
    if process.returncode == 0:  # not killed by a test
        assert [path.name for path in (home / "preread").iterdir()] == ["daemon.lock"]


@cache
def shared() -> Daemon:
    """One for all tests of a process that need no daemon of their own."""
    stack = ExitStack()
    home = stack.enter_context(tempfile.TemporaryDirectory(prefix="daemon-"))
    atexit.register(stack.close)
    return stack.enter_context(daemon(Path(home) / "h"))


@cache
def shared_token() -> str:
    return shared().token("write")
