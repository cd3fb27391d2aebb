"""Reads and writes the small files that hooks share, below `.project/`.

No link is followed, a file is replaced whole, and a file that cannot be read counts as missing.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from preread.gates import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 2_000_000
MAX_LISTED = 1000
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
_BINARY = getattr(os, "O_BINARY", 0)
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
READ = os.O_RDONLY | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | _BINARY
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | _BINARY
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class WhereWritable:
    """Ignore write errors in the block: in a read-only project, hooks only remember less."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _trace: object) -> bool:
        return isinstance(error, OSError) and error.errno in READ_ONLY


def safe_name(name: object) -> str:
    """A file name for an identifier from outside: itself when it is plain, else a hash of it."""
    text = name if isinstance(name, str) else repr(name)
    if 8 <= len(text) <= 64 and _PLAIN.issuperset(text):  # Windows reserves some shorter names
        return text
    import hashlib

    return "x" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def make_folder(root: str, *names: str) -> str:
    """Create the folder `.project/NAMES` if needed. Raises OSError when a part of it is a link."""
    place = root
    for name in (".project", *names):
        place = os.path.join(place, name)
        try:
            os.mkdir(place)
        except FileExistsError:
            if not is_folder(place):
                raise NotADirectoryError(place + " is a link, or not a folder") from None
    return place


def read_bytes(path: str, size: int = MAX_BYTES) -> bytes | None:
    """The bytes of a regular file of at most `size` bytes; None for anything else."""
    try:
        handle = os.open(path, READ)
    except (OSError, ValueError):
        return None
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_size > size:
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(size)
    except OSError:
        return None
    finally:
        os.close(handle)


def read_json(path: str, size: int = MAX_BYTES) -> dict[str, Any]:
    """The JSON object in a file; an empty one when there is none that can be read."""
    return json_object(read_bytes(path, size))


def json_object(data: bytes | None) -> dict[str, Any]:
    """The JSON object in these bytes; an empty one if there is none."""
    try:
        value = events.parse(data.decode("utf-8")) if data else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def write_bytes(path: str, data: bytes) -> None:
    """Replace a file in one step, so that nobody reads half of it. Raises OSError."""
    temporary = f"{path}.{os.getpid()}.{time.time_ns():x}.tmp"
    handle = os.open(temporary, CREATE, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        remove_file(temporary)
        raise


def write_texts(path: str, texts: dict[str, str]) -> None:
    """Write a JSON object of texts."""
    write_bytes(path, events.encode(texts).encode("ascii"))


def create_empty(path: str) -> bool:
    """Create an empty file; false when there is one already. Only one of several callers wins."""
    try:
        os.close(os.open(path, CREATE, 0o666))
    except FileExistsError:
        return False
    return True


def move(source: str, target: str) -> bool:
    """Rename a file in one step and touch it; false if it does not exist."""
    try:
        os.rename(source, target)
        os.utime(target)
    except OSError:
        return False
    return True


def remove_file(path: str) -> None:
    try:
        os.unlink(path)
    except (OSError, ValueError):
        pass


def remove(place: str) -> None:
    """Remove a file, a folder with all it contains, or a link itself."""
    if not is_folder(place):
        remove_file(place)
        return
    import shutil

    shutil.rmtree(place, ignore_errors=True)


def names_in(folder: str) -> list[str]:
    """The names of a folder's entries, sorted; temporary files are left out."""
    try:
        found = os.listdir(folder)
    except (OSError, ValueError):
        return []
    return sorted(name for name in found if not name.endswith(".tmp"))[:MAX_LISTED]


def is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def changed(path: str) -> float:
    """When a file's content or its times were last changed; 0 when there is none."""
    try:
        info = os.lstat(path)
    except (OSError, ValueError):
        return 0.0
    return max(info.st_mtime, info.st_ctime)


def modified(path: str) -> float:
    """When a file was last written, in epoch seconds; 0 when there is none."""
    try:
        return os.lstat(path).st_mtime
    except (OSError, ValueError):
        return 0.0
