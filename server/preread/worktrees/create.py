"""Create a worktree completely, or not at all."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from preread import git_rules
from preread.infra import atomic
from preread.layout import Layout
from preread.worktrees import records, undo
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository, failed

# Settings of the project that are copied into a worktree if git does not track them.
SETTINGS = (
    "config.toml", "gates", "knowledge.md", "tickets", "prompts", "workflows", "agents",
)  # fmt: skip
SHARED = ("commits and branches", "git's settings", "the stash")
IGNORE = b"# Worktrees of this repository; git must not see their files twice.\n*\n"


def create(repository: Repository, wanted: Record) -> tuple[str, ...]:
    """Create the worktree of a record, on a new branch.

    Returns notes. Raises E_WORKTREE, after removing everything that was created.
    """
    path = records.path_of(repository, wanted.name)
    with repository.locked(wanted.name) as held:
        check(held, wanted)
        git_rules.prepare(held.layout, held.services.settings)
        atomic.make_folder(path.parent)
        atomic.write(path.parent / ".gitignore", IGNORE)
        records.write(held.layout, wanted)
        try:
            new = ("--no-track", "-b", records.short(wanted.branch))
            held.run("worktree", "add", "-q", *new, "--", str(path), wanted.begun_at)
            inside = path / repository.prefix
            left_out = _copy_settings(repository.layout, inside)
            for copy in wanted.copies:
                _copy(_source(repository.layout, copy), inside / copy)
            for link in wanted.links:
                _link(repository, inside / link, link)
        except BaseException:
            undo.creation(held.uncancelled(), wanted)
            raise
        records.write(held.layout, wanted.model_copy(update={"stage": "ready"}))
    notes = []
    if repository.names("ls-files", "-z", "--", ".gitmodules", at=path):
        notes.append("Its submodules are not checked out: `git submodule update --init` does that.")
    if left_out:
        notes.append(
            f"Git tracks other files of .project, but not {', '.join(left_out)}: commit them."
        )
    return tuple(notes)


def check(repository: Repository, wanted: Record) -> None:
    """Raise E_WORKTREE or E_OUTSIDE if the worktree cannot be created."""
    path = records.path_of(repository, wanted.name)
    for link in wanted.links:
        _check_link(repository, link)
    for copy in wanted.copies:
        _source(repository.layout, copy)
    _check_place(repository, wanted.name, path)
    _check_branch(repository, wanted.branch)


def _check_place(repository: Repository, name: str, path: Path) -> None:
    """Raise E_WORKTREE if there is or was a worktree of this name."""
    found = records.read(repository.layout, name)
    if found is not None and found.stage != "ready":
        raise records.incomplete(found)
    if found is not None or path.exists() or path.is_symlink():
        raise failed(
            f"There is already a worktree or a file at {path}.", "Choose another name.",
            reason="exists",
        )  # fmt: skip
    if any(path == Path(one["worktree"]) for one in repository.checkouts()):
        raise failed(
            f"Git knows another worktree at {path}, whose folder is gone.",
            "Choose another name, or let git forget it: `git worktree prune`. Commits that are on "
            "no branch are then lost.",
            reason="exists",
        )


def _check_branch(repository: Repository, branch: str) -> None:
    """Raise E_WORKTREE if the branch cannot be created."""
    short = records.short(branch)
    if repository.run("check-ref-format", "--branch", short, must=False).status:
        raise failed(f"{short[:80]!a} is not a valid branch name.", "", reason="name")
    if repository.commit_of(branch):
        hint = "Choose another with `branch`, or remove it."
        raise failed(f"There is already a branch {short}.", hint, reason="exists")


def _check_link(repository: Repository, link: str) -> None:
    """Raise E_WORKTREE if git does not ignore the link: an agent would commit it."""
    _source(repository.layout, link)
    ignored = ("--no-literal-pathspecs", "check-ignore", "-q", "--", f"{repository.prefix}{link}")
    if repository.run(*ignored, must=False).status:
        raise failed(
            f"{link} is not ignored by git, so it is not linked into worktrees.",
            "Link folders of installed packages, and let .gitignore name them.",
        )


def _source(layout: Layout, relative: str) -> Path:
    """The path to copy or link. Raises E_OUTSIDE, E_WORKTREE."""
    path = layout.inside(relative.rstrip("/"))
    layout.real(path)
    if not path.exists() or path.is_symlink():
        raise failed(f"{relative} is not a file or folder in the project.")
    return path


def _copy_settings(layout: Layout, root: Path) -> list[str]:
    """Copy the project's settings if git tracks none of them and ignores the copies.

    Returns those that were not copied because git tracks some.
    """
    found = [name for name in SETTINGS if (layout.project / name).exists()]
    if not found or (root / ".project").exists():
        return [name for name in found if not (root / ".project" / name).exists()]
    for name in found:
        _copy(layout.real(layout.project / name), root / ".project" / name)
    atomic.write(root / ".project" / ".gitignore", git_rules.PROVISIONAL)
    return []


def _copy(source: Path, target: Path) -> None:
    """Copy a file or folder; links are copied as links."""
    with atomic.write_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target, follow_symlinks=False)


def _link(repository: Repository, place: Path, link: str) -> None:
    target = repository.layout.inside(link.rstrip("/"))
    repository.exclude([f"/{repository.prefix}{link.rstrip('/')}"])  # without `/`: it is a link
    with atomic.write_errors(place):
        if place.exists():
            raise failed(f"{link} is in git, so it cannot be a link in the worktree.")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target, target_is_directory=target.is_dir())


def default_name(issue: int | None, feature: str, taken: Iterable[str]) -> str:
    """`issue-270`, or the feature's name; with a number at its end if that is taken."""
    name = f"issue-{issue}" if issue is not None else feature
    used, number, free = set(taken), 2, name
    while free in used:
        free, number = f"{name[:60]}-{number}", number + 1
    return free
