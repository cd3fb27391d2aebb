"""Skips updates in a long-running process while none of their inputs has changed.

The kernel reports changes in the folders; the database has an edition number, which changes
with every write of what is derived, also by other processes.
"""

import os
import threading
from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import suppress
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, TypeVar

from preread.infra import db
from preread.layout import Layout

if TYPE_CHECKING:
    from preread.infra.inotify import Folders, Wanted

T = TypeVar("T")
MAX_FOLDERS = 10_000


class _Queue:
    """The kernel's queue of changes in a project's folders, which its parts share. Thread-safe."""

    def __init__(self) -> None:
        self._folders: Folders | None = None  # None if folders cannot be watched
        self._changes = Counter[Hashable]()  # how often changes were seen, by part
        self._lock = threading.Lock()

    def changes(self, part: Hashable) -> int:
        with self._lock:
            if self._folders is not None:
                self._changes.update(self._folders.changed())
            return self._changes[part]

    def begin(self, part: Hashable, wanted: "Wanted", *, only_entries: bool) -> bool:
        from preread.infra.inotify import Folders, is_local  # a cached load does not need it

        if not wanted or len(wanted) > MAX_FOLDERS:
            return False
        # Not supported, no watches left, or the folder is gone.
        with suppress(OSError), self._lock:
            if not is_local(wanted):
                return False
            self._folders = self._folders or Folders()
            self._folders.add(part, wanted, only_entries=only_entries)
            return True
        return False


class Part:
    """Something that is kept up to date, such as the index of facts."""

    def __init__(self, queue: _Queue, *, only_entries: bool = False) -> None:
        """With `only_entries`, changes of a file's content do not matter."""
        self._queue, self._only_entries = queue, only_entries
        self._key = object()  # not `self`: in a cycle, the queue would stay open for a while
        self._current: tuple[int, str, int] | None = None

    def use(
        self,
        layout: Layout,
        work: Callable[[Connection], T],
        update: Callable[[Connection], None],
        folders: Callable[[], "Wanted"],
        head: str = "",
    ) -> T:
        """Run `work` on the database, after `update` unless there is nothing to update.

        There is nothing to update if nothing has changed in the folders since a call that found
        nothing to write, and `head` (the commit, where that matters) is the same. Thread-safe.
        """
        seen = self.changes()

        def whole(connection: Connection) -> T:  # both again if the database has to be replaced
            if self._current != (seen, head, db.edition(connection)):
                is_watched = self.begin(folders())  # before `update` reads them
                before = db.edition(connection)
                update(connection)
                # If something was written, other folders may matter now, or another process may be
                # in the middle of its own update: then the next call updates again.
                if is_watched and db.edition(connection) == before:
                    self._current = (seen, head, before)
            return work(connection)

        return db.use(layout, whole)

    def changes(self) -> int:
        """A counter that grows whenever something has changed."""
        return self._queue.changes(self._key)

    def begin(self, wanted: "Wanted") -> bool:
        """Watch these folders, too, from now on; returns whether that is possible."""
        return self._queue.begin(self._key, wanted, only_entries=self._only_entries)


class Unchanged:
    """The parts that a process keeps up to date for one project."""

    def __init__(self) -> None:
        queue = _Queue()
        self.facts, self.graph = Part(queue), Part(queue)
        # What a look-up, and the text of a published dossier, depend on; see `fingerprint`.
        self.inputs, self.dossiers = Part(queue), Part(queue)
        self._places = Part(queue, only_entries=True)
        self._guarded: tuple[Layout, int] | None = None

    def guarded(self, root: Path) -> Layout:
        """A project's layout; `guard` is skipped while none of its places could be a new link.

        Raises E_PROJECT_DIR and E_OUTSIDE.
        """
        seen = self._places.changes()
        if self._guarded is not None and self._guarded[0].root == root:
            layout, before = self._guarded
            if before == seen:
                return layout
        layout = Layout(root)
        is_watched = self._places.begin(layout.entries())  # before `guard` looks at them
        layout.guard()
        is_plain = not any(layout.links())  # what a link leads to is not watched
        self._guarded = (layout, seen) if is_watched and is_plain else None
        return layout


def merged(first: "Wanted", second: "Wanted") -> "Wanted":
    """The folders of both; None stands for all names in a folder."""
    both = {}
    for folder in (*first, *second):
        names = [one[folder] for one in (first, second) if folder in one]
        both[folder] = None if None in names else set().union(*filter(None, names))
    return both


def with_parents(folder: str, root: str) -> list[str]:
    """A folder, or its nearest existing ancestor, and all folders above it up to the root."""
    found = []
    while len(folder) > len(root):
        if os.path.isdir(folder):  # noqa: PTH112 - thousands of them
            found.append(folder)
        folder = folder.rpartition("/")[0]
    return [*found, root]
