"""Reads what there is of a feature's dossier on disk, and the hints for the gates."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

REQUIRED = ("patterns.md", "codebase.md", "summary.md")
NONE = "none"  # the problem of a dossier that does not exist at all
MAX_HINT = 4096  # bytes of a hint or a switch
MAX_READ = 1 << 20  # bytes of a dossier's file that are searched for text


def folder(root: str, feature: str) -> str:
    return os.path.join(root, ".project", "context", feature)


def folders(root: str) -> list[str]:
    """The names of the folders in `.project/context`, complete dossiers or not, sorted."""
    try:
        return sorted(os.listdir(os.path.join(root, ".project", "context")))
    except (FileNotFoundError, NotADirectoryError):
        return []


def problem(root: str, feature: str) -> str:
    """What is wrong with a dossier: NONE, a phrase, or "" when it is complete. Raises OSError."""
    place = folder(root, feature)
    states = [file_state(os.path.join(place, name)) for name in REQUIRED]
    if all(state == "missing" for state in states):
        return NONE
    return next((name + " is " + state for name, state in zip(REQUIRED, states) if state), "")


def is_complete(roots: Iterable[str], feature: str) -> bool:
    """Whether one of the projects has a complete dossier of a feature. Raises OSError."""
    return any(not problem(root, feature) for root in roots)


def file_state(path: str) -> str:
    """`missing`, `no file`, `empty`, or "" for a file that has text. Raises OSError."""
    try:
        data = read_start(path, MAX_READ)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    if data is None:
        return "no file"
    return "" if data.strip() else "empty"


def is_building(root: str, feature: str) -> bool:
    """Whether a build of the dossier is running: its hint contains a deadline in the future."""
    try:
        deadline = read_time(os.path.join(root, ".project", ".cache", "building", feature))
    except OSError:
        return False
    if deadline is None:
        return False
    import time

    return deadline > time.time()


def is_stale(root: str, feature: str) -> bool:
    """Whether the dossier was found to be stale."""
    return os.path.exists(os.path.join(root, ".project", ".cache", "stale", feature))


def read_start(path: str, size: int) -> bytes | None:
    """The first `size` bytes of a regular file, else None. Raises OSError, and never waits."""
    if os.stat(path).st_mode & 0o170000 != 0o100000:
        return None
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        return os.read(handle, size)
    finally:
        os.close(handle)


def read_time(path: str) -> float | None:
    """The epoch seconds in a small file; None when it contains no such number. Raises OSError."""
    return time_of((read_start(path, MAX_HINT) or b"").strip())


def time_of(text: bytes) -> float | None:
    """Parse epoch seconds; None if the text is not such a number."""
    whole, dot, part = text.partition(b".")
    return float(text) if whole.isdigit() and (part.isdigit() or not dot) else None
