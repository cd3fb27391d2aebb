"""Loaded by every Python process that a test starts: no network but loopback, no writes elsewhere."""

import os
import sys

ALLOWED = tuple(
    os.path.realpath(p) for p in os.environ.get("PREREAD_TEST_WRITES", "/tmp").split(os.pathsep)
)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


def forbid(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect":
        address = arguments[1]
        host = str(address[0]) if isinstance(address, tuple) else ""
        if host and host not in {"localhost", "::1"} and not host.startswith("127."):
            raise PermissionError(f"a test tried to reach {address}")
    elif event == "open":
        path, _, flags = arguments
        if isinstance(path, (str, bytes)) and isinstance(flags, int) and flags & WRITES:
            real = os.path.realpath(os.fsdecode(path))
            if not real.startswith((*ALLOWED, "/dev/", "/proc/self/")):
                raise PermissionError(f"a test tried to write {real}")


sys.addaudithook(forbid)
