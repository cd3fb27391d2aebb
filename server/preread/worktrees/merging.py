"""Merge a worktree's branch into its base: in one step, or with conflicts left in the worktree.

The base's own checkout never gets conflicts: it is fast-forwarded completely or not at all.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from preread.errors import PrereadError
from preread.infra.plural import counted
from preread.infra.reading import plain_bytes
from preread.worktrees import listing, moving, records, repair
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository, conflicts, failed

How = Literal["ff", "merge", "rebase"]
TRIES = 5  # if the base gets new commits during a merge
MARKER = re.compile(rb"^(<{7}|>{7}) ", re.MULTILINE)
MAX_BYTES = 10_000_000


class Merged(NamedTuple):
    """The result of a merge. With conflicts, the base is unchanged."""

    status: Literal["merged", "conflicts", "up_to_date", "aborted"]
    commit: str = ""
    conflicts: tuple[dict[str, str], ...] = ()


def start(repository: Repository, name: str, how: How, into: str = "") -> Merged:
    """Merge. Raises E_WORKTREE if the worktree is not clean, or the base cannot be moved."""
    with repository.locked("_merge"), repository.locked(name) as held:
        repair.settle(held, name)
        if move := records.read_move(held.layout):
            moving.finish(held, move)
        record = records.need(held, name)
        base = target(held, record, into)
        path = records.path_of(held, name)
        _check_clean(held, record, path)
        with _noted(held, record, path):
            merged = _merged(held, record, path, base, how)
        # So that `continue` merges into the same branch.
        kept = base if merged.conflicts else record.base
        records.write(held.layout, record.model_copy(update={"base": kept}))
        return merged


@contextmanager
def _noted(repository: Repository, record: Record, path: Path) -> Iterator[None]:
    """Record that a merge is running, and undo it if it fails.

    If the disk is too full even for that, the record stays, and the next call undoes the merge.
    """
    records.write(repository.layout, record.model_copy(update={"stage": "merging"}))
    try:
        yield
    except PrereadError:
        with suppress(PrereadError):
            undoing = repository.uncancelled()
            if what := listing.under_way(undoing, path):
                undoing.run(what, "--abort", at=path)
            if not listing.changes(undoing, path):
                records.write(repository.layout, record)
        raise


def _merged(repository: Repository, record: Record, path: Path, base: str, how: How) -> Merged:
    for _ in range(TRIES):
        tip, old = repository.commit_of(record.branch), repository.commit_of(base)
        if repository.is_ancestor(tip, old):
            return Merged("up_to_date", old)
        is_behind = repository.is_ancestor(old, tip)
        new = tip if is_behind else _joined(repository, record, path, base, how)
        if not new:
            return Merged("conflicts", "", tuple(conflicts(repository, path)))
        if advance(repository, base, old, new):
            return Merged("merged", new)
    raise failed(f"{records.short(base)} kept moving.", "Try again.", reason="moving")


def _joined(repository: Repository, record: Record, path: Path, base: str, how: How) -> str:
    """The commit that contains both; empty if there are conflicts, now in the worktree."""
    if how == "ff":
        ahead, behind = listing.divergence(repository, record.branch, base)
        raise failed(
            f"{record.name} and {records.short(base)} have diverged: {ahead} and {behind} commits.",
            "Merge with `how`: `merge` or `rebase`.",
            reason="diverged",
        )
    if how == "rebase":
        return _joined_there(repository, record, path, "rebase", "-q", base)
    if both := _merge_commit(repository, record, base):
        return both
    # Even if merge-tree saw conflicts, git may be able to merge: then its commit is used.
    return _joined_there(repository, record, path, "merge", "-q", "--no-edit", base)


def _joined_there(repository: Repository, record: Record, path: Path, *words: str) -> str:
    """The commit that a merge or rebase in the worktree made; empty with conflicts."""
    done = repository.run(*words, at=path, must=False)
    if done.status and not conflicts(repository, path):
        said = done.err.decode("utf-8", "replace")[-500:]
        raise failed(f"git {words[0]} failed in {record.name}.", "", git=said)
    return "" if done.status else repository.commit_of(record.branch)


def _merge_commit(repository: Repository, record: Record, base: str) -> str:
    """A merge commit, with the base as first parent, on no branch yet; empty if conflicts.

    Touches no file.
    """
    tree = merged_tree(repository, base, record.branch)
    if not tree:
        return ""
    message = f"Merge {records.short(record.branch)} into {records.short(base)}"
    done = repository.run("commit-tree", tree, "-p", base, "-p", record.branch, "-m", message)
    return done.out.decode().strip()


def merged_tree(repository: Repository, base: str, branch: str) -> str:
    """The tree of a merge, made without touching a file; empty if there are conflicts."""
    done = repository.run("merge-tree", "--write-tree", "--no-messages", base, branch, must=False)
    if done.status not in {0, 1}:
        raise failed(
            "git merge-tree failed.", "Install git 2.38 or newer.", git=done.err.decode()[-500:]
        )
    return done.out.decode().strip() if done.status == 0 else ""


def advance(repository: Repository, base: str, old: str, new: str) -> bool:
    """Fast-forward a branch and its checkout; False if somebody moved the branch meanwhile.

    Raises E_WORKTREE if uncommitted changes in that checkout are in the way.
    """
    at = repository.checkout_of(base)
    if at is None:
        done = repository.run("update-ref", base, new, old, must=False)
        return done.status == 0
    if repository.commit_of(base) != old:
        return False
    move = records.Move(branch=base, at=str(at), old=old, new=new)
    records.write_move(repository.layout, move)
    try:
        done = repository.run("merge", "-q", "--ff-only", new, at=at, must=False)
    except PrereadError as error:
        if error.details.get("because") == "write":
            moving.put_back(repository.uncancelled(), move)
        raise
    records.write_move(repository.layout, None)
    if done.status and repository.commit_of(base) == old:
        said = done.err.decode("utf-8", "replace")
        files = [line.strip() for line in said.split("\n") if line.startswith("\t")]
        raise failed(
            f"{records.short(base)} is checked out at {at} and cannot be fast-forwarded there.",
            "Commit or move away the changed files there, then merge again.",
            reason="base",
            files=files[:50],
            git=said.strip()[-1000:],
        )
    return done.status == 0


def update(repository: Repository, name: str) -> Merged:
    """Merge new commits of the base into a worktree; with conflicts, nothing is changed."""
    with repository.locked(name) as held:
        repair.settle(held, name)
        record = records.need(held, name)
        base = target(held, record, "")
        path = records.path_of(held, name)
        _check_clean(held, record, path)
        if held.is_ancestor(base, record.branch):
            return Merged("up_to_date", held.commit_of(record.branch))
        with _noted(held, record, path):
            # The base is the first parent, so a later fast-forward keeps its first-parent history.
            both = _merge_commit(held, record, base)
            how = ("--ff-only", both) if both else ("--no-edit", base)
            done = held.run("merge", "-q", *how, at=path, must=False)
            found = tuple(conflicts(held, path))
            if listing.under_way(held, path):
                held.run("merge", "--abort", at=path)
        records.write(held.layout, record)
        if done.status and not found:
            said = done.err.decode("utf-8", "replace")[-500:]
            raise failed(f"{records.short(base)} does not merge into {name}.", "", git=said)
        return Merged("conflicts" if found else "merged", held.commit_of(record.branch), found)


def proceed(repository: Repository, name: str, how: How, into: str = "") -> Merged:
    """Continue a merge after its conflicts were resolved in the worktree's files."""
    with repository.locked(name) as held:
        record = records.need(held, name)
        path = records.path_of(held, name)
        what = _need_under_way(held, record, path)
        left = conflicts(held, path)
        unresolved = [one for one in left if _has_markers(path / one["path"])]
        if unresolved:
            return Merged("conflicts", "", tuple(unresolved))
        if left:
            held.run("add", "-A", "--", *(one["path"] for one in left), at=path)
        go_on = ("rebase", "--continue") if what == "rebase" else ("commit", "-q", "--no-edit")
        done = held.run(*go_on, at=path, must=False)
        if listing.under_way(held, path):
            if left := conflicts(held, path):  # of the next commit of a rebase
                return Merged("conflicts", "", tuple(left))
            said = done.err.decode("utf-8", "replace")[-500:]
            raise failed(f"The {what} in {name} cannot be continued.", "", reason="stuck", git=said)
    return start(repository, name, how, into or records.short(record.base))


def abort(repository: Repository, name: str) -> Merged:
    """Abort a merge or rebase, and restore the worktree."""
    with repository.locked(name) as held:
        record = records.need(held, name)
        path = records.path_of(held, name)
        what = _need_under_way(held, record, path)
        # Git refuses if files have other times than its index says, even with the same content.
        held.run("update-index", "-q", "--refresh", at=path, must=False)
        held.run(what, "--abort", at=path)
        return Merged("aborted", held.commit_of(record.branch))


def target(repository: Repository, record: Record, into: str) -> str:
    """The full name of the branch to merge into. Raises E_WORKTREE."""
    base = f"refs/heads/{into}" if into else record.base
    if not base or not repository.commit_of(base):
        raise failed(
            f"There is no branch {ascii(into or records.short(record.base) or '')[:80]}.",
            "Name the branch to merge into with `into`.",
        )
    if base == record.branch:
        raise failed(f"{record.name} cannot be merged into its own branch.")
    return base


def _check_clean(repository: Repository, record: Record, path: Path) -> None:
    records.folder_of(repository, record)
    if what := listing.under_way(repository, path):
        raise failed(
            f"A {what} is under way in {record.name}.",
            "Resolve its conflicts and continue it, or abort it.",
            reason="under way",
            conflicts=conflicts(repository, path),
        )
    if dirty := listing.changes(repository, path):
        raise failed(
            f"{record.name} has uncommitted changes in {counted(len(dirty), 'file')}.",
            "Commit them.",
            reason="dirty", dirty=dirty[:50],
        )  # fmt: skip
    if repository.out("symbolic-ref", "-q", "HEAD", at=path) != record.branch:
        raise failed(
            f"{record.name} has another branch or a bare commit checked out.",
            f"`git switch {records.short(record.branch)}` in it.",
            reason="branch",
        )


def _need_under_way(repository: Repository, record: Record, path: Path) -> str:
    records.folder_of(repository, record)
    if what := listing.under_way(repository, path):
        return what
    raise failed(f"Nothing is under way in {record.name}.", "", reason="nothing")


def _has_markers(path: Path) -> bool:
    try:
        return bool(MARKER.search(plain_bytes(path, MAX_BYTES) or b""))
    except PrereadError:
        return True
