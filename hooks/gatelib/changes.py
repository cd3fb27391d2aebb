"""Which files of a project changed, by git where there is git, else by their times. Bounded in time and number."""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

STATUS_SECONDS = 2.0
WALK_SECONDS = 1.0
MAX_PATHS = 5_000
MAX_OUTPUT = 4_000_000
GRAIN = 2.0  # seconds by which a file's time may lie before the clock's
SKIPPED = frozenset(
    (".git", ".hg", ".svn", ".project", "node_modules", "__pycache__", ".venv", "venv", ".tox")
)
# Nothing of a repository's settings starts a program, and nothing is written: another git may be at work.
_GIT = (
    "git", "--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "log.showSignature=false", "-c", "core.quotePath=false", "-c", "protocol.allow=never",
)  # fmt: skip
_ENVIRON = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}


def git(root: str, *arguments: str, seconds: float = 1.0) -> bytes | None:
    """What git says; None where it fails, is not there, or takes too long."""
    import subprocess

    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            [*_GIT, *arguments], cwd=root, env={**environ, **_ENVIRON}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout[:MAX_OUTPUT] if done.returncode == 0 else None


def head(root: str) -> str:
    """The commit that is checked out; empty where there is none."""
    said = git(root, "rev-parse", "--verify", "-q", "HEAD")
    return said.decode("ascii", "replace").strip() if said else ""


def dirty(root: str) -> list[str] | None:
    """The files that differ from the last commit, untracked ones too; None where git cannot say."""
    what = (
        "status",
        "--porcelain",
        "-z",
        "-uall",
        "--no-renames",
        "--ignore-submodules=all",
        "--",
        ".",
    )
    said = git(root, *what, seconds=STATUS_SECONDS)
    if said is None:
        return None
    top = _above(root)
    if top is None:
        return None
    names = [os.fsdecode(entry[3:]) for entry in said.split(b"\0") if len(entry) > 3]
    return [name[len(top) :] for name in names if name.startswith(top)][:MAX_PATHS]


def _above(root: str) -> str | None:
    """The way from the top of the working tree to this folder, with a final slash: paths are said from the top."""
    if os.path.lexists(os.path.join(root, ".git")):
        return ""
    said = git(root, "rev-parse", "--show-prefix")
    return None if said is None else os.fsdecode(said.rstrip(b"\n"))


def committed(root: str, since: float, before: str) -> list[str]:
    """The files of commits that were made since a time, and are new to a commit that was checked out then."""
    now = head(root)
    if not before or not now or now == before:
        return []
    said = git(
        root, "log", "--relative", "--name-only", "-z", "--format=", "--no-renames", "--diff-filter=AM",
        "--max-count=200", f"--since={int(since)}", now, "^" + before, "--", ".",
    )  # fmt: skip
    names = [os.fsdecode(name.strip(b"\n")) for name in (said or b"").split(b"\0")]
    return [name for name in dict.fromkeys(names) if name][:MAX_PATHS]


def touched(root: str, since: float) -> Iterator[str]:
    """Without git: the files whose time is later."""
    end = time.monotonic() + WALK_SECONDS
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in files:
            if time.monotonic() > end:
                return
            path = os.path.join(folder, name)
            seen = look(path)
            if seen is not None and seen[0] / 1e9 >= since - GRAIN:
                yield os.path.relpath(path, root).replace(os.sep, "/")


def look(path: str) -> list[int] | None:
    """Time in nanoseconds and size of a regular file, by which a change shows; None for anything else."""
    try:
        info = os.lstat(path)
    except (OSError, ValueError):
        return None
    return [info.st_mtime_ns, info.st_size] if stat.S_ISREG(info.st_mode) else None
