"""One daemon per user: start it in the background, query it, stop it, install it as a service."""

import http.client
import json
import os
import shlex
import signal
import socket
import ssl
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from preread.daemon import paths
from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.locks import FileLock
from preread.infra.subprocesses import detached
from preread.models import Model

START_SECONDS, STOP_SECONDS, POLL_SECONDS = 60.0, 12.0, 0.05
ANSWER_SECONDS = 5.0
MAX_LOG = 2**20  # bytes, when a daemon starts
# A check whether a daemon runs holds its lock only for a moment.
LOCK_SECONDS = 0.2
SYSTEMD, LAUNCHD = ".config/systemd/user", "Library/LaunchAgents"
LABEL = "dev.preread.daemon"


class Status(Model):
    """A running daemon."""

    pid: int
    version: str
    port: int
    since: float
    answers: bool
    address: str


@contextmanager
def alone(environ: Mapping[str, str]) -> Iterator[None]:
    """Hold the lock that only one daemon per user can have. Raises E_DAEMON, E_WRITE."""
    folder = Path(paths.runtime_folder(environ))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:  # XDG_RUNTIME_DIR may be of a login session that has ended
        message = f"{folder} cannot be made: {error.strerror}."
        hint = "Set XDG_RUNTIME_DIR to a folder of your own, or unset it."
        raise PrereadError("E_WRITE", message, hint) from error
    if problem := paths.problem(str(folder)):
        hint = f"Run: chmod 700 {shlex.quote(str(folder))}"
        if "open" not in problem:
            hint = "Move it away, or set XDG_RUNTIME_DIR to a folder of your own."
        raise PrereadError("E_DAEMON", f"{folder} {problem}.", hint)
    lock = lock_of(environ)
    try:
        lock.acquire(timeout=LOCK_SECONDS)
    except TimeoutError as error:
        hint = "`preread serve status` shows it, `preread serve stop` ends it."
        raise PrereadError("E_DAEMON", "A daemon is running already.", hint) from error
    try:
        yield
    finally:
        lock.release()


def lock_of(environ: Mapping[str, str]) -> FileLock:
    path = Path(paths.runtime_folder(environ)) / "daemon.lock"
    return FileLock(path, poll_interval=LOCK_SECONDS / 20, mode=paths.PRIVATE)


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=ANSWER_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ANSWER_SECONDS)
        self.sock.connect(self._path)


def status(environ: Mapping[str, str]) -> Status | None:
    """The running daemon, or None."""
    if not _is_running(environ):
        return None
    try:
        about = json.loads(Path(paths.about(environ)).read_bytes())
    except (OSError, ValueError):
        return None  # it is still starting
    return Status(**about, answers=_answers(environ, about["address"]))


def _is_running(environ: Mapping[str, str]) -> bool:
    """Whether a process holds the daemon's lock."""
    if not paths.is_private(paths.runtime_folder(environ)):
        return False
    lock = lock_of(environ)
    try:
        lock.acquire(timeout=LOCK_SECONDS)
    except TimeoutError:
        return True
    lock.release()
    return False


def _connection(environ: Mapping[str, str], address: str) -> http.client.HTTPConnection:
    path, parts = paths.http_socket(environ), urlsplit(address)
    if os.path.exists(path):  # noqa: PTH110 - `paths` has strings
        return UnixConnection(path)
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "https":
        context = ssl._create_unverified_context()  # noqa: S323 - only to check whether it answers
        return http.client.HTTPSConnection(host, port, timeout=ANSWER_SECONDS, context=context)
    return http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS)


def _answers(environ: Mapping[str, str], address: str) -> bool:
    connection = _connection(environ, address)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


def detach(environ: Mapping[str, str], arguments: list[str]) -> Status:
    """Start a daemon in the background, and wait until it answers. Raises E_DAEMON."""
    if _is_running(environ):
        hint = "`preread serve status` shows it, `preread serve stop` ends it."
        raise PrereadError("E_DAEMON", "A daemon is running already.", hint)
    log = Path(paths.log(environ))
    if _size(log) > MAX_LOG:
        atomic.replace(log, log.with_suffix(".log.1"))
    before = _size(log)  # what earlier daemons wrote
    process = detached.start([sys.executable, "-m", "preread", "serve", *arguments], environ, log)
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        found = status(environ)
        if found is not None and found.answers:
            process.returncode = 0  # it outlives this process; nobody waits for it
            return found
        time.sleep(POLL_SECONDS)
    last = log.read_bytes()[before:].decode(errors="replace").removeprefix("error: E_DAEMON: ")
    hint = f"Its log: {log}" if last else "`preread serve` shows why."  # the disk may be full
    raise PrereadError("E_DAEMON", f"The daemon did not start. {last}".strip(), hint)


def stop(environ: Mapping[str, str]) -> Status:
    """End the daemon, and wait until it has ended. Raises E_DAEMON."""
    found = status(environ)
    if found is None:
        raise PrereadError("E_DAEMON", "No daemon is running.", "`preread serve` starts one.")
    with suppress(ProcessLookupError):
        os.kill(found.pid, signal.SIGTERM)
    until = time.monotonic() + STOP_SECONDS
    while time.monotonic() < until:
        if not _is_running(environ):
            return found
        time.sleep(POLL_SECONDS)
    message = f"Process {found.pid} has not ended within {STOP_SECONDS:.0f} s."
    raise PrereadError("E_DAEMON", message, f"kill -9 {found.pid} ends it; nothing is lost.")


def page_address(environ: Mapping[str, str], scope: str, namespace: str = "") -> str:
    """A one-time address of the page. Raises E_DAEMON."""
    found = status(environ)
    if found is None:
        hint = "`preread serve --detach` starts one."
        raise PrereadError("E_DAEMON", "No daemon is running.", hint)
    if not found.port or not os.path.exists(paths.http_socket(environ)):  # noqa: PTH110
        message = "The page needs a daemon with a port and a Unix socket."
        raise PrereadError("E_DAEMON", message, "Run `preread serve` without --http and --socket.")
    connection = UnixConnection(paths.http_socket(environ))
    try:
        query = urlencode({"scope": scope, "namespace": namespace})
        connection.request("POST", f"/code?{query}")
        answer = connection.getresponse()
        code = answer.read().decode("ascii", "replace")
    except OSError as error:
        message = f"The daemon does not answer: {error}."
        raise PrereadError("E_DAEMON", message, "`preread serve logs` shows why.") from error
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise PrereadError("E_DAEMON", f"The daemon gave no code: {code[:200]}")
    return f"{found.address}/?code={code}"


def _size(path: Path) -> int:
    """The size of a file in bytes; 0 if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def tail(environ: Mapping[str, str], lines: int) -> list[str]:
    """The last lines of the log; empty if there is none."""
    try:
        text = Path(paths.log(environ)).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return text.splitlines()[-lines:]


def units(environ: Mapping[str, str], platform: str = sys.platform) -> dict[Path, str]:
    """Unit files to start the daemon: at login, or with systemd at the first connection."""
    home = Path(environ.get("HOME") or Path.home())
    program = [sys.executable, "-m", "preread", "serve"]
    if platform == "darwin":
        return {home / LAUNCHD / f"{LABEL}.plist": _plist(program, paths.log(environ))}
    folder = home / SYSTEMD
    if os.path.isabs(environ.get("XDG_CONFIG_HOME", "")):  # noqa: PTH117
        folder = Path(environ["XDG_CONFIG_HOME"]) / "systemd" / "user"
    service = (
        "[Unit]\nDescription=Preread's daemon\nRequires=preread.socket\n\n[Service]\n"
        f"ExecStart={shlex.join(program).replace('%', '%%')}\n"
        "NoNewPrivileges=yes\nRestart=on-failure\n\n[Install]\nWantedBy=default.target\n"
    )
    listen = (
        f"[Unit]\nDescription=Sockets of Preread's daemon\n\n[Socket]\n"
        f"ListenStream=127.0.0.1:{paths.PORT}\nListenStream=%t/preread/http.sock\n"
        "ListenStream=%t/preread/mcp.sock\nSocketMode=0600\nDirectoryMode=0700\nNoDelay=true\n\n"
        "[Install]\nWantedBy=sockets.target\n"
    )
    return {folder / "preread.service": service, folder / "preread.socket": listen}


def install(environ: Mapping[str, str]) -> list[str]:
    """Write the unit files; returns their paths and the command to run next. Raises E_WRITE."""
    found = units(environ)
    for path, text in found.items():
        atomic.write(path, text.encode())
    if sys.platform == "darwin":
        return [*map(str, found), f"Now: launchctl load -w {next(iter(found))}"]
    return [
        *map(str, found),
        "Now: systemctl --user daemon-reload && systemctl --user enable --now preread.socket",
    ]


def _plist(program: list[str], log: str) -> str:
    import plistlib

    about: dict[str, Any] = {
        "Label": LABEL,
        "ProgramArguments": program,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "StandardErrorPath": log,
    }
    return plistlib.dumps(about).decode()
