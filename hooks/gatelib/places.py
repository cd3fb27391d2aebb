"""Which project a path belongs to, and what stands there: dossiers, and the hints that a build leaves."""

from __future__ import annotations

import os

from gatelib import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Optional

REQUIRED = ("patterns.md", "codebase.md", "summary.md")
SMALL = 4096  # what a hint or a switch holds at most
LARGE = 1 << 20  # as much of a dossier's file is looked at for more than white space


def absolute(path: str, cwd: str) -> str:
    """`path` against `cwd`, with `.` and `..` taken out as text. Raises events.Odd where neither is absolute."""
    whole = os.path.join(cwd, path)
    if not path or not os.path.isabs(whole):
        raise events.Odd("the target " + events.shown(path) + " is not absolute, and neither is cwd")
    whole = os.path.normpath(whole)
    return whole[1:] if whole.startswith("//") else whole


def project_of(path: str) -> Optional[str]:
    """The nearest folder above `path` that holds a `.project` folder or `.git`."""
    here = os.path.dirname(path)
    while True:
        if os.path.isdir(os.path.join(here, ".project")) or os.path.exists(os.path.join(here, ".git")):
            return here
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def session_root(event: Mapping[str, Any], environ: Mapping[str, str]) -> Optional[str]:
    """The project of the session: of CLAUDE_PROJECT_DIR, else of the event's cwd."""
    for folder in (environ.get("CLAUDE_PROJECT_DIR"), event.get("cwd")):
        if isinstance(folder, str) and os.path.isabs(folder):
            return project_of(os.path.join(os.path.normpath(folder), "."))
    return None


def variants(path: str, cwd: str) -> list[str]:
    """The target as it is named, and as it is with symbolic links resolved where that differs."""
    named = absolute(path, cwd)
    return list(dict.fromkeys([named, os.path.realpath(named)]))


def candidates(path: str, cwd: str) -> list[tuple[str, str]]:
    """(project, path relative to it) for each way in which the rules may know a target; the first one first."""
    found = []
    for variant in variants(path, cwd):
        root = project_of(variant)
        if root is not None:
            found.append((root, relative_to(root, variant)))
    undrafted = [(root, _undrafted(relative)) for root, relative in found]
    return list(dict.fromkeys(found + undrafted))


def relative_to(root: str, path: str) -> str:
    """A path below `root`, with `/` between its parts."""
    relative = path[len(root) :].lstrip(os.sep)
    return relative if os.sep == "/" else relative.replace(os.sep, "/")


def _undrafted(relative: str) -> str:
    *folders, name = relative.split("/")
    return "/".join([folder for folder in folders if folder != ".draft"] + [name])


def small(path: str) -> Optional[str]:
    """The text of a small file; None where there is none. Raises OSError, ValueError for what is no such file."""
    data = content(path, SMALL)
    return None if data is None else data.decode("utf-8")


def content(path: str, size: int) -> Optional[bytes]:
    """The first `size` bytes of a regular file; None where there is none. Raises OSError; never waits."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if os.fstat(handle).st_mode & 0o170000 != 0o100000:
            return None
        return os.read(handle, size)
    finally:
        os.close(handle)


def file_state(root: str, feature: str, name: str) -> str:
    """`missing`, `empty` or `there`: one required file of a dossier. Raises OSError."""
    data = content(_dossier(root, feature, name), LARGE)
    if data is None:
        return "missing"
    return "there" if data.strip() else "empty"


def complete(root: str, feature: str) -> bool:
    """Whether a dossier stands in one project."""
    return all(file_state(root, feature, name) == "there" for name in REQUIRED)


def standing(roots: Iterable[str], feature: str) -> bool:
    """Whether a feature's dossier stands in one of the projects."""
    return any(complete(root, feature) for root in roots)


def dossiers(root: str) -> list[str]:
    """The names of the folders in `.project/context`, standing or not, sorted."""
    try:
        return sorted(os.listdir(os.path.join(root, ".project", "context")))
    except (FileNotFoundError, NotADirectoryError):
        return []


def building(root: str, feature: str) -> bool:
    """Whether a build of the dossier runs: its hint holds a deadline that is not over."""
    import time

    try:
        deadline = small(os.path.join(root, ".project", ".cache", "building", feature))
        return deadline is not None and float(deadline) > time.time()
    except (OSError, ValueError):
        return False


def stale(root: str, feature: str) -> bool:
    """Whether the dossier was found to be stale."""
    return os.path.exists(os.path.join(root, ".project", ".cache", "stale", feature))


def _dossier(root: str, feature: str, name: str) -> str:
    return os.path.join(root, ".project", "context", feature, name)
