"""Fingerprint the files and folders that a cache lookup depends on.

While none of them has changed, a server can reuse the lookup's reply without looking up again. As
in git's index, times and inode stand for the content. A file that has just changed may change again
within the resolution of its time stamp (see "racy git" in git's documentation), so it has no valid
fingerprint yet.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path, PurePosixPath
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from preread import inputs
from preread.dossier import sources
from preread.dossier.sources import Ref
from preread.layout import BY_NAME, FILES, MANIFEST, Layout
from preread.models import Manifest
from preread.project import git
from preread.project.read import data_at
from preread.project.tree import WALK_SKIPS, is_young
from preread.services import Services

if TYPE_CHECKING:
    from preread.unchanged import Part

# The kernel reports what changes in the project's folders, and only the paths for which it does not
# are checked each time: at most MAX_MARKS, because with more a look-up is as fast. Where the kernel
# cannot report changes, at most MAX_PATHS are checked each time.
MAX_PATHS, MAX_MARKS = 2_000, 10_000
_SPARSE = ("config.worktree", "info/sparse-checkout")
MAX_LINKS = 40  # in a chain, like in Linux
# Change time, modification time and inode. A change of size changes the times.
Mark = tuple[int, int, int]


class Fingerprint:
    """Paths that a lookup depends on, with their marks, and paths that did not exist."""

    def __init__(
        self, marks: dict[str, Mark | None], watch: "Part | None" = None, changes: int = 0
    ) -> None:
        self._watch, self._changes = watch, changes
        self._marks = [(path, mark) for path, mark in marks.items() if mark is not None]
        self._absent = [path for path, mark in marks.items() if mark is None]

    def is_valid(self) -> bool:
        """Whether nothing has changed. Must be fast: every call answered from memory checks it."""
        if self._watch is not None and self._watch.changes() != self._changes:
            return False
        lstat = os.lstat
        try:
            for path, mark in self._marks:
                info = lstat(path)
                if (info.st_ctime_ns, info.st_mtime_ns, info.st_ino) != mark:
                    return False
        except OSError:
            return False
        return not any(map(os.path.lexists, self._absent))


def _mark(path: str) -> Mark | None:
    """The mark of a file or folder; None if it does not exist."""
    try:
        info = os.lstat(path)
    except (OSError, ValueError):
        return None
    return (info.st_ctime_ns, info.st_mtime_ns, info.st_ino)


def take(
    services: Services, manifest: Manifest, begun: int, others: Iterable[Path] = ()
) -> Fingerprint | None:
    """The fingerprint of a lookup that found this dossier and began at `begun`, in epoch ns.

    `others` are further files it depends on. None when a file changed too recently, or when there
    are too many of them and the kernel cannot say which change.
    """
    listed = (f"{services.layout.root}/{path}" for path in inputs.watched(services.tree))
    paths = chain(_paths(services, manifest), map(str, others), listed)
    unchanged = services.unchanged
    return _of(services.layout, unchanged.inputs if unchanged else None, paths, begun)


def of_dossier(services: Services, feature: str, begun: int) -> Fingerprint | None:
    """The fingerprint of a dossier's own files and of the gates file with its aliases.

    They were read at `begun`, in epoch ns. None when one of them changed too recently.
    """
    layout = services.layout
    folder = layout.dossier(feature)
    folders = (layout.project, layout.gates, layout.context, layout.staging, folder)
    files = (folder / name for name in (MANIFEST, *BY_NAME))
    unchanged = services.unchanged
    part = unchanged.dossiers if unchanged else None
    return _of(layout, part, map(str, (*folders, *files)), begun)


def _of(
    layout: Layout, part: "Part | None", named: Iterable[str], begun: int
) -> Fingerprint | None:
    """The fingerprint of these paths, and of the targets of those that are links.

    `part` watches the project's folders for it, if the kernel can report changes.
    """
    paths = [*chain.from_iterable(map(_with_targets, named))]
    folders = _folders_of(str(layout.root), paths) if part is not None else {}
    watch = part if part is not None and part.begin(folders) else None
    folders = folders if watch is not None else {}
    changes = watch.changes() if watch is not None else 0  # before the files are checked
    marks: dict[str, Mark | None] = {}
    for path in paths:
        if _is_watched(path, folders, begun):
            continue
        mark = marks[path] = _mark(path)
        is_much = len(marks) > (MAX_PATHS if watch is None else MAX_MARKS)
        if is_much or (mark and _is_young(mark, begun)):
            return None
    return Fingerprint(marks, watch, changes)


def _folders_of(root: str, paths: list[str]) -> dict[str, set[str]]:
    """The folders of the project that contain these paths or are among them, and what to watch.

    That is the paths' own names, those of the folders on the way to them, and, in a folder that is
    itself among the paths, everything that comes or goes. Not what is behind a link: nothing would
    be reported of the folders that lead to its target.
    """
    from preread.infra.inotify import ANY_ENTRY  # only a server needs it

    found: dict[str, set[str]] = {root: set()}
    for path in paths:
        while path.startswith(f"{root}/"):
            folder, _, name = path.rpartition("/")
            is_known = folder in found
            found.setdefault(folder, set()).add(name)
            if is_known:
                break
            path = folder  # noqa: PLW2901 - up to the root
    for path in paths:
        if path == root or path.startswith(f"{root}/"):
            found.setdefault(path, set()).add(ANY_ENTRY)
    device, kept = _device(root), dict[str, set[str]]()
    for folder in sorted(found, key=len):  # the folders above it first
        is_inside = folder == root or folder.rpartition("/")[0] in kept
        if is_inside and device is not None and _device(folder) == device:
            kept[folder] = found[folder]
    return kept


def _device(folder: str) -> int | None:
    """The device that a folder is on; None if it is no folder."""
    try:
        info = os.lstat(folder)
    except (OSError, ValueError):
        return None
    return info.st_dev if S_ISDIR(info.st_mode) else None


def _is_watched(path: str, folders: Mapping[str, Collection[str]], begun: int) -> bool:
    """Whether the kernel reports every change of a file, or of what a folder contains.

    It does not for the target of a link, nor for a file with other hard links. What has changed
    since `begun` may have done so before it was watched.
    """
    folder, _, name = path.rpartition("/")
    if path not in folders and folder not in folders:
        return False
    try:
        info = os.lstat(path)
    except (OSError, ValueError):
        return folder in folders
    is_file = name in folders.get(folder, ()) and S_ISREG(info.st_mode) and info.st_nlink == 1
    is_reported = is_file or (path in folders and S_ISDIR(info.st_mode))
    return is_reported and not _is_young((info.st_ctime_ns, info.st_mtime_ns, info.st_ino), begun)


def _is_young(mark: Mark, begun: int) -> bool:
    """Whether a file may change again with the same times."""
    return any(is_young(at, begun) for at in mark[:2])


def _with_targets(path: str) -> Iterator[str]:
    """A path and, if it is a link, each target in its chain: a link's mark ignores its target."""
    for _ in range(MAX_LINKS):
        yield path
        try:
            # pathlib is too slow for so many paths.
            path = os.path.join(os.path.dirname(path), os.readlink(path))  # noqa: PTH115, PTH118, PTH120
        except (OSError, ValueError):
            return


def _paths(services: Services, manifest: Manifest) -> Iterator[str]:
    """Every path that affects a lookup; for files that may be added, the folder."""
    layout = services.layout
    yield from map(str, _own_paths(layout, manifest))
    yield from _git_paths(layout.root)
    for report, deep in inputs.report_folders(services.settings).items():
        yield from _folders(layout.root / report, deep=deep)
    for path in inputs.report_paths(services.tree, services.settings):
        yield str(layout.root / path)
    yield from _folders(layout.root, deep=True)
    for text in manifest.spans:
        ref = sources.parse(text)
        if ref is not None:
            yield from _source_paths(services, ref)


def _own_paths(layout: Layout, manifest: Manifest) -> Iterator[Path]:
    """Paths in `.project`, and the root's ignore file."""
    folder = layout.dossier(manifest.feature)
    yield from (layout.project, layout.config, layout.knowledge, layout.context, layout.staging)
    yield from (layout.documents, layout.loaded)
    yield from (folder, folder / MANIFEST, *(folder / row.name for row in FILES))
    yield from (layout.run_record(manifest.feature), layout.results, layout.wrong)
    yield layout.root / ".gitignore"
    # The gates file has aliases. A stale hint written meanwhile must be cleared by a lookup.
    yield from (layout.gates, layout.stale(manifest.feature))
    if manifest.level != "light":
        yield layout.project / "prompts" / "context-builder.md.j2"
    if manifest.ticket:
        yield layout.ticket(manifest.ticket)


def _source_paths(services: Services, ref: Ref) -> Iterator[str]:
    """The paths that a source depends on."""
    layout = services.layout
    if ref.kind == "absent":
        literal = PurePosixPath(literal_folder(ref.path))
        yield from _folders(layout.root / literal, deep=True)
        yield from (str(layout.root / parent / ".gitignore") for parent in literal.parents)
        # Its matches are listed files.
    elif ref.kind == "run":
        yield str(layout.test_history)
    elif ref.kind == "ticket":
        yield str(layout.ticket(ref.name))
    elif ref.path:
        yield str(layout.root / ref.path)


def literal_folder(glob: str) -> str:
    """The folder that contains every match of a glob; empty for the root."""
    return re.split(r"[*?]", glob, maxsplit=1)[0].rpartition("/")[0]


def _folders(start: Path, *, deep: bool) -> Iterator[str]:
    """A folder and all below it: adding or removing a file changes its folder's time."""
    yield str(start)
    if deep:
        for folder, names, files in os.walk(start):
            if ".gitignore" in files:  # it can change which files count
                yield os.path.join(folder, ".gitignore")  # noqa: PTH118
            names[:] = [name for name in names if name not in WALK_SKIPS]
            yield from (os.path.join(folder, name) for name in names)  # noqa: PTH118


def _git_paths(root: Path) -> Iterable[str]:
    """The files that say which commits and files git has: HEAD, its branch, refs, the index."""
    yield str(root / ".git")
    found = git.folders(root)
    if found is None:
        return
    own, shared = found
    yield from (str(own / name) for name in ("HEAD", "index", *_SPARSE))
    yield from (str(shared / name) for name in ("packed-refs", "config", "info/exclude", "shallow"))
    with suppress(UnicodeDecodeError):
        head = (data_at(str(own / "HEAD")) or b"").decode().strip()
        if head.startswith("ref: "):
            yield str(shared / head.removeprefix("ref: "))
