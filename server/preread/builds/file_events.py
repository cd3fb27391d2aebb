"""Changed files as the system reports them, in batches."""

import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

STEP, DEBOUNCE, TURN = 100, 600, 500  # milliseconds: quiet time, longest batch, one wait
CHECKOUT_SECONDS = 10.0  # how long to wait for git to finish a checkout
# What the library's errors contain -> what that means.
REASONS = {
    "file watch limit": "the system has no file watches left (on Linux: raise the sysctl "
    "fs.inotify.max_user_watches)",
    "os error 24": "the system allows no further watcher or open file (on Linux: raise the sysctl "
    "fs.inotify.max_user_instances, or `ulimit -n`)",
}


class Unwatchable(Exception):  # noqa: N818 - what the files are
    """The system does not report changes of files; the text says why."""


class Batches:
    """The paths that changed, batch by batch; an empty batch each TURN in which none did.

    Both creating and reading it may raise Unwatchable; creating it, FileNotFoundError for a folder
    that was deleted.
    """

    def __init__(self, folders: set[str], stop: threading.Event) -> None:
        try:
            from watchfiles import watch
        except ImportError as error:
            raise Unwatchable(f"watchfiles cannot be imported ({error})") from None

        self._found = watch(
            *folders, watch_filter=None, debounce=DEBOUNCE, step=STEP, rust_timeout=TURN,
            yield_on_timeout=True, stop_event=stop, recursive=False,
        )  # fmt: skip
        self._first: set[str] | None = self._next()  # now the watches are in place

    def _next(self) -> set[str] | None:
        try:
            found = next(self._found, None)
        except FileNotFoundError:
            raise
        except (OSError, RuntimeError) as error:  # the library's own error is a RuntimeError
            raise Unwatchable(_why(error)) from error
        return None if found is None else {path for _, path in found}

    def __iter__(self) -> Iterator[set[str]]:
        batch = self._first
        while batch is not None:
            yield batch
            batch = self._next()

    def rest_of_checkout(self, root: Path) -> set[str]:
        """Further changes until git has finished its current command."""
        lock, found = root / ".git" / "index.lock", set[str]()
        end = time.monotonic() + CHECKOUT_SECONDS
        is_busy = lock.exists()
        while is_busy and time.monotonic() < end:
            is_busy = lock.exists()  # reads one more batch after git has removed it
            batch = self._next()
            if batch is None:
                break
            found |= batch
        return found


def has_other_folders(batch: Iterable[str], folders: set[str]) -> bool:
    """Whether a folder appeared or vanished. One that vanished is only known by its path."""
    return any(
        path in folders or os.path.isdir(path)  # noqa: PTH112
        for path in batch
    )


def _why(error: Exception) -> str:
    """Why the system reports no changes, in plain words."""
    text = str(error)
    known = (reason for part, reason in REASONS.items() if part in text)
    return next(known, text.partition(" about [")[0])
