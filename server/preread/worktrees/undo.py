"""Undo a creation, finish a removal: also after a kill, whatever state it left."""

import os
from contextlib import suppress
from pathlib import Path

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.worktrees import records, rescue
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository

INITIALIZING = "initializing"  # what git writes into a worktree's lock while it creates it


def creation(repository: Repository, record: Record) -> None:
    """Take back a worktree in which nobody can have worked yet."""
    _drop(repository, record)
    at = repository.commit_of(record.branch)
    if at == record.begun_at:  # else the name was taken by a branch of somebody else
        repository.run("update-ref", "-d", record.branch, at)
    records.forget(repository.layout, record.name)


def removal(repository: Repository, record: Record) -> None:
    """Remove a worktree whose work is merged, or kept under a ref, and its branch.

    A branch that has moved on meanwhile stays.
    """
    _drop(repository, record)
    if record.tip:
        repository.run("update-ref", "-d", record.branch, record.tip, must=False)
    records.forget(repository.layout, record.name)


def gone(repository: Repository, record: Record) -> list[str]:
    """Forget a worktree whose folder somebody deleted. Its branch keeps what was committed.

    Returns the refs that keep what nothing else does.
    """
    path = records.path_of(repository, record.name)
    entry = entry_of(repository, path)
    kept = rescue.keep(repository, record.name, entry) if entry else []
    if not (path / ".git").exists() and not any(path.glob("*")):
        _drop(repository, record)
    records.forget(repository.layout, record.name)
    return kept


def inner(repository: Repository, path: Path) -> list[str]:
    """The submodules whose own repositories are in git's folder of a worktree."""
    entry = entry_of(repository, path)
    modules = entry / "modules" if entry else path / "none"
    return sorted(one.name for one in modules.iterdir()) if modules.is_dir() else []


def _drop(repository: Repository, record: Record) -> None:
    """Remove a worktree's folder, and what git knows of it."""
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
    """Whether git was killed while it created this: it then neither lists it nor prunes it, and
    with an empty `commondir` it lists none.
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
    """Git's own folder of a worktree."""
    for folder in _entries(repository):
        with suppress(OSError, UnicodeDecodeError, PrereadError):
            gitdir = os.fsdecode(plain_bytes(folder / "gitdir") or b"")
            # It is relative with `worktree.useRelativePaths`.
            if Path(os.path.normpath(folder / gitdir.strip())).parent == path:
                return folder
    return None
