"""Read regular files with limits: never through a link, never waiting for a pipe."""

from contextlib import suppress
from pathlib import Path

from preread.gates.spans import MAX_BYTES
from preread.infra.reading import plain_bytes, read_errors

CHUNK = 1 << 20


def data_at(place: str) -> bytes | None:
    """The bytes of a regular file that is not a link, up to MAX_BYTES; else None.

    Raises Unreadable.
    """
    return plain_bytes(place, MAX_BYTES)


def contains(place: Path, wanted: bytes) -> bool:
    """Whether a file of any size contains some bytes. Raises Unreadable."""
    with suppress(OSError), read_errors(place), place.open("rb") as file:
        tail = b""
        while chunk := file.read(CHUNK):
            if wanted in tail + chunk:
                return True
            tail = chunk[-len(wanted) :]
    return False
