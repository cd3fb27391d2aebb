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
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

# From <sys/inotify.h>: the events to report.
_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED, _CREATE, _DELETE = 0x2, 0x4, 0x8, 0xC0, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _ONLYDIR = 0x400, 0x800, 0x1000000
_ENTRIES = _MOVED | _CREATE | _DELETE
_CONTENT = _MODIFY | _ATTRIB | _CLOSE_WRITE
_IGNORED = 0x8000  # the last event of a folder that is gone
_MASK_ADD = 0x20000000  # a folder that is watched already keeps its events
_FOLDER = _ENTRIES | _DELETE_SELF | _MOVE_SELF | _ONLYDIR | _MASK_ADD
_HEAD = struct.Struct("iIII")  # of an event: watch, mask, cookie, length of the name after it
_BUFFER = 65_536
# From <linux/magic.h>: ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS, bcachefs.
_LOCAL = frozenset(
    {0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630, 0xF2F52010, 0x2FC12FC1, 0xCA451A4E}
)
ANY_ENTRY = ""  # as a name: whatever comes to a folder or goes, but not what changes in it
# Folders, each with the names in it that matter; None: all.
Wanted = Mapping[str, Collection[str] | None]


@dataclass
class _Interest:
    """What matters to one asker in one folder: these names, or None for all."""

    names: Collection[str] | None
    only_entries: bool

    def matters(self, mask: int, name: str) -> bool:
        if not name:  # about the folder itself
            return True
        is_entry = bool(mask & _ENTRIES)
        if self.only_entries and not is_entry:
            return False
        names = self.names
        return names is None or name in names or (is_entry and ANY_ENTRY in names)


class Folders:
    """One queue of changes in folders for several askers, because a user may have only 128 queues.

    Raises OSError if inotify is missing or exhausted.
    """

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "no inotify")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        weakref.finalize(self, os.close, self._queue)
        self._interests: dict[int, dict[Hashable, _Interest]] = {}

    def add(self, asker: Hashable, wanted: Wanted, *, only_entries: bool = False) -> None:
        """Queue what changes in these folders from now on. Raises OSError if it cannot.

        With `only_entries`, what comes to the folders and goes, but not what changes in them.
        """
        events = _FOLDER if only_entries else _FOLDER | _CONTENT
        for folder, names in wanted.items():
            watch = self._libc.inotify_add_watch(self._queue, os.fsencode(folder), events)
            interests = self._interests.setdefault(self._checked(watch), {})
            # Names are only added, because another thread may watch other names in the same folder.
            known = interests.get(asker, _Interest((), only_entries)).names
            both = None if known is None or names is None else {*known, *names}
            interests[asker] = _Interest(both, only_entries)

    def changed(self) -> set[Hashable]:
        """The askers for whom anything that matters has changed since the last call."""
        found: set[Hashable] = set()
        while data := self._read():
            found.update(self._askers(data))
        return found

    def _read(self) -> bytes:
        try:
            return os.read(self._queue, _BUFFER)
        except BlockingIOError:
            return b""

    def _askers(self, data: bytes) -> Iterator[Hashable]:
        at = 0
        while at < len(data):
            watch, mask, _, size = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            name = os.fsdecode(data[at : at + size].rstrip(b"\0"))
            at += size
            if watch not in self._interests:  # the queue was full
                for interests in self._interests.values():
                    yield from interests
            for asker, interest in self._interests.get(watch, {}).items():
                if interest.matters(mask, name):
                    yield asker
            if mask & _IGNORED:
                self._interests.pop(watch, None)

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
