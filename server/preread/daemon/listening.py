"""Where the daemon listens: sockets that it opens, or that a service manager opened for it."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from preread.daemon import paths
from preread.daemon.tokens import Tokens
from preread.errors import PrereadError
from preread.infra import atomic

LOOPBACK = ("127.0.0.1", "localhost", "::1")
BACKLOG = 256
FIRST_INHERITED = 3  # the descriptor of a service manager's first socket


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


@dataclass
class Sockets:
    """The listening sockets."""

    tcp: socket.socket | None = None
    http: socket.socket | None = None
    lines: socket.socket | None = None


def check_certificate(listen: Listen) -> None:
    """Raises E_DAEMON if the files for TLS, if any, cannot be used."""
    if not listen.certificate and not listen.key:
        return
    import ssl

    try:
        if not listen.certificate:
            raise ValueError("there is a key but no certificate")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(listen.certificate, listen.key or None, password="")
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        why = error.strerror or error if isinstance(error, OSError) else error
        hint = "--certificate and --key take PEM files that belong together."
        message = f"These files cannot be used for TLS: {why}."
        raise PrereadError("E_DAEMON", message, hint) from error


def open_sockets(environ: Mapping[str, str], listen: Listen) -> Sockets:
    """Open the listening sockets. Raises E_DAEMON."""
    _check_reach(environ, listen.host)
    found = Sockets()
    try:  # first, because it leaves no files
        if listen.http:
            found.tcp = _tcp(listen.host, listen.port)
    except (OSError, OverflowError) as error:
        why = (isinstance(error, OSError) and error.strerror) or str(error)
        hint = "Use --port 0 for any free port, or --socket for the Unix sockets alone."
        message = f"The daemon cannot listen on {listen.host}, port {listen.port}: {why.lower()}."
        raise PrereadError("E_DAEMON", message, hint) from error
    try:
        if listen.sockets:
            found.http = _unix(paths.http_socket(environ))
            found.lines = _unix(paths.lines_socket(environ))
    except OSError as error:  # such as for a path of more than about 100 characters
        hint = "Set XDG_RUNTIME_DIR to another or a shorter folder, or use --http for TCP alone."
        message = f"The daemon cannot listen in {paths.runtime_folder(environ)}: {error}."
        raise PrereadError("E_DAEMON", message, hint) from error
    return found


def _check_reach(environ: Mapping[str, str], host: str) -> None:
    """Raises E_DAEMON if other machines can reach a host and there is no token yet."""
    if not host:  # like an unset variable; the system would take it for every address
        raise PrereadError("E_DAEMON", "The host is empty.", "Every address: --host 0.0.0.0.")
    if host not in LOOPBACK and all(one.is_expired for one in Tokens(environ).all()):
        raise PrereadError(
            "E_DAEMON",
            f"Other machines can reach {host}, and there is no token.",
            "Make one first: `preread token new --scope read`",
        )


def _unix(path: str) -> socket.socket:
    atomic.remove(Path(path))  # left by a killed daemon: this one holds the lock
    found = socket.socket(socket.AF_UNIX)
    found.bind(path)
    os.chmod(path, 0o600)  # noqa: PTH101 - `paths` has strings
    found.listen(BACKLOG)
    return found


def _tcp(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only for sockets with this protocol number.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind((host, port))
    found.listen(BACKLOG)
    return found


def inherited_sockets(environ: Mapping[str, str]) -> Sockets | None:
    """The sockets that a service manager opened for this process, if it did. Raises E_DAEMON."""
    if environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    try:
        return _inherited(environ, int(environ.get("LISTEN_FDS", "")))
    except (OSError, ValueError) as error:
        message = f"The service manager's sockets cannot be used: {error}."
        hint = "`preread serve --install` writes units with the sockets that it takes."
        raise PrereadError("E_DAEMON", message, hint) from error


def _inherited(environ: Mapping[str, str], count: int) -> Sockets:
    found = Sockets()
    for number in range(FIRST_INHERITED, FIRST_INHERITED + count):
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


def remove_sockets(environ: Mapping[str, str], sockets: Sockets) -> None:
    """Remove the socket files, unless a service manager owns them."""
    if environ.get("LISTEN_PID") == str(os.getpid()) or sockets.lines is None:
        return
    with suppress(PrereadError):
        for path in (paths.http_socket(environ), paths.lines_socket(environ)):
            atomic.remove(Path(path))
