"""Undo a creation or finish a removal, from whatever state a killed process left."""

import os
from contextlib import suppress
from pathlib import Path

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.worktrees import records, rescue
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository

INITIALIZING = "initializing"  # the reason in git's own lock while it creates a worktree


def creation(repository: Repository, record: Record) -> None:
    """Undo the creation of a worktree, in which nobody can have worked yet."""
    _drop(repository, record)
    at = repository.commit_of(record.branch)
    if at == record.begun_at:  # otherwise the branch is somebody else's
        repository.run("update-ref", "-d", record.branch, at)
    records.forget(repository.layout, record.name)


def removal(repository: Repository, record: Record) -> None:
    """Remove a worktree and its branch; its work is merged or kept under a ref.

    The branch stays if it has moved since.
    """
    _drop(repository, record)
    if record.tip:
        repository.run("update-ref", "-d", record.branch, record.tip, must=False)
    records.forget(repository.layout, record.name)


def deleted(repository: Repository, record: Record) -> list[str]:
    """Forget a worktree whose folder somebody deleted. Its branch keeps what was committed.

    Returns the refs under which otherwise lost work was kept.
    """
    path = records.path_of(repository, record.name)
    entry = entry_of(repository, path)
    kept = rescue.keep(repository, record.name, entry) if entry else []
    if not (path / ".git").exists() and not any(path.glob("*")):
        _drop(repository, record)
    records.forget(repository.layout, record.name)
    return kept


def inner(repository: Repository, path: Path) -> list[str]:
    """The submodules whose repositories are inside a worktree's git folder."""
    entry = entry_of(repository, path)
    modules = entry / "modules" if entry else path / "none"
    return sorted(one.name for one in modules.iterdir()) if modules.is_dir() else []


def _drop(repository: Repository, record: Record) -> None:
    """Remove a worktree's folder and git's own record of it."""
    path = records.path_of(repository, record.name)
    atomic.remove(path)
    repository.run("worktree", "unlock", str(path), must=False)
    repository.run("worktree", "remove", "--force", "--force", str(path), must=False)
    for folder in _entries(repository):
        if _is_half_created(folder, record.name):
            atomic.remove(folder)


def _entries(repository: Repository) -> list[Path]:
    with suppress(OSError):
        return sorted((repository.common / "worktrees").iterdir())
    return []


def _is_half_created(folder: Path, name: str) -> bool:
    """Whether git was killed while it created this folder for a worktree.

    Git then neither lists nor prunes the worktree; if `commondir` is empty, it lists none at all.
    """
    if folder.name.rstrip("0123456789") != name.rstrip("0123456789"):
        return False
    with suppress(OSError):
        locked = folder / "locked"
        is_initializing = INITIALIZING.encode() in (plain_bytes(locked) or b"")
        is_whole = (folder / "gitdir").is_file() and bool(plain_bytes(folder / "commondir"))
        return is_initializing and not is_whole
    return False


def entry_of(repository: Repository, path: Path) -> Path | None:
    """A worktree's folder inside `.git/worktrees`."""
    for folder in _entries(repository):
        with suppress(OSError, UnicodeDecodeError, PrereadError):
            gitdir = os.fsdecode(plain_bytes(folder / "gitdir") or b"")
            # It is relative with `worktree.useRelativePaths`.
            if Path(os.path.normpath(folder / gitdir.strip())).parent == path:
                return folder
    return None
