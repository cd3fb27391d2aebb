"""Read regular files with limits: never through a link, never waiting for a pipe."""

from pathlib import Path

from preread.gates.spans import MAX_BYTES
from preread.infra.reading import chunks, plain_bytes

CHUNK = 1 << 20


def data_at(place: str, limit: int = MAX_BYTES) -> bytes | None:
    """The bytes of a regular file that is not a link, up to the limit; else None.

    Raises Unreadable.
    """
    return plain_bytes(place, limit)


def contains(place: Path, wanted: bytes) -> bool:
    """Whether a file of any size contains some bytes. Raises Unreadable."""
    tail = b""
    for chunk in chunks(place, CHUNK):
        if wanted in tail + chunk:
            return True
        tail = chunk[-len(wanted) :]
    return False
