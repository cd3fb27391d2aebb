"""Remove a worktree; work that exists nowhere else is kept under a ref first.

What a person keeps in it and git must never see is copied to the backups of the main project.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from preread import backups
from preread.errors import PrereadError
from preread.infra.plural import counted
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.worktrees import listing, records, rescue, undo
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository, failed


class Work(NamedTuple):
    """Work in a worktree that exists nowhere else."""

    dirty: list[str]
    unmerged: int  # commits not in its base; without a base, those since its creation
    under_way: str
    detached: str  # the commit that is checked out, unless it is the branch's
    hidden: list[str]  # commits that only the worktree's private refs reach
    tip: str  # the branch's commit

    def __bool__(self) -> bool:
        return bool(self.dirty or self.unmerged or self.under_way or self.detached or self.hidden)


class Removed(NamedTuple):
    """The ref that keeps the work, if any, its commit, and the backup of private files, if any."""

    kept: str
    commit: str
    backup: str = ""


def work_in(repository: Repository, record: Record) -> Work:
    """The worktree's work that exists nowhere else.

    Raises E_WORKTREE if it contains repositories, whose commits no ref here could keep.
    """
    path, tip = records.path_of(repository, record.name), repository.commit_of(record.branch)
    dirty, under_way, detached, hidden = [], "", "", []
    if (path / ".git").exists():
        dirty = listing.changes(repository, path)
        under_way = listing.under_way(repository, path)
        head = repository.out("rev-parse", "HEAD", at=path)
        if head != tip:
            detached = head
        _check_inner(repository, path, dirty)
        if entry := undo.entry_of(repository, path):
            hidden = rescue.commits(repository, entry / "refs")
    # If the base was deleted, every commit since the creation counts as unmerged.
    base = record.base if repository.commit_of(record.base) else record.begun_at
    unmerged = 0
    if tip:
        unmerged = int(repository.run("rev-list", "--count", tip, f"^{base}", "--").out)
    return Work(dirty, unmerged, under_way, detached, hidden, tip)


def _check_inner(repository: Repository, path: Path, dirty: list[str]) -> None:
    inner = [name for name in dirty if name.endswith("/")] + undo.inner(repository, path)
    if inner:
        raise failed(
            f"There are repositories inside {path.name}: {', '.join(inner[:5])}. Their commits "
            "would be lost.",
            "Push or move them away, and delete them there; `git submodule deinit --all` in it, "
            "for submodules.",
            reason="inner",
            inner=inner[:50],
        )


def remove(repository: Repository, name: str, *, force: bool) -> Removed:
    """Remove a worktree and its branch.

    Unless forced, raises E_WORKTREE for work that exists nowhere else.
    """
    with repository.locked(name) as held:
        record = records.need(held, name)
        if listing.is_at_work(held, name):
            raise failed(f"An agent is at work in {name}.", "Cancel it first.", reason="agent")
        work = check(held, record, force=force)
        removed = keep(held, record, work) if work else Removed("", "")
        return removed._replace(backup=_remove(held, record, work))


def remove_unchanged(repository: Repository, name: str) -> None:
    """Remove a worktree if nothing was done in it."""
    with suppress(PrereadError), repository.locked(name) as held:
        record = records.need(held, name)
        work = check(held, record, force=False)
        _remove(held, record, work)


def private_files(repository: Repository, record: Record) -> list[Path]:
    """A person's marks and notes in a worktree, unless the main project has the same.

    What a link leads to outside the worktree stays anyway.
    """
    main, own = repository.layout, _project_in(repository, record)
    pairs = ((own.wrong, main.wrong), (own.personal_knowledge, main.personal_knowledge))
    return [
        file
        for file, other in pairs
        if file.resolve().is_relative_to(own.root)
        and plain_bytes(file) not in {None, plain_bytes(other)}
    ]


def _project_in(repository: Repository, record: Record) -> Layout:
    return Layout(records.path_of(repository, record.name) / repository.prefix)


def _remove(repository: Repository, record: Record, work: Work) -> str:
    """Remove a worktree; returns the id of the backup of its private files."""
    private, own = private_files(repository, record), _project_in(repository, record)
    backup = backups.keep(repository.layout, f"worktree-{record.name}", private, own)
    leaving = record.model_copy(update={"stage": "removing", "tip": work.tip})
    records.write(repository.layout, leaving)
    undo.removal(repository, leaving)
    return backup


def check(repository: Repository, record: Record, *, force: bool) -> Work:
    """The work in a worktree. Raises E_WORKTREE if the worktree may not be removed."""
    path = records.folder_of(repository, record)
    if repository.services.layout.root.is_relative_to(path):
        hint = f"Call it from elsewhere, like {repository.layout.root}."
        raise failed(f"This call comes from inside {record.name}.", hint, reason="inside")
    work = work_in(repository, record)
    reasons = [*_described(work), *_git_lock(repository, record)]
    if reasons and not force:
        raise failed(
            f"{record.name} has {' and '.join(reasons)}.",
            "Merge it, or remove it with `force`: a ref then keeps its work.",
            name=record.name,
            reason="unmerged",
            dirty=work.dirty[:50],
            unmerged=work.unmerged,
        )
    return work


def _described(work: Work) -> Iterator[str]:
    """The work in words."""
    if work.dirty:
        yield f"changes in {counted(len(work.dirty), 'file')}"
    if work.unmerged:
        yield counted(work.unmerged, "unmerged commit")
    if work.under_way:
        yield f"a {work.under_way} under way"
    if work.detached:
        yield "a bare commit checked out"
    if work.hidden:
        yield f"{counted(len(work.hidden), 'commit')} on no branch"


def _git_lock(repository: Repository, record: Record) -> Iterator[str]:
    """Git's own lock on the worktree, which `git worktree lock` sets, in words."""
    for checkout in repository.checkouts():
        if checkout.get("branch") == record.branch and "locked" in checkout:
            yield f"git's own lock ({checkout['locked'] or 'no reason given'})"
            return


def keep(repository: Repository, record: Record, work: Work) -> Removed:
    """Commit everything in a worktree; the parents are the checked-out commit and the branch."""
    path = records.path_of(repository, record.name)
    entry = undo.entry_of(repository, path)
    parents = [parent for parent in (work.detached, work.tip) if parent] or [record.begun_at]
    commit = parents[0]
    if work.dirty or len(parents) > 1:
        with rescue.own_index(repository, record.name, entry) as aside:
            # Staged content may differ from the files.
            staged = rescue.staged_tree(aside, f"--git-dir={entry}") if entry else ""
            aside.run("add", "-A", at=path)
            tree = aside.run("write-tree", at=path).out.decode().strip()
        if staged and staged not in {tree, repository.out("rev-parse", f"{commit}^{{tree}}")}:
            parents.append(_commit(repository, staged, parents[:1], f"Staged in {record.name}"))
        commit = _commit(repository, tree, parents, f"Work in {record.name}, removed")
    ref = rescue.keep_commit(repository, record.name, commit)
    if entry:
        rescue.keep_commits(repository, record.name, entry)
    return Removed(ref, commit)


def kept(repository: Repository, names: Sequence[str]) -> tuple[str, ...]:
    """The refs that keep the work of removed worktrees."""
    below = [f"{records.REMOVED}{name}" for name in names]
    listed = repository.out("for-each-ref", "--format=%(refname)", *below) if below else ""
    return tuple(listed.split())


def _commit(repository: Repository, tree: str, parents: list[str], message: str) -> str:
    words = [word for parent in parents for word in ("-p", parent)]
    done = repository.run("commit-tree", tree, *words, "-m", message)
    return done.out.decode().strip()
