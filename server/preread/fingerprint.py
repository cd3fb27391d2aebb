"""What a covering look-up rested on: as long as every file and folder is as it was, it would find the same.

It spares a server the look-up itself. Size and times stand for the content, as in git's index; what has just
changed may change again without its time changing (see "racy git" in git's documentation) and is not trusted yet.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path, PurePosixPath

from preread import inputs, sources
from preread.layout import FILES, MANIFEST
from preread.models import Manifest
from preread.project.tree import WALK_SKIPS, is_young
from preread.services import Services

MOST = 2_000  # files and folders; beyond that looking at each is no faster than the look-up
MOST_LINKS = 40  # one behind the other, as many as Linux follows
Mark = tuple[int, int, int]


class Witness:
    """The files and folders behind one look-up, each with its mark; and those that were not there."""

    def __init__(self, marks: dict[str, Mark | None]) -> None:
        self._there = [(path, mark) for path, mark in marks.items() if mark is not None]
        self._absent = [path for path, mark in marks.items() if mark is None]

    def holds(self) -> bool:
        """Whether nothing has changed since. Part of every call that a server answers from memory, so kept bare."""
        look = os.lstat
        try:
            for path, mark in self._there:
                info = look(path)
                if (info.st_ctime_ns, info.st_mtime_ns, info.st_ino) != mark:
                    return False
        except OSError:
            return False
        return not any(map(os.path.lexists, self._absent))


def _mark(path: str) -> Mark | None:
    """What tells one state of a file or folder from another (a new size has a new change time); None: not there."""
    try:
        info = os.lstat(path)
    except (OSError, ValueError):
        return None
    return (info.st_ctime_ns, info.st_mtime_ns, info.st_ino)


def of(
    services: Services, manifest: Manifest, begun: int, others: Iterable[Path] = ()
) -> Witness | None:
    """The witness of a look-up that covered and began at `begun`, in nanoseconds since the epoch.

    `others` are further files that it rested on. None when something is too young, too many, or cannot be told so.
    """
    marks: dict[str, Mark | None] = {}
    for path in chain.from_iterable(
        map(_with_targets, chain(_paths(services, manifest), map(str, others)))
    ):
        mark = marks[path] = _mark(path)
        if len(marks) > MOST or (mark and _is_young(mark, begun)):
            return None
    return Witness(marks)


def _is_young(mark: Mark, begun: int) -> bool:
    """Whether what has this mark may change again without its times changing."""
    return any(is_young(at, begun) for at in mark[:2])


def _with_targets(path: str) -> Iterator[str]:
    """A path and, where it is a link, all that it leads over: a link does not change with its target."""
    for _ in range(MOST_LINKS):
        yield path
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))  # noqa: PTH115, PTH118, PTH120 - many of them
        except (OSError, ValueError):
            return


def _paths(services: Services, manifest: Manifest) -> Iterator[str]:
    """Everything whose change could change what a look-up finds; files as paths, additions as their folders."""
    layout = services.layout
    folder = layout.dossier(manifest.feature)
    own = [
        layout.project,
        layout.config,
        layout.knowledge,
        layout.context,
        folder,
        folder / MANIFEST,
        layout.staging,
    ]
    own += [folder / row.name for row in FILES]
    own += [layout.run_record(manifest.feature), layout.results, layout.root / ".gitignore"]
    own += [
        layout.gates,
        layout.stale(manifest.feature),
    ]  # aliases; a hint that the next look-up takes back
    if manifest.level != "light":
        own.append(layout.project / "prompts" / "context-builder.md.j2")
    if manifest.ticket:
        own.append(layout.ticket(manifest.ticket))
    yield from map(str, own)
    yield from _of_git(layout.root)
    for report, deep in inputs.report_folders(services.settings).items():
        yield from _folders(layout.root / report, deep=deep)
    for path in inputs.report_paths(services.tree, services.settings):
        yield str(layout.root / path)
    for text in manifest.spans:
        ref = sources.parse(text)
        if ref is not None and ref.kind == "absent":
            literal = PurePosixPath(literal_folder(ref.path))
            yield from _folders(layout.root / literal, deep=True)
            yield from (str(layout.root / parent / ".gitignore") for parent in literal.parents)
            yield from (str(layout.root / path) for path in services.tree.matching(ref.path))
        elif ref is not None and ref.kind == "run":
            yield str(layout.test_history)
        elif ref is not None and ref.kind == "ticket":
            yield str(layout.ticket(ref.name))
        elif ref is not None and ref.path:
            yield str(layout.root / ref.path)


def literal_folder(glob: str) -> str:
    """The folder that every match of a glob lies in; empty for the root."""
    return re.split(r"[*?]", glob, maxsplit=1)[0].rpartition("/")[0]


def _folders(start: Path, *, deep: bool) -> Iterator[str]:
    """A folder and all below it: a file that is added or removed changes the time of the one that holds it."""
    yield str(start)
    if deep:
        for folder, names, files in os.walk(start):
            if ".gitignore" in files:  # which files count can change without a folder's change
                yield os.path.join(folder, ".gitignore")  # noqa: PTH118
            names[:] = [name for name in names if name not in WALK_SKIPS]
            yield from (os.path.join(folder, name) for name in names)  # noqa: PTH118 - many of them


def _of_git(root: Path) -> Iterable[str]:
    """What says which commits and files git has: HEAD, the branch it names, packed refs, the index."""
    git = root / ".git"
    names = ["HEAD", "packed-refs", "index", "info/exclude"]
    try:
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return [
            str(git)
        ]  # no repository of its own here, or a worktree: its commits do not go away by themselves
    if head.startswith("ref: "):
        names.append(head.removeprefix("ref: "))
    return [str(git / name) for name in names]
