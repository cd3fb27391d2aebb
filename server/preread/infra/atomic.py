"""The one place that replaces files: a reader meets the old bytes or the new ones, never a part."""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from preread.errors import PrereadError

NO_ROOM = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up"}
NOT_OURS = {
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "not permitted",
}


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn what the disk refuses while writing `path` into E_WRITE."""
    try:
        yield
    except OSError as error:
        why = (NO_ROOM | NOT_OURS).get(error.errno or 0) or error.strerror or str(error)
        raise PrereadError(
            "E_WRITE",
            f"{path} cannot be written: {why}.",
            "What was published before stands unchanged; make room or mend the permissions, then call again.",
            {"errno": error.errno},
        ) from error


def make_folder(path: Path) -> None:
    with write_errors(path):
        path.mkdir(parents=True, exist_ok=True)


def replace(source: Path, target: Path) -> None:
    """Put `source` in the place of `target` in one step; across file systems by a copy beside the target."""
    with write_errors(target):
        try:
            source.replace(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            write(target, source.read_bytes())
            source.unlink()


def write(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write a whole file beside `path`, then put it in place. `durable` waits for the disk."""
    make_folder(path.parent)
    with write_errors(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            part.chmod(0o644)  # dossiers are ordinary files
            part.replace(path)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise


def append(path: Path, line: bytes) -> None:
    """Add one line to a file, in one write; a line that a killed writer left open is ended before it.

    Lines of processes that append at the same time stand one after the other; who meets another's in the making adds an
    empty one. No link is followed, no pipe waited for.
    """
    make_folder(path.parent)
    flags = (
        os.O_RDWR
        | os.O_CREAT
        | os.O_APPEND
        | getattr(os, "O_NOFOLLOW", 0)
        | getattr(os, "O_NONBLOCK", 0)
    )
    with write_errors(path):
        handle = os.open(path, flags, 0o644)
        try:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")
            is_open = info.st_size and os.pread(handle, 1, info.st_size - 1) != b"\n"
            data = b"\n" * bool(is_open) + line + b"\n"
            if os.write(handle, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(handle)


def remove(path: Path) -> None:
    """Remove a file or a folder of ours, if it is there; a symbolic link is removed, not followed."""
    with write_errors(path):
        while os.path.lexists(path):
            # Another process may be removing the same folder: what is gone already is no failure.
            with suppress(FileNotFoundError):
                if path.is_symlink() or not path.is_dir():
                    path.unlink()
                else:
                    shutil.rmtree(path)
