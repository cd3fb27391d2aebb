"""List every checkout of the repository, and what is going on in it."""

from pathlib import Path

from pydantic import Field

from preread.dossier import published
from preread.errors import PrereadError
from preread.layout import Layout
from preread.models import Model
from preread.worktrees import records
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository

MAX_SHOWN = 50
# Files in a checkout's git folder while a merge, rebase or the like is under way.
UNDER_WAY = {
    "merge": "MERGE_HEAD", "rebase": "rebase-merge", "cherry-pick": "CHERRY_PICK_HEAD",
    "revert": "REVERT_HEAD", "bisect": "BISECT_LOG",
}  # fmt: skip


class Worktree(Model):
    """One checkout."""

    name: str = Field(description="Empty for one that `worktree.create` did not make.")
    path: str
    branch: str = Field(description="Empty for a bare commit.")
    head: str
    base: str = ""
    issue: int | None = None
    feature: str = ""
    dirty: tuple[str, ...] = Field((), description="Changed and new files, at most 50.")
    ahead: int = Field(0, description="Commits that its base lacks.")
    behind: int = Field(0, description="Commits of its base that it lacks.")
    under_way: str = Field("", description="A merge or rebase that is neither done nor aborted.")
    agent: str = Field("", description="The kind of agent that is at work in it.")
    dossier: str = Field("", description="The feature whose dossier was built there last.")
    state: str = Field("ready", description="ready, creating, removing, missing.")


def all_worktrees(repository: Repository) -> list[Worktree]:
    """The worktrees made here first, then all others, the main one last."""
    known = records.all_records(repository.layout)
    at = {str(records.path_of(repository, name)): record for name, record in known.items()}
    found: list[Worktree] = []
    others: list[Worktree] = []
    for checkout in repository.checkouts():
        record = at.pop(checkout["worktree"], None)
        row = _described(repository, checkout, record)
        (others if record is None else found).append(row)
    missing = [_without_checkout(repository, record, path) for path, record in at.items()]
    return [*sorted((*found, *missing), key=lambda one: one.name), *reversed(others)]


def _without_checkout(repository: Repository, record: Record, path: str) -> Worktree:
    state = "missing" if record.stage == "ready" else record.stage
    ahead, behind = _counts(repository, record.branch, record.base)
    return Worktree(
        name=record.name, path=path, branch=records.short(record.branch), head="",
        base=records.short(record.base), issue=record.issue, feature=record.feature, state=state,
        ahead=ahead, behind=behind,
    )  # fmt: skip


def _described(repository: Repository, checkout: dict[str, str], record: Record | None) -> Worktree:
    path = Path(checkout["worktree"])
    branch = checkout.get("branch", record.branch if record else "")
    base = record.base if record else ""
    ahead, behind = _counts(repository, branch, base)
    row = Worktree(
        name=record.name if record else "", path=str(path), branch=records.short(branch),
        head=checkout.get("HEAD", ""), base=records.short(base),
        issue=record.issue if record else None, feature=record.feature if record else "",
        state=record.stage if record else "ready", ahead=ahead, behind=behind,
    )  # fmt: skip
    if not (path / ".git").exists():
        return row.model_copy(update={"state": "missing" if row.state == "ready" else row.state})
    return row.model_copy(
        update={
            "dirty": tuple(changes(repository, path)[:MAX_SHOWN]),
            "under_way": under_way(repository, path),
            "agent": record.agent if record and is_at_work(repository, record.name) else "",
            "dossier": _last_dossier(path / repository.prefix),
        }
    )


def _counts(repository: Repository, branch: str, base: str) -> tuple[int, int]:
    """How far a branch is from its base, whether its folder exists or not; zeros without a base."""
    is_known = base and repository.commit_of(base) and repository.commit_of(branch)
    return divergence(repository, branch, base) if is_known else (0, 0)


def divergence(repository: Repository, one: str, other: str) -> tuple[int, int]:
    """How many commits `one` is ahead of and behind `other`."""
    counted = repository.out("rev-list", "--left-right", "--count", f"{one}...{other}", "--")
    ahead, _, behind = counted.partition("\t")
    return int(ahead or 0), int(behind or 0)


def changes(repository: Repository, path: Path) -> list[str]:
    """The paths that differ from the last commit, new files too; `dir/` is a nested repository."""
    status = ("status", "--porcelain", "-z", "-uall", "--no-renames")
    return [line[3:] for line in repository.names(*status, at=path)]


def under_way(repository: Repository, path: Path) -> str:
    folder = Path(repository.out("rev-parse", "--absolute-git-dir", at=path) or path / ".git")
    for name, file in UNDER_WAY.items():
        if (folder / file).exists():
            return name
    return "rebase" if (folder / "rebase-apply").exists() else ""


def work_lock(layout: Layout, name: str) -> Path:
    """The lock that an agent holds while it works in a worktree."""
    return layout.lock(f"_agent-{name}")


def is_at_work(repository: Repository, name: str) -> bool:
    return repository.is_held(work_lock(repository.layout, name))


def _last_dossier(root: Path) -> str:
    layout = Layout(root)
    try:
        names = published.features(layout)
        return max(names, key=lambda name: layout.dossier(name).stat().st_mtime, default="")
    except (PrereadError, OSError):
        return ""
