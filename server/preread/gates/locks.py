"""Locks between hooks that write the same file at the same time."""

from __future__ import annotations

import errno
import os
import time

try:
    import fcntl
except ImportError:  # Windows: no locks
    fcntl = None  # type: ignore[assignment]

PATIENCE = 1.0  # seconds
BUSY = frozenset({errno.EACCES, errno.EAGAIN, errno.EINTR})
APPEND = (
    os.O_RDWR
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)


def acquire(handle: int) -> bool:
    """Lock an open file; closing it unlocks it. False when the lock was not free in time."""
    end = time.monotonic() + PATIENCE
    while fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # Some file systems have no locks: waiting would not help.
            if error.errno not in BUSY or time.monotonic() > end:
                return False
            time.sleep(0.005)
        else:
            return True
    return True
