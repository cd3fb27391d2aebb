"""Locks between processes, even on file systems without locks (NFS, some FUSE ones)."""

import errno
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from filelock import BaseFileLock

UNSUPPORTED = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP})
POLL_SECONDS = 0.05
UMASK = -1  # as in filelock
# A holder on another machine that has not renewed its lease for so long is dead. On this machine,
# the lease of a dead process is taken over at once.
LEASE_SECONDS = 60.0


class FileLock:
    """A lock of the OS, which ends with its holder, or else a lease: a file that its holder renews.

    Not reentrant. `timeout` is in seconds; a negative one waits forever. Raises filelock.Timeout,
    which is a TimeoutError, and OSError.
    """

    def __init__(
        self, path: Path, timeout: float = -1, poll_interval: float = POLL_SECONDS,
        mode: int = UMASK,
    ) -> None:  # fmt: skip
        """`mode` is the permissions of a new file; UMASK leaves them to the umask."""
        from filelock import FileLock as Native  # not needed by a cached load

        self._path, self._timeout, self._poll = path, timeout, poll_interval
        self._mode = mode
        self._lock: BaseFileLock = Native(
            path, mode=mode, thread_local=False, fallback_to_soft=False
        )

    @property
    def is_locked(self) -> bool:
        return self._lock.is_locked

    @property
    def inherited(self) -> tuple[int, ...]:
        """Descriptors that a child keeps open to keep the lock if this process dies first."""
        context = getattr(self._lock, "_context", None)  # a lease has none, and expires by itself
        descriptor = getattr(context, "lock_file_fd", None)
        return () if descriptor is None else (descriptor,)

    def acquire(self, timeout: float | None = None) -> None:
        timeout = self._timeout if timeout is None else timeout
        try:
            self._lock.acquire(timeout, poll_interval=self._poll)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
            from filelock import SoftFileLease

            lease = self._path.with_suffix(".lease")
            self._lock = SoftFileLease(
                lease, mode=self._mode, lease_duration=LEASE_SECONDS, thread_local=False
            )
            self._lock.acquire(timeout, poll_interval=self._poll)

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def are_supported(folder: Path) -> bool:
    """Whether a folder's file system has locks, which SQLite needs."""
    try:
        return _are_supported(folder.stat().st_dev, folder)
    except OSError:  # nothing can be written there, which the first write reports
        return True


@cache
def _are_supported(_device: int, folder: Path) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows always has them
        return True
    import tempfile

    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in UNSUPPORTED
    return True
