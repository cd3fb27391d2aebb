"""Read regular files with limits: never through a link, never waiting for a pipe."""

import os
import stat
from pathlib import Path

from preread.gates.spans import MAX_BYTES

CHUNK = 1 << 20
_SAFE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)


def data_at(place: str) -> bytes | None:
    """The bytes of a regular file that is not a link, up to MAX_BYTES; else None."""
    try:
        with open(place, "rb", opener=lambda name, flags: os.open(name, flags | _SAFE)) as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_BYTES:
                return None
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        return None


def contains(place: Path, wanted: bytes) -> bool:
    """Whether a file of any size contains some bytes."""
    try:
        with place.open("rb") as file:
            tail = b""
            while chunk := file.read(CHUNK):
                if wanted in tail + chunk:
                    return True
                tail = chunk[-len(wanted) :]
    except OSError:
        return False
    return False
