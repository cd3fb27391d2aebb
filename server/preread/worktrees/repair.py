"""Repair what a killed process left: half-created or half-removed worktrees, stale git locks."""

import time
from collections.abc import Iterator
from pathlib import Path

from preread.infra import atomic
from preread.worktrees import listing, moving, records, removal, undo
from preread.worktrees.records import Record, path_of
from preread.worktrees.repository import Repository

# Lock files older than this were left by a killed git: a running one keeps them only briefly.
STALE_SECONDS = 60.0
LOCKS = ("index.lock", "HEAD.lock", "packed-refs.lock", "ORIG_HEAD.lock")


def broken(repository: Repository) -> Iterator[tuple[Record, str]]:
    """Each worktree that needs repair, and how it would be repaired."""
    known = _known(repository)
    for record in records.all_records(repository.layout).values():
        path = path_of(repository, record.name)
        if record.stage == "creating":
            yield record, "undo its creation, which was interrupted"
        elif record.stage == "removing":
            yield record, "finish removing it"
        elif path not in known:
            yield record, _about_deleted(repository, record, path)
        elif record.stage == "merging":
            yield record, "undo the merge that was interrupted"


def _known(repository: Repository) -> set[Path]:
    """The work trees that git lists and that exist."""
    listed = (Path(checkout["worktree"]) for checkout in repository.checkouts())
    return {path for path in listed if (path / ".git").exists()}


def _about_deleted(repository: Repository, record: Record, path: Path) -> str:
    if undo.inner(repository, path):
        folder = undo.entry_of(repository, path)
        return (
            f"leave it: its folder is missing, but {folder}/modules contains repositories of "
            "submodules; push the commits that only they have, then delete them"
        )
    return (
        f"forget its folder, which is missing; its branch {records.short(record.branch)} stays, "
        "and refs keep commits that are on no branch"
    )


def repair(repository: Repository) -> list[str]:
    """Repair everything that no running process uses; returns what was done."""
    said = []
    for lock in stale_locks(repository):
        atomic.remove(lock)
        said.append(f"removed {lock}, left by a killed git")
    if records.read_move(repository.layout) is not None:
        with repository.locked("_merge") as held:
            if move := records.read_move(held.layout):
                said.append(moving.finish(held, move))
    said += _half_created(repository)
    for record, what in list(broken(repository)):
        with repository.locked(record.name) as held:
            # Another process may have repaired it while this one waited for the lock.
            if records.read(held.layout, record.name) == record:
                said.append(f"{record.name}: {what}{_repair_one(held, record)}")
    return said


def settle(repository: Repository, name: str) -> None:
    """Undo a failed or killed merge in a worktree. The caller holds its lock."""
    record = records.read(repository.layout, name)
    if record is not None and record.stage == "merging" and _is_there(repository, record):
        _undo_merge(repository, record)


def clean(repository: Repository, name: str) -> None:
    """Reset a worktree to its commit; a ref keeps what was not committed."""
    with repository.locked(name) as held:
        record = records.need(held, name)
        if listing.changes(held, path_of(held, name)):
            _undo_merge(held, record)


def _is_there(repository: Repository, record: Record) -> bool:
    return path_of(repository, record.name) in _known(repository)


def _half_created(repository: Repository) -> Iterator[str]:
    """Undo interrupted creations. They come first, because they may keep git from listing any."""
    for record in records.all_records(repository.layout).values():
        if record.stage == "creating":
            with repository.locked(record.name) as held:
                if records.read(held.layout, record.name) == record:
                    undo.creation(held, record)
                    yield f"{record.name}: undo its creation, which was interrupted"


def _repair_one(repository: Repository, record: Record) -> str:
    path = path_of(repository, record.name)
    if record.stage == "creating":
        undo.creation(repository, record)
    elif record.stage == "removing":
        undo.removal(repository, record)
    elif record.stage == "merging" and _is_there(repository, record):
        return _undo_merge(repository, record)
    elif not undo.inner(repository, path):
        kept = undo.deleted(repository, record)
        return f" ({', '.join(kept) or 'nothing'})"
    return ""


def _undo_merge(repository: Repository, record: Record) -> str:
    """Restore a worktree to before its merge; its current content is kept under a ref."""
    path = path_of(repository, record.name)
    work = removal.work_in(repository, record)
    kept = ""
    if work.dirty or work.under_way or work.detached:
        kept = f"; its previous content is kept under {removal.keep(repository, record, work).kept}"
        if work.under_way:
            repository.run(work.under_way, "--quit", at=path, must=False)
        repository.run("checkout", "-q", "-f", records.short(record.branch), at=path)
        repository.run("reset", "-q", "--hard", at=path)
        repository.run("clean", "-q", "-f", "-d", at=path)
    records.write(repository.layout, record.model_copy(update={"stage": "ready"}))
    return kept


def stale_locks(repository: Repository, now: float | None = None) -> list[Path]:
    """Stale git lock files of the repository and of its worktrees."""
    now = time.time() if now is None else now
    names = records.all_records(repository.layout)
    entries = (undo.entry_of(repository, path_of(repository, name)) for name in names)
    folders = [repository.common, *(entry for entry in entries if entry)]
    found = [folder / name for folder in folders for name in LOCKS]
    branches = repository.common / "refs" / "heads"
    found += branches.rglob("*.lock") if branches.is_dir() else ()
    found += (repository.common / "refs" / "preread").rglob("*.lock")
    return [path for path in found if path.is_file() and now - path.stat().st_mtime > STALE_SECONDS]
