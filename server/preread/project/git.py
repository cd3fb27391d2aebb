"""Run git with the options of `gates.git_command`, in a process that can be cancelled."""

import errno
import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from preread.errors import Unreadable
from preread.gates import git_command
from preread.infra.reading import plain_bytes
from preread.infra.subprocesses import Done, Runner

SPARSE = re.compile(r"^\s*sparsecheckout\s*=\s*(true|yes|on|1)\s*$", re.IGNORECASE | re.MULTILINE)
SECONDS = 20.0  # default timeout
MAX_OF_GIT = 64_000_000  # bytes of one of git's files
MISSING = 127  # the exit status of a program that cannot be started
NO_SUCH_FILE = os.strerror(errno.ENOENT).encode()
KILLED = 129  # shells add the signal's number to 128


def failure(arguments: Sequence[str], done: Done, timeout: float, *, must: bool) -> str:
    """Why git did not answer, in words for people; empty if it did.

    A missing git is no failure: the project then has no history.
    """
    name = f"git {next(word for word in arguments if not word.startswith('-'))}"
    if done.timed_out:
        return f"{name} did not answer within {timeout:.0f} s"
    if done.status < 0 or done.status >= KILLED:
        return f"{name} was killed (exit status {done.status})"
    if done.status == MISSING and NO_SUCH_FILE not in done.err:
        return f"{name} cannot be started: {done.err.decode('utf-8', 'replace')[:200]}"
    if must and done.status not in {0, MISSING}:
        lines = done.err.decode("utf-8", "replace").strip().split("\n")
        verdict = next((line for line in lines if line.startswith("fatal: ")), lines[-1])
        return f"{name} failed: {verdict[:200] or f'exit status {done.status}'}"
    return ""


def folders(root: Path) -> tuple[Path, Path] | None:
    """The git folder of the work tree that contains `root`, and the one that worktrees share."""
    for place in (root, *root.parents):
        git = place / ".git"
        try:
            if (worktree := _line(git)) is not None:  # a worktree or a submodule
                git = place / worktree.removeprefix("gitdir:").strip()
            if (git / "HEAD").is_file():
                common = _line(git / "commondir")
                return git, git if common is None else git / common
        except (OSError, ValueError, Unreadable):
            return None
    return None


def head(root: Path) -> str:
    """The commit that is checked out, read from git's files; empty if they do not name it."""
    found = folders(root)
    try:
        if found is None:
            return ""
        git, shared = found
        name = _line(git / "HEAD") or ""
        if not name.startswith("ref: "):
            return name
        name = name.removeprefix("ref: ")
        if (commit := _line(shared / name)) is not None:
            return commit
        lines = (_line(shared / "packed-refs") or "").split("\n")
        return next((line.split()[0] for line in lines if line.endswith(f" {name}")), "")
    except (OSError, ValueError, Unreadable):
        return ""


def cut(root: Path) -> str:
    """What this work tree leaves out: `sparse:` or `shallow:` with digests; empty if nothing.

    Read from git's files, because a cached look-up must not start git.
    """
    found = folders(root)
    if found is None:
        return ""
    git, shared = found
    parts = []
    if any(SPARSE.search(_text(place)) for place in (shared / "config", git / "config.worktree")):
        parts.append(f"sparse:{_digest(_text(git / 'info' / 'sparse-checkout'))}")
    if shallow := _text(shared / "shallow"):
        parts.append(f"shallow:{_digest(shallow)}")
    return " ".join(parts)


def _text(path: Path) -> str:
    return (plain_bytes(path, MAX_OF_GIT) or b"").decode("utf-8", "replace")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _line(path: Path) -> str | None:
    data = plain_bytes(path, MAX_OF_GIT)
    return None if data is None else data.decode().strip()


def run(
    runner: Runner,
    root: Path,
    arguments: Sequence[str],
    environ: Mapping[str, str],
    timeout: float,
    check: Callable[[], None],
    feed: bytes = b"",
    inherit: Sequence[int] = (),
    index: Path | None = None,
) -> Done:
    """Run git in `root`, with `index` as its index file if given. `check` may raise to cancel."""
    command = [*git_command.COMMAND, *arguments]
    own = git_command.environ(str(root), environ)
    if index is not None:
        own["GIT_INDEX_FILE"] = str(index)
    more = {"feed": feed, "inherit": inherit} if feed or inherit else {}
    return runner(command, cwd=root, timeout=timeout, environ=own, check=check, **more)
