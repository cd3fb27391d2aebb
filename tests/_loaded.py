"""A process that has loaded Preread and forks for each command line: real processes that need not load it anew.

To load the interpreter and the libraries was most of what a short command did, the same every time. What a fresh
interpreter does is seen by the tests that start their own: of signals, pipes, terminals, servers and the launcher.

A byte with a socket asks for a fork. The fork reads from the socket what it is to be, and its outputs; whoever asked
reads there the process's id, then how it ended.
"""

import gc
import importlib
import json
import os
import pkgutil
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

# What an interpreter reads as it starts; a process that is told otherwise has to start anew.
READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_", "PREREAD_TEST_")
USED_LATER = ("anyio._backends._asyncio", "jinja2", "rich.console", "rich.progress", "rich.table", "tree_sitter_python")


def read_at_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(READ_AT_START)}


# -- in the tests


class Loaded:
    """The process that has loaded Preread; it ends with the one that made it, and is no child of it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = read_at_start(environ)
        self._control, theirs = socket.socketpair()
        with theirs:
            subprocess.run(
                [sys.executable, str(Path(__file__).resolve()), str(theirs.fileno())],
                env=dict(environ), cwd="/", pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, start_new_session=True, check=True,
            )  # fmt: skip

    def run(
        self, arguments: Sequence[str], cwd: Path, environ: Mapping[str, str], timeout: float
    ) -> "subprocess.CompletedProcess[bytes]":
        """As subprocess.run with its outputs captured, which raises TimeoutExpired and kills the process then."""
        ours, theirs = socket.socketpair()
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        heard = {ours.fileno(): b"", out: b"", err: b""}
        try:
            with theirs:
                socket.send_fds(self._control, [b"."], [theirs.fileno()])
            socket.send_fds(ours, [json.dumps([list(arguments), str(cwd), dict(environ)]).encode()], [out_end, err_end])
            ours.shutdown(socket.SHUT_WR)
            os.close(out_end)
            os.close(err_end)
            in_time = _hear(heard, timeout)
            pid, _, status = heard[ours.fileno()].partition(b" ")
            if not (pid and (status or not in_time)):
                raise RuntimeError("the process that has loaded Preread has ended; its complaint is on standard error")
            if not in_time:
                os.kill(int(pid), signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(arguments), timeout, heard[out], heard[err])
            return subprocess.CompletedProcess(list(arguments), int(status), heard[out], heard[err])
        finally:
            ours.close()
            os.close(out)
            os.close(err)


def _hear(heard: dict[int, bytes], timeout: float) -> bool:
    """Read from each until its end; whether all came in time."""
    end = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for source in heard:
            selector.register(source, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0, end - time.monotonic()))
            if not ready:
                return False
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                heard[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
    return True


# -- in the process that has loaded it


def load() -> None:
    """Import what command lines use."""
    import preread

    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # as preread/__main__.py has it
    for module in pkgutil.walk_packages(preread.__path__, "preread."):
        if not module.name.startswith("preread.mcp_server"):
            importlib.import_module(module.name)
    for name in USED_LATER:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def serve(control: socket.socket) -> None:
    """Fork for each byte that comes, and return in the fork, as what it is to be; the end of input ends this."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    asking: dict[int, socket.socket] = {}
    while True:
        ready = select.select([control, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 1 << 12)
            _tell(asking)
        if control in ready:
            byte, [*descriptors], *_ = socket.recv_fds(control, 1, 1)
            if not byte:
                os._exit(0)
            asked = socket.socket(fileno=descriptors[0])
            if pid := os.fork():
                asking[pid] = asked
                asked.sendall(b"%d " % pid)
                continue
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for each in (control, *asking.values()):
                each.close()
            os.close(woken)
            os.close(wake)
            with asked:
                return become(asked)


def _tell(asking: dict[int, socket.socket]) -> None:
    """Who asked for a process that has ended is told how."""
    while asking:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with asking.pop(pid) as asked, suppress(OSError):
            asked.sendall(b"%d" % os.waitstatus_to_exitcode(status))


def become(asked: socket.socket) -> None:
    """Take over the arguments, folder, environment and outputs that are asked for."""
    data, outputs, *_ = socket.recv_fds(asked, 1 << 16, 2)
    while more := asked.recv(1 << 16):
        data += more
    for place, output in enumerate(outputs, 1):
        os.dup2(output, place)
        os.close(output)
    sys.stdout = open(1, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", 1, encoding=sys.stderr.encoding, errors=sys.stderr.errors, closefd=False
    )
    arguments, cwd, environ = json.loads(data)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    tempfile.tempdir = None
    sys.argv[1:] = arguments
    sys.path[0] = cwd


def main() -> int:
    if os.fork():
        os._exit(0)
    with socket.socket(fileno=int(sys.argv[1])) as control:
        load()
        serve(control)
    from preread.__main__ import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
