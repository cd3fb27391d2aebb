"""The daemon's process: lock, sockets, servers, shutdown."""

import gc
import json
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import uvicorn

from preread import __version__
from preread.daemon import paths, relays
from preread.daemon.app import app
from preread.daemon.guard import MAX_BODY, MAX_HEAD, App, SocketGuard, TcpGuard
from preread.daemon.log import Log
from preread.daemon.page.routes import is_page
from preread.daemon.protocol import BoundedListener, BoundedProtocol, BoundedWebSocket
from preread.daemon.service import alone
from preread.daemon.serving import Serving, serving
from preread.daemon.tokens import Tokens
from preread.errors import PrereadError
from preread.infra import atomic
from preread.mcp.shutdown import leave

if TYPE_CHECKING:
    from preread.daemon.issuer import Issuer

LOOPBACK = ("127.0.0.1", "localhost", "::1")
BACKLOG = 256
GRACE_SECONDS, END_SECONDS = 3, 8.0  # to shut down: for running requests, in total
THREADS_SECONDS = 1.0  # after that, for threads that are about to end
DESCRIPTORS = 8192
FIRST_GIVEN = 3  # descriptor of a service manager's first socket


@dataclass(frozen=True)
class Listen:
    """Where to listen."""

    host: str = LOOPBACK[0]
    port: int = paths.PORT
    http: bool = True
    sockets: bool = True
    certificate: str = ""
    key: str = ""
    issuer: str = ""

    def address(self, port: int) -> str:
        """The address for clients on this machine."""
        host = {"0.0.0.0": LOOPBACK[0], "::": "::1"}.get(self.host, self.host)  # noqa: S104
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


class Server(uvicorn.Server):
    """uvicorn's server, but the daemon handles signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@dataclass
class Sockets:
    """The listening sockets."""

    tcp: socket.socket | None = None
    http: socket.socket | None = None
    lines: socket.socket | None = None


def run(environ: Mapping[str, str], listen: Listen) -> None:
    """Serve until a signal. Raises E_DAEMON, E_WRITE."""
    check_certificate(listen)
    issuer = _issuer(listen)
    _allow_descriptors()
    with alone(environ), redirect_stderr(Log(sys.stderr)):
        found = given(environ) or opened(environ, listen)
        port = found.tcp.getsockname()[1] if found.tcp else 0
        address = listen.address(port) if port else paths.http_socket(environ)
        about = {"pid": os.getpid(), "version": __version__, "port": port, "since": time.time(),
            "address": address}  # fmt: skip
        text = json.dumps(about).encode()
        try:
            atomic.write(Path(paths.about(environ)), text, mode=paths.PRIVATE)
            now = time.strftime("%Y-%m-%d %H:%M:%S")
            sys.stderr.write(f"{now} preread {__version__}: {address}, process {os.getpid()}\n")
            anyio.run(_run, environ, listen, found, issuer)
        finally:
            atomic.remove(Path(paths.about(environ)))
            _forget(environ, found)
        hangs = _hangs()
    if hangs:
        leave(0)  # the interpreter would wait for that thread


def _allow_descriptors() -> None:
    """Raise the limit of open files, which is often 1,024: each project in use takes a few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):  # macOS may allow less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _hangs() -> bool:
    """Whether a worker thread does not end, as in a file system that does not answer."""
    until = time.monotonic() + THREADS_SECONDS
    others = (one for one in threading.enumerate() if one is not threading.current_thread())
    for one in [one for one in others if not one.daemon]:
        one.join(max(0.0, until - time.monotonic()))
        if one.is_alive():
            return True
    return False


def check_certificate(listen: Listen) -> None:
    """Raises E_DAEMON unless the files for TLS, if any, can be used."""
    if not listen.certificate and not listen.key:
        return
    import ssl

    try:
        if not listen.certificate:
            raise ValueError("there is a key, and no certificate")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(listen.certificate, listen.key or None, password="")
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        why = error.strerror or error if isinstance(error, OSError) else error
        hint = "--certificate and --key name files in PEM format that belong to each other."
        message = f"TLS cannot be offered with these files: {why}."
        raise PrereadError("E_DAEMON", message, hint) from error


def _issuer(listen: Listen) -> "Issuer | None":
    if not listen.issuer:
        return None
    from preread.daemon.issuer import Issuer

    return Issuer(listen.issuer)


def opened(environ: Mapping[str, str], listen: Listen) -> Sockets:
    """New listening sockets. Raises E_DAEMON."""
    _check_reach(environ, listen.host)
    found = Sockets()
    try:  # first, because it leaves no files
        if listen.http:
            found.tcp = _tcp(listen.host, listen.port)
    except (OSError, OverflowError) as error:
        why = (isinstance(error, OSError) and error.strerror) or str(error)
        hint = "Another port: --port 0. Only the sockets: --socket."
        message = f"It cannot listen on {listen.host}, port {listen.port}: {why.lower()}."
        raise PrereadError("E_DAEMON", message, hint) from error
    try:
        if listen.sockets:
            found.http = _unix(paths.http_socket(environ))
            found.lines = _unix(paths.lines_socket(environ))
    except OSError as error:  # also of a path that is longer than about 100 characters
        hint = "Another folder, or a shorter one: XDG_RUNTIME_DIR. Only TCP: --http."
        message = f"It cannot listen in {paths.runtime_folder(environ)}: {error}."
        raise PrereadError("E_DAEMON", message, hint) from error
    return found


def _check_reach(environ: Mapping[str, str], host: str) -> None:
    if not host:  # like an unset variable; the system would take it for every address
        raise PrereadError("E_DAEMON", "The host is empty.", "Every address: --host 0.0.0.0.")
    if host not in LOOPBACK and all(one.is_expired for one in Tokens(environ).all()):
        raise PrereadError(
            "E_DAEMON",
            f"Others can reach {host}, and there is no token.",
            "Make one first: `preread token new --scope read`",
        )


def _unix(path: str) -> socket.socket:
    atomic.remove(Path(path))  # left by a killed daemon: this one holds the lock
    found = socket.socket(socket.AF_UNIX)
    found.bind(path)
    os.chmod(path, 0o600)  # noqa: PTH101 - a path of bytes' length matters here, not its parts
    found.listen(BACKLOG)
    return found


def _tcp(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Without the protocol's number, asyncio leaves Nagle's algorithm on.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind((host, port))
    found.listen(BACKLOG)
    return found


def given(environ: Mapping[str, str]) -> Sockets | None:
    """The sockets that a service manager opened for this process, if it did. Raises E_DAEMON."""
    if environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    try:
        return _taken(environ, int(environ.get("LISTEN_FDS", "")))
    except (OSError, ValueError) as error:
        message = f"The service manager's sockets cannot be used: {error}."
        hint = "`preread serve --install` writes units with the sockets that it takes."
        raise PrereadError("E_DAEMON", message, hint) from error


def _taken(environ: Mapping[str, str], count: int) -> Sockets:
    found = Sockets()
    for number in range(FIRST_GIVEN, FIRST_GIVEN + count):
        one = socket.socket(fileno=number)
        one.setblocking(False)
        if not one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            raise ValueError(f"descriptor {number} does not listen for connections")
        if one.family != socket.AF_UNIX:
            found.tcp = one
            _check_reach(environ, one.getsockname()[0])
        elif one.getsockname() == paths.http_socket(environ):
            found.http = one
        else:
            found.lines = one
    if found == Sockets():
        raise ValueError("LISTEN_FDS counts none")
    return found


async def _run(
    environ: Mapping[str, str], listen: Listen, sockets: Sockets, issuer: "Issuer | None"
) -> None:
    with anyio.CancelScope() as scope:
        async with serving(environ, issuer) as state, anyio.create_task_group() as tasks:
            servers = _servers(state, listen, sockets)
            for server, socket_ in servers:
                tasks.start_soon(_serve, server, socket_)
            accepting = await relays.listen(state, sockets.lines) if sockets.lines else None
            _spare_imports()
            await _signal()
            for server, _ in servers:
                server.should_exit = True
            if accepting is not None:
                accepting.close()
            state.end_streams()  # otherwise each is cut off and logged as an error
            state.stop_builds()
            scope.deadline = anyio.current_time() + END_SECONDS


def _servers(
    state: Serving, listen: Listen, sockets: Sockets
) -> list[tuple[Server, socket.socket]]:
    inner = app(state)
    found: list[tuple[Server, socket.socket]] = []
    if sockets.http is not None:
        guard: App = SocketGuard(inner, count=state.metrics.refuse)
        listener = BoundedListener(sockets.http)
        found.append((Server(_config(guard, listener)), listener))
    if sockets.tcp is not None:
        port = sockets.tcp.getsockname()[1]
        hosts = {*("[::1]" if name == "::1" else name for name in LOOPBACK), listen.host}
        hosts |= {socket.gethostname()} if listen.host not in LOOPBACK else set()
        guard = TcpGuard(
            inner, state.tokens, state.logins, [f"{host}:{port}" for host in hosts],
            pages=is_page, issuer=state.issuer, count=state.metrics.refuse,
        )  # fmt: skip
        listener = BoundedListener(sockets.tcp)
        found.append((Server(_config(guard, listener, listen)), listener))
    return found


def _config(guard: App, listener: BoundedListener, listen: Listen | None = None) -> uvicorn.Config:
    return uvicorn.Config(
        guard,
        http=partial(BoundedProtocol, listener=listener),  # type: ignore[arg-type]
        ws=BoundedWebSocket,
        lifespan="off",
        log_config=None,
        log_level="error",  # warnings are about clients, and any client could fill the log
        access_log=False,
        proxy_headers=False,  # a client could claim to be another
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_SECONDS,
        h11_max_incomplete_event_size=MAX_HEAD,
        ws_max_size=MAX_BODY,
        ws_per_message_deflate=False,  # a small frame could unpack to a huge one
        ssl_certfile=(listen and listen.certificate) or None,
        ssl_keyfile=(listen and listen.key) or None,
    )


def _spare_imports() -> None:
    """Exempt what was imported from garbage collection, during which no call makes progress."""
    gc.collect()
    gc.freeze()


async def _serve(server: Server, socket_: socket.socket) -> None:
    await server.serve(sockets=[socket_])


async def _signal() -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            return


def _forget(environ: Mapping[str, str], sockets: Sockets) -> None:
    """Remove the socket files, unless a service manager owns them."""
    if environ.get("LISTEN_PID") == str(os.getpid()) or sockets.lines is None:
        return
    with suppress(PrereadError):
        for path in (paths.http_socket(environ), paths.lines_socket(environ)):
            atomic.remove(Path(path))
