"""Which project a path belongs to, and what stands there: dossiers, and the hints that a build leaves."""

from __future__ import annotations

import os

from gatelib import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

REQUIRED = ("patterns.md", "codebase.md", "summary.md")
SMALL = 4096  # what a hint or a switch holds at most
LARGE = 1 << 20  # as much of a dossier's file is looked at for more than white space


def absolute(path: str, cwd: str) -> str:
    """`path` against `cwd`, with `.` and `..` taken out as text. Raises events.Odd where neither is absolute."""
    if not is_path(path):
        raise events.Odd("the target " + events.shown(path) + " is no path")
    if not os.path.isabs(path):
        if not os.path.isabs(cwd) or not is_path(cwd):
            raise events.Odd(
                "the target " + events.shown(path) + " is not absolute, and neither is cwd"
            )
        path = os.path.join(cwd, path)
    path = os.path.normpath(path)
    return path[1:] if path.startswith("//") else path


def project_of(path: str) -> str | None:
    """The nearest folder above `path` that holds a `.project` folder or `.git`."""
    here = os.path.dirname(path)
    while True:
        if os.path.isdir(os.path.join(here, ".project")) or os.path.exists(
            os.path.join(here, ".git")
        ):
            return here
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def session_root(event: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    """The project of the session: of CLAUDE_PROJECT_DIR, or where that has none, of the event's cwd."""
    for folder in (environ.get("CLAUDE_PROJECT_DIR"), event.get("cwd")):
        if isinstance(folder, str) and os.path.isabs(folder) and is_path(folder):
            root = project_of(os.path.join(absolute(folder, folder), "x"))
            if root is not None:
                return root
    return None


def is_path(text: str) -> bool:
    """Whether a file can have this name: no NUL, no half of a surrogate pair."""
    return "\0" not in text and (
        text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
    )


def located(path: str) -> list[tuple[str, str]]:
    """(project, path relative to it) of an absolute path, as text and with symbolic links resolved."""
    found = []
    for variant in dict.fromkeys([path, os.path.realpath(path)]):
        root = project_of(variant)
        if root is not None:
            found.append((root, relative_to(root, variant)))
    return found


def candidates(path: str, cwd: str) -> list[tuple[str, str]]:
    """(project, path relative to it) for each way in which the rules may know a target; the first one first."""
    found = located(absolute(path, cwd))
    return list(dict.fromkeys(found + [(root, _undrafted(relative)) for root, relative in found]))


def relative_to(root: str, path: str) -> str:
    """A path below `root`, with `/` between its parts."""
    relative = path[len(root) :].lstrip(os.sep)
    return relative if os.sep == "/" else relative.replace(os.sep, "/")


def _undrafted(relative: str) -> str:
    *folders, name = relative.split("/")
    return "/".join([folder for folder in folders if folder != ".draft"] + [name])


def content(path: str, size: int) -> bytes | None:
    """The first `size` bytes of a regular file; None for whatever else is there. Raises OSError; never waits."""
    if os.stat(path).st_mode & 0o170000 != 0o100000:
        return None
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        return os.read(handle, size)
    finally:
        os.close(handle)


def seconds(path: str) -> float | None:
    """The time that a small file holds; None where it holds none. Raises OSError."""
    text = (content(path, SMALL) or b"").strip()
    whole, dot, part = text.partition(b".")
    return float(text) if whole.isdigit() and (part.isdigit() or not dot) else None


def problem(root: str, feature: str) -> str:
    """What a dossier lacks: `none` where nothing of it is there, "" where it stands. Raises OSError."""
    folder = os.path.join(root, ".project", "context", feature)
    states = [file_state(os.path.join(folder, name)) for name in REQUIRED]
    if all(state == "missing" for state in states):
        return "none"
    return next((name + " is " + state for name, state in zip(REQUIRED, states) if state), "")


def file_state(path: str) -> str:
    """`missing`, `no file`, `empty`, or "" for a file that holds something. Raises OSError."""
    try:
        data = content(path, LARGE)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    if data is None:
        return "no file"
    return "" if data.strip() else "empty"


def standing(roots: Iterable[str], feature: str) -> bool:
    """Whether a feature's dossier stands in one of the projects."""
    return any(not problem(root, feature) for root in roots)


def dossiers(root: str) -> list[str]:
    """The names of the folders in `.project/context`, standing or not, sorted."""
    try:
        return sorted(os.listdir(os.path.join(root, ".project", "context")))
    except (FileNotFoundError, NotADirectoryError):
        return []


def building(root: str, feature: str) -> bool:
    """Whether a build of the dossier runs: its hint holds a deadline that is not over."""
    try:
        deadline = seconds(os.path.join(root, ".project", ".cache", "building", feature))
    except OSError:
        return False
    if deadline is None:
        return False
    import time

    return deadline > time.time()


def stale(root: str, feature: str) -> bool:
    """Whether the dossier was found to be stale."""
    return os.path.exists(os.path.join(root, ".project", ".cache", "stale", feature))
