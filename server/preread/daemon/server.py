"""The daemon's process: lock, servers, shutdown."""

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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import uvicorn

from preread import __version__
from preread.daemon import paths, relays
from preread.daemon.app import app
from preread.daemon.guard import MAX_BODY, MAX_HEAD, App, SocketGuard, TcpGuard
from preread.daemon.listening import (
    LOOPBACK,
    Listen,
    Sockets,
    check_certificate,
    inherited_sockets,
    open_sockets,
    remove_sockets,
)
from preread.daemon.log import Log
from preread.daemon.page.routes import is_page
from preread.daemon.protocol import BoundedListener, BoundedProtocol, BoundedWebSocket
from preread.daemon.service import alone
from preread.daemon.serving import Serving, serving
from preread.infra import atomic
from preread.mcp.shutdown import leave

if TYPE_CHECKING:
    from preread.daemon.issuer import Issuer

GRACE_SECONDS, END_SECONDS = 3, 8.0  # to shut down: for running requests, in total
THREADS_SECONDS = 1.0  # after that, for threads that are about to end
DESCRIPTORS = 8192


class Server(uvicorn.Server):
    """uvicorn's server, but the daemon handles signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def run(environ: Mapping[str, str], listen: Listen) -> None:
    """Serve until a signal. Raises E_DAEMON, E_WRITE."""
    check_certificate(listen)
    issuer = _issuer(listen)
    _allow_descriptors()
    with alone(environ), redirect_stderr(Log(sys.stderr)):
        found = inherited_sockets(environ) or open_sockets(environ, listen)
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
            remove_sockets(environ, found)
        hangs = _hangs()
    if hangs:
        leave(0)  # otherwise the interpreter would wait for that thread


def _allow_descriptors() -> None:
    """Raise the limit of open files, which is often 1,024: each project in use takes a few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):  # macOS may allow less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _hangs() -> bool:
    """Whether a worker thread hangs, as in a file system that does not answer."""
    until = time.monotonic() + THREADS_SECONDS
    others = (one for one in threading.enumerate() if one is not threading.current_thread())
    for one in [one for one in others if not one.daemon]:
        one.join(max(0.0, until - time.monotonic()))
        if one.is_alive():
            return True
    return False


def _issuer(listen: Listen) -> "Issuer | None":
    if not listen.issuer:
        return None
    from preread.daemon.issuer import Issuer

    return Issuer(listen.issuer)


async def _run(
    environ: Mapping[str, str], listen: Listen, sockets: Sockets, issuer: "Issuer | None"
) -> None:
    with anyio.CancelScope() as scope:
        async with serving(environ, issuer) as state, anyio.create_task_group() as tasks:
            servers = _servers(state, listen, sockets)
            for server, socket_ in servers:
                tasks.start_soon(_serve, server, socket_)
            accepting = await relays.listen(state, sockets.lines) if sockets.lines else None
            _freeze_imports()
            await _wait_for_signal()
            for server, _ in servers:
                server.should_exit = True
            if accepting is not None:
                accepting.close()
            state.projects.end_streams()  # otherwise each is cut off and logged as an error
            state.projects.stop_builds()
            scope.deadline = anyio.current_time() + END_SECONDS


def _servers(
    state: Serving, listen: Listen, sockets: Sockets
) -> list[tuple[Server, socket.socket]]:
    inner = app(state)
    found: list[tuple[Server, socket.socket]] = []
    if sockets.http is not None:
        guard: App = SocketGuard(inner, count=state.metrics.count_refusal)
        listener = BoundedListener(sockets.http)
        found.append((Server(_config(guard, listener)), listener))
    if sockets.tcp is not None:
        port = sockets.tcp.getsockname()[1]
        hosts = {*("[::1]" if name == "::1" else name for name in LOOPBACK), listen.host}
        hosts |= {socket.gethostname()} if listen.host not in LOOPBACK else set()
        guard = TcpGuard(
            inner, state.tokens, state.logins, [f"{host}:{port}" for host in hosts],
            pages=is_page, issuer=state.issuer, count=state.metrics.count_refusal,
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


def _freeze_imports() -> None:
    """Exempt all imported modules from garbage collection, which pauses every call."""
    gc.collect()
    gc.freeze()


async def _serve(server: Server, socket_: socket.socket) -> None:
    await server.serve(sockets=[socket_])


async def _wait_for_signal() -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            return
