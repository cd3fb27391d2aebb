"""Folders whose changes the kernel queues (Linux); the queue is polled.

Unlike a watcher that is notified after a while, the queue has a change as soon as the call that
made it returns. It has only changes made through this machine's kernel, so only local file systems
are watched. Not reported: a change through another hard link, or through mapped memory until the
file is closed.
"""

import ctypes
import errno
import os
import struct
import sys
import weakref
from collections.abc import Collection, Iterable, Mapping

# From <sys/inotify.h>: the events to report.
_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED, _CREATE, _DELETE = 0x2, 0x4, 0x8, 0xC0, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _ONLYDIR = 0x400, 0x800, 0x1000000
_ENTRIES = _MOVED | _CREATE | _DELETE
_CONTENT = _MODIFY | _ATTRIB | _CLOSE_WRITE
_HEAD = struct.Struct("iIII")  # of an event: watch, mask, cookie, length of the name after it
_BUFFER = 65_536
# From <linux/magic.h>: ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS, bcachefs.
_LOCAL = frozenset(
    {0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630, 0xF2F52010, 0x2FC12FC1, 0xCA451A4E}
)
ANY_ENTRY = ""  # as a name: whatever comes to a folder or goes, but not what changes in it
# Folders, each with the names in it that matter; None: all.
Wanted = Mapping[str, Collection[str] | None]


class Folders:
    """A queue of changes in folders. Raises OSError if inotify is missing or exhausted.

    With `only_entries`, of what comes to the folders and goes, but not of what changes in them.
    """

    def __init__(self, *, only_entries: bool = False) -> None:
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "no inotify")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        weakref.finalize(self, os.close, self._queue)
        self._names: dict[int, Collection[str] | None] = {}
        content = 0 if only_entries else _CONTENT
        self._events = content | _ENTRIES | _DELETE_SELF | _MOVE_SELF | _ONLYDIR

    def add(self, wanted: Wanted) -> None:
        """Queue what changes in these folders from now on. Raises OSError if it cannot."""
        for folder, names in wanted.items():
            watch = self._libc.inotify_add_watch(self._queue, os.fsencode(folder), self._events)
            # Names are only added, because another thread may watch other names in the same folder.
            known = self._names.get(self._checked(watch), ())
            self._names[watch] = None if known is None or names is None else {*known, *names}

    def has_changed(self) -> bool:
        """Whether anything that matters has changed since the last call."""
        found = False
        while data := self._read():
            found = found or self._matters(data)
        return found

    def _read(self) -> bytes:
        try:
            return os.read(self._queue, _BUFFER)
        except BlockingIOError:
            return b""

    def _matters(self, data: bytes) -> bool:
        at = 0
        while at < len(data):
            watch, mask, _, size = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            name = os.fsdecode(data[at : at + size].rstrip(b"\0"))
            at += size
            names = self._names.get(watch)
            # Without a name, it is about the folder itself, or the queue was full.
            if names is None or not name or name in names:
                return True
            if mask & _ENTRIES and ANY_ENTRY in names:
                return True
        return False

    def _checked(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result


def is_local(folders: Iterable[str]) -> bool:
    """Whether all folders are on one local disk, so that this kernel sees every change.

    Raises OSError for a folder that does not exist.
    """
    if sys.platform != "linux":
        return False
    first, *others = folders
    device = os.stat(first).st_dev  # noqa: PTH116 - thousands of them
    if any(os.stat(folder).st_dev != device for folder in others):  # noqa: PTH116
        return False
    found = ctypes.create_string_buffer(512)  # struct statfs, which begins with the type, a long
    if ctypes.CDLL(None).statfs(os.fsencode(first), found) != 0:
        return False
    return (ctypes.c_long.from_buffer(found).value & 0xFFFFFFFF) in _LOCAL
