"""What a worktree changed since it left its base."""

from pydantic import Field

from preread.models import Model
from preread.worktrees import listing, records
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository

MAX_DIFF = 100_000  # characters
PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")


class FileChange(Model):
    """One changed file; line counts are None for binary files."""

    path: str
    added: int | None = None
    removed: int | None = None


class Compared(Model):
    """The commits and files of a worktree that its base lacks."""

    name: str
    base: str
    commits: tuple[str, ...] = Field(description="Abbreviated id and subject, newest first.")
    files: tuple[FileChange, ...]
    uncommitted: tuple[str, ...] = Field(description="Changed and new files, in no commit yet.")
    diff: str = Field(description="Of commits and uncommitted changes, without untracked files.")
    truncated: bool = False


def compare(repository: Repository, record: Record, *, limit: int = MAX_DIFF) -> Compared:
    path = records.folder_of(repository, record)
    base = record.base or record.begun_at
    fork = repository.out("merge-base", base, "HEAD", at=path) or record.begun_at
    rows = repository.names("diff", "--numstat", "-z", "--no-renames", *PLAIN, fork, "--", at=path)
    diff = repository.run("diff", *PLAIN, fork, "--", at=path).out.decode("utf-8", "replace")
    log = repository.out("log", "--format=%h %s", "-100", f"{fork}..HEAD", "--", at=path)
    return Compared(
        name=record.name,
        base=records.short(base),
        commits=tuple(log.split("\n")) if log else (),
        files=tuple(map(_file, rows)),
        uncommitted=tuple(listing.changes(repository, path)[: listing.MAX_SHOWN]),
        diff=diff[:limit],
        truncated=len(diff) > limit,
    )


def between(repository: Repository, one: str, other: str, *, limit: int = MAX_DIFF) -> str:
    """The diff of two commits, cut at a limit."""
    done = repository.run("diff", *PLAIN, one, other, "--")
    return done.out.decode("utf-8", "replace")[:limit]


def _file(row: str) -> FileChange:
    added, removed, path = row.split("\t", 2)
    if added == "-":
        return FileChange(path=path)
    return FileChange(path=path, added=int(added), removed=int(removed))
