"""Read regular files: never through a link, never waiting for a pipe. Unreadable is not missing.

No other module of the package opens files of a project.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from preread.errors import Unreadable

# Nothing is there, or not a regular file: a folder, a link, a socket, a missing device.
ABSENT = frozenset(
    {
        errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV,
        errno.ENAMETOOLONG,
    }
)  # fmt: skip
# Follow no link and wait for no pipe. Flags that the platform lacks are 0.
_LINKED = os.O_RDONLY | sum(
    getattr(os, flag, 0) for flag in ("O_NONBLOCK", "O_BINARY", "O_CLOEXEC")
)
_PLAIN = _LINKED | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def read_errors(path: Path | str) -> Iterator[None]:
    """Raise Unreadable for an OSError in the block, unless it means that nothing is there."""
    try:
        yield
    except OSError as error:
        if error.errno in ABSENT:
            raise
        raise Unreadable(path, error) from error


def plain_bytes(
    path: Path | str, limit: int | None = None, *, follows_links: bool = False
) -> bytes | None:
    """The bytes of a regular file; None if it is missing, a link, folder or pipe, or too large.

    Raises Unreadable when there may be one that cannot be read.
    """
    with opened(path, follows_links=follows_links) as file:
        if file is None or (limit is not None and os.fstat(file.fileno()).st_size > limit):
            return None
        return file.read()


def obstacle(path: Path) -> str:
    """What is at a path in place of a file or a link to one; empty if nothing is, or unknown."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return ""
    if stat.S_ISREG(mode):
        return ""
    return "a folder" if stat.S_ISDIR(mode) else "a pipe, a socket or a device"


def require_no_obstacle(path: Path) -> None:
    """Raise Unreadable for a folder, a pipe or the like in place of a file that people write."""
    if kind := obstacle(path):
        raise Unreadable(path, OSError(errno.EISDIR, f"it is {kind}"))


def chunks(path: Path | str, size: int) -> Iterator[bytes]:
    """The bytes of a regular file in parts of this size; none if `plain_bytes` would be None.

    Raises Unreadable.
    """
    with opened(path) as file:
        while file is not None and (chunk := file.read(size)):
            yield chunk


@contextmanager
def opened(path: Path | str, *, follows_links: bool = False) -> Iterator[IO[bytes] | None]:
    """A regular file, or None. Raises Unreadable, also for an OSError in the block."""
    descriptor = _descriptor(path, follows_links=follows_links)
    if descriptor is None:
        yield None
        return
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                yield file
        else:
            yield None
    except OSError as error:
        raise Unreadable(path, error) from error
    finally:
        os.close(descriptor)


def _descriptor(path: Path | str, *, follows_links: bool) -> int | None:
    """The opened file's descriptor; None if there is no such file. Raises Unreadable."""
    try:
        if not (follows_links or hasattr(os, "O_NOFOLLOW")) and os.path.islink(path):  # noqa: PTH114
            return None
        return os.open(path, _LINKED if follows_links else _PLAIN)
    except ValueError:  # not a possible file name
        return None
    except OSError as error:
        if error.errno in ABSENT:
            return None
        raise Unreadable(path, error) from error


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; none if there is no such folder. Raises Unreadable."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - part of every cached load
    except OSError as error:
        if error.errno in ABSENT:
            return []
        raise Unreadable(folder, error) from error


def listed(folder: Path, suffix: str) -> list[Path]:
    """The entries of a folder with this suffix, sorted; empty if there is no such folder.

    Raises Unreadable.
    """
    return [folder / name for name in names_in(folder) if name.endswith(suffix)]
