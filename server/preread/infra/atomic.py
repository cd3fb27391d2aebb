"""Replace and remove files. A reader sees a file's old bytes or its new ones, never a part."""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from preread.errors import MORE_FILES, PrereadError
from preread.infra.reading import names_in
from preread.layout import PROJECT

REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "not permitted",
}
IN_THE_WAY = {errno.ENOTDIR, errno.EEXIST, errno.EISDIR}
FILE_MODE = 0o644  # dossiers are ordinary files


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Raise E_WRITE for an OSError in the block, which writes `path`."""
    try:
        yield
    except OSError as error:
        why = REASONS.get(error.errno or 0) or error.strerror or str(error)
        hint = "Free some disk space or fix the permissions, then try again."
        if error.errno in {errno.EMFILE, errno.ENFILE}:
            hint = f"{MORE_FILES}, then try again."
        if error.errno in IN_THE_WAY:
            hint = "Move what is in the way (a file where a folder belongs, or the reverse)."
        message = f"{path} cannot be written: {why}."
        raise PrereadError("E_WRITE", message, hint, {"errno": error.errno}) from error


def make_folder(path: Path) -> None:
    """Create a folder and its parents, unless they exist. Raises E_WRITE, like all of these.

    A project's own folder is never created: it was renamed or removed meanwhile (E_PROJECT_DIR).
    """
    root = next((one.parent for one in (path, *path.parents) if one.name == PROJECT), None)
    with write_errors(path):
        if root is not None and not root.is_dir():
            message = f"{root} is gone; it was renamed or removed."
            raise PrereadError("E_PROJECT_DIR", message, "Call again with where it is now.")
        path.mkdir(parents=True, exist_ok=True)


def replace(source: Path, target: Path) -> None:
    """Move `source` over `target` in one step, even from another file system."""
    with write_errors(target):
        try:
            source.replace(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            write(target, source.read_bytes())
            source.unlink()


def write(path: Path, data: bytes, *, durable: bool = False, mode: int = FILE_MODE) -> None:
    """Write a file next to `path`, then move it into place. `durable` waits for the disk."""
    _write(path, data, durable=durable, mode=mode)
    if durable:
        sync_folder(path.parent)


def leftover_parts(folder: Path, name: str = "") -> list[Path]:
    """The temporary files that killed writers left in a folder, of all files or of one.

    Raises Unreadable.
    """
    start = f".{name}." if name else "."
    found = names_in(folder)
    return [folder / one for one in found if one.startswith(start) and one.endswith(".part")]


def write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, and wait for the disk."""
    for name, data in files.items():
        _write(folder / name, data, durable=True)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Wait until a folder's entries are on the disk, so that a power cut undoes no earlier rename.

    Does nothing on file systems that cannot do that for folders.
    """
    flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
    if not hasattr(os, "O_DIRECTORY"):
        return
    with write_errors(folder):
        handle = os.open(folder, flags)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EBADF}:
                raise
        finally:
            os.close(handle)


def _write(path: Path, data: bytes, *, durable: bool, mode: int = FILE_MODE) -> None:
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
            part.chmod(mode)
            part.replace(path)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise


def append(path: Path, line: bytes, *, durable: bool = False) -> None:
    """Append one line to a regular file, in one write. `durable` waits for the disk.

    A partial line that a killed writer left is ended first. Lines of concurrent writers never mix;
    there may be an empty line between them. Symbolic links are not followed.
    """
    make_folder(path.parent)
    # O_NONBLOCK: opening a pipe must not wait for its other end.
    safe = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with write_errors(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | safe, 0o644)
        try:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            is_partial = info.st_size and os.pread(handle, 1, info.st_size - 1) != b"\n"
            data = (b"\n" if is_partial else b"") + line + b"\n"
            if os.write(handle, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)


def remove(path: Path) -> None:
    """Remove a file or a folder if it exists. A symbolic link is removed, not followed."""
    with write_errors(path):
        while os.path.lexists(path):
            # Another process may be removing the same folder.
            with suppress(FileNotFoundError):
                if path.is_symlink() or not path.is_dir():
                    path.unlink()
                else:
                    shutil.rmtree(path)
