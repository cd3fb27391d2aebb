"""A process that has loaded Preread once and forks for each command line, to save start-up time.

Loading the interpreter and the libraries was most of the time of a short command, always the same.
Tests of signals, pipes, terminals, servers and the launcher start interpreters of their own.

Whoever connects to its socket gets a fork, sends it the command and three streams, and receives the
process's id, then its exit status. `python _loaded.py SOCKET ARGUMENT...` does so with its own
streams and passes signals on, for callers that have to start a program.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NoReturn

# Variables that an interpreter reads at its start; a process with other values has to start anew.
READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_", "PREREAD_TEST_")
USED_LATER = (
    "anyio._backends._asyncio",
    "jinja2",
    "rich.console",
    "rich.live",
    "rich.table",
    "tree_sitter_python",
)
COMPILED = ("Python", "JavaScript", "TypeScript", "TSX")  # languages whose queries most tests use
MAX_GIVEN = 1 << 15  # bytes that fit into a pipe that nobody reads yet
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def read_at_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(READ_AT_START)}


# -- in the tests


class Loaded:
    """The process that has loaded Preread; it ends with its creator, but is not its child."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = read_at_start(environ)
        folder = tempfile.mkdtemp(prefix="loaded-")
        # The process removes it when its creator has ended, even if that was killed.
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self.place = str(Path(folder) / "socket")
        self._life, theirs = socket.socketpair()
        atexit.register(self._life.close)
        with theirs, socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.place)
            listening.listen(64)
            held = [theirs.fileno(), listening.fileno()]
            subprocess.run(
                [sys.executable, str(Path(__file__).resolve()), *map(str, held)],
                env=dict(environ), cwd="/", pass_fds=held, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True, check=True,
            )  # fmt: skip

    def start(
        self, arguments: Sequence[str], cwd: Path, environ: Mapping[str, str], given: bytes = b""
    ) -> "Forked":
        return Forked(self.place, arguments, cwd, environ, given)

    def run(
        self,
        arguments: Sequence[str],
        cwd: Path,
        environ: Mapping[str, str],
        timeout: float,
        given: bytes = b"",
    ) -> "subprocess.CompletedProcess[bytes]":
        """Like subprocess.run with captured output and at most MAX_GIVEN bytes of input; on
        TimeoutExpired the process is killed.
        """
        process = self.start(arguments, cwd, environ, given)
        try:
            out, err = process.communicate(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return subprocess.CompletedProcess(process.args, process.wait(), out, err)

    def program(self, arguments: Sequence[str]) -> list[str]:
        """A command that becomes Preread with these arguments."""
        return [sys.executable, "-IS", str(Path(__file__).resolve()), self.place, *arguments]


class Forked:
    """A forked command line, as subprocess.Popen has it with pipes for both outputs."""

    def __init__(
        self,
        place: str,
        arguments: Sequence[str],
        cwd: Path,
        environ: Mapping[str, str],
        given: bytes = b"",
    ) -> None:
        self.args, self.returncode, self._open = list(arguments), None, set[int]()
        (self.stdout, out_end), (self._err, err_end) = os.pipe(), os.pipe()
        try:
            with standard_input(given) as read, ask(place) as asked:
                self.pid = be(
                    asked, arguments, str(cwd), environ, [read.fileno(), out_end, err_end]
                )
                self._end = os.dup(asked.fileno())
        finally:
            os.close(out_end)
            os.close(err_end)
        self._heard = {self._end: b"", self.stdout: b"", self._err: b""}
        self._open = set(self._heard)

    def poll(self) -> int | None:
        return self.returncode if self._hear({self._end}, 0) else None

    def wait(self, timeout: float | None = None) -> int:
        if not self._hear({self._end}, timeout):
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode or 0

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        if not self._hear(set(self._heard), timeout):
            raise subprocess.TimeoutExpired(
                self.args, timeout or 0, self._heard[self.stdout], self._heard[self._err]
            )
        return self._heard[self.stdout], self._heard[self._err]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            _send(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _hear(self, sources: set[int], timeout: float | None) -> bool:
        """Read from these until their end; whether it came in time."""
        end = None if timeout is None else time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            for source in sources & self._open:
                selector.register(source, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(None if end is None else max(0, end - time.monotonic()))
                if not ready:
                    return False
                for source in [key.fd for key, _ in ready]:
                    try:
                        data = os.read(source, 1 << 16)
                    except (
                        ConnectionResetError
                    ):  # killed before it had read what it is to be; how it ended came before
                        data = b""
                    self._heard[source] += data
                    if not data:
                        selector.unregister(source)
                        self._shut(source)
        return True

    def _shut(self, source: int) -> None:
        self._open.discard(source)
        os.close(source)
        if source == self._end:
            self.returncode = int(self._heard[source])

    def __del__(self) -> None:
        for source in self._open:
            os.close(source)


def standard_input(given: bytes) -> BinaryIO:
    """A pipe that has been given these bytes and nothing else; without any, the null device."""
    if not given:
        return open(os.devnull, "rb")  # noqa: PTH123
    read, write = os.pipe()
    with open(write, "wb") as pipe:  # noqa: PTH123
        pipe.write(given)
    return open(read, "rb")  # noqa: PTH123


def ask(place: str) -> socket.socket:
    asked = socket.socket(socket.AF_UNIX)
    asked.connect(place)
    return asked


def be(
    asked: socket.socket,
    arguments: Sequence[str],
    cwd: str,
    environ: Mapping[str, str],
    streams: Sequence[int],
) -> int:
    """Tell the fork what it is to be; its process id."""
    socket.send_fds(asked, [json.dumps([list(arguments), cwd, dict(environ)]).encode()], streams)
    asked.shutdown(socket.SHUT_WR)
    pid = b""
    while not pid.endswith(b" "):
        byte = asked.recv(1)
        if not byte:
            raise RuntimeError(
                "the process that has loaded Preread has ended; its complaint is on standard error"
            )
        pid += byte
    return int(pid)


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):  # it ended just now
        os.kill(pid, number)


# -- in a process that becomes one


def stand_in(place: str, arguments: Sequence[str]) -> NoReturn:
    """Have a fork take over the streams, pass signals on to it, and end as it ends."""
    with ask(place) as asked:
        signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)  # until they can be passed on
        pid = be(asked, arguments, str(Path.cwd()), os.environ, [0, 1, 2])
        for number in PASSED_ON:
            signal.signal(number, lambda number, _: _send(pid, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        status = int(asked.recv(16))
    if status < 0:
        with suppress(OSError):  # the handler of SIGKILL cannot be set
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


# -- in the process that has loaded it


def load() -> None:
    """Import what command lines and servers use."""
    import preread

    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # as preread/__main__.py has it
    for module in pkgutil.walk_packages(preread.__path__, "preread."):
        importlib.import_module(module.name)
    for name in USED_LATER:
        importlib.import_module(name)
    from preread.languages import LANGUAGES
    from preread.syntax import queries

    for language in LANGUAGES:
        if language.name in COMPILED:
            queries.definitions_of(language)
            queries.contents_of(language)
    gc.collect()
    gc.freeze()


def serve(life: socket.socket, listening: socket.socket) -> None:
    """Fork for each connection and return in the fork; ends the process when `life` ends."""
    place = listening.getsockname()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    asking: dict[int, socket.socket] = {}
    while True:
        ready = select.select([life, listening, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 1 << 12)
            _tell(asking)
        if life in ready:
            shutil.rmtree(Path(place).parent, ignore_errors=True)
            os._exit(0)
        if listening in ready:
            asked, _ = listening.accept()
            if pid := os.fork():
                asking[pid] = asked
                asked.sendall(b"%d " % pid)
                continue
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for each in (life, listening, *asking.values()):
                each.close()
            os.close(woken)
            os.close(wake)
            with asked:
                return become(asked)


def _tell(asking: dict[int, socket.socket]) -> None:
    """Report how a process ended to whoever asked for it."""
    while asking:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with asking.pop(pid) as asked, suppress(OSError):
            asked.sendall(b"%d" % os.waitstatus_to_exitcode(status))


def become(asked: socket.socket) -> None:
    """Take over the arguments, folder, environment and streams that are asked for."""
    data, streams, *_ = socket.recv_fds(asked, 1 << 16, 3)
    while more := asked.recv(1 << 16):
        data += more
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    for place, name in enumerate(
        ("stdin", "stdout", "stderr")
    ):  # reopened: they may not have been pipes
        old, mode, buffering = (
            getattr(sys, name),
            "r" if name == "stdin" else "w",
            1 if name == "stderr" else -1,
        )
        setattr(sys, name, open(place, mode, buffering, old.encoding, old.errors, closefd=False))  # noqa: SIM115
    arguments, cwd, environ = json.loads(data)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    tempfile.tempdir = None
    sys.argv[1:] = arguments
    sys.path[0] = cwd


def main() -> None:
    if not sys.argv[1].isdigit():
        stand_in(sys.argv[1], sys.argv[2:])
    if os.fork():
        os._exit(0)
    life, listening = (socket.socket(fileno=int(number)) for number in sys.argv[1:])
    with life, listening:
        load()
        serve(life, listening)
    from preread.__main__ import main

    leave(main())


def leave(status: int) -> NoReturn:
    """End as the interpreter does, but leave it to the system to free what was loaded."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
