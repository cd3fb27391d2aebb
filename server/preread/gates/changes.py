"""Which files of a project changed: by git where there is git, else by their times.

Time and the number of files are limited.
"""

from __future__ import annotations

import os
import stat
import time

from preread.gates import git_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

STATUS_SECONDS = 2.0
WALK_SECONDS = 1.0
MAX_PATHS = 5_000
MAX_OUTPUT = 4_000_000
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # as git names it; known without a commit
CLOCK_SLACK = 2.0  # a file's time may be this many seconds behind the clock
SKIPPED = frozenset(
    (".git", ".hg", ".svn", ".project", "node_modules", "__pycache__", ".venv", "venv", ".tox")
)


def git(root: str, *arguments: str, seconds: float = 1.0) -> bytes | None:
    """What git prints; None when it fails, is not installed, or takes too long."""
    import subprocess

    try:
        done = subprocess.run(
            [*git_command.COMMAND, *arguments], cwd=root,
            env=git_command.environ(root, os.environ), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    # `git config` has the status 1 when no key matches.
    succeeded = done.returncode == 0 or (done.returncode == 1 and arguments[:1] == ("config",))
    return done.stdout[:MAX_OUTPUT] if succeeded else None


def head(root: str) -> str:
    """The commit that is checked out; empty when there is none."""
    out = git(root, "rev-parse", "--verify", "-q", "HEAD")
    return out.decode("ascii", "replace").strip() if out else ""


def tree(root: str) -> str:
    """What the commit that is checked out contains, as git names it."""
    out = git(root, "rev-parse", "--verify", "-q", "HEAD^{tree}")
    return out.decode("ascii", "replace").strip() if out else EMPTY_TREE


def between(root: str, before: str, now: str) -> list[str]:
    """The files that differ between two trees."""
    if now == before:
        return []
    what = ("diff-tree", "-r", "--no-renames", "--name-only", "--relative", "-z", before, now)
    names = (git(root, *what) or b"").split(b"\0")
    return [os.fsdecode(name) for name in names if name][:MAX_PATHS]


def dirty(root: str) -> list[str] | None:
    """The files that differ from the last commit, untracked ones too; None when git fails."""
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
    filters = git(root, *git_command.LIST_FILTERS)
    options = None if filters is None else git_command.without_filters(filters)
    out = None if options is None else git(root, *options, *what, seconds=STATUS_SECONDS)
    if out is None:
        return None
    prefix = _prefix(root)
    if prefix is None:
        return None
    names = [os.fsdecode(entry[3:]) for entry in out.split(b"\0") if len(entry) > 3]
    return [name[len(prefix) :] for name in names if name.startswith(prefix)][:MAX_PATHS]


def _prefix(root: str) -> str | None:
    """This folder relative to the top of the working tree, where git's paths start."""
    if os.path.lexists(os.path.join(root, ".git")):
        return ""
    out = git(root, "rev-parse", "--show-prefix")
    return None if out is None else os.fsdecode(out.rstrip(b"\n"))


def committed(root: str, since: float, before: str) -> list[str]:
    """The files that commits since a time added or changed; `before` was checked out then."""
    now = head(root)
    if not before or not now or now == before:
        return []
    out = git(
        root, "log", "--relative", "--name-only", "-z", "--format=", "--no-renames",
        "--diff-filter=AM",
        "--max-count=200", f"--since={int(since)}", now, "^" + before, "--", ".",
    )  # fmt: skip
    names = [os.fsdecode(name.strip(b"\n")) for name in (out or b"").split(b"\0")]
    return [name for name in dict.fromkeys(names) if name][:MAX_PATHS]


def modified_since(root: str, since: float) -> Iterator[str]:
    """Without git: the files that were modified since a time."""
    end = time.monotonic() + WALK_SECONDS
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in files:
            if time.monotonic() > end:
                return
            path = os.path.join(folder, name)
            found = stamp(path)
            if found is not None and found[0] / 1e9 >= since - CLOCK_SLACK:
                yield os.path.relpath(path, root).replace(os.sep, "/")


def stamp(path: str) -> list[int] | None:
    """A regular file's time in nanoseconds and its size; None for anything else."""
    try:
        info = os.lstat(path)
    except (OSError, ValueError):
        return None
    return [info.st_mtime_ns, info.st_size] if stat.S_ISREG(info.st_mode) else None
