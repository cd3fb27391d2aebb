"""The record of a worktree: what git does not know about its purpose and state."""

import re
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from preread.errors import PrereadError
from preread.gates.feature_names import is_feature
from preread.infra import atomic
from preread.infra.reading import listed, plain_bytes
from preread.layout import Layout
from preread.models import Model
from preread.worktrees.repository import Repository, failed

BRANCHES = "preread/"  # prefix of a worktree's own branch
REMOVED = "refs/preread/removed/"
MAX_BYTES = 100_000

# `prune` repairs worktrees that a killed process left in any stage but `ready`.
Stage = Literal["creating", "ready", "merging", "removing"]
MOVE = "_move.json"  # no worktree has this name


class Record(Model):
    """One worktree."""

    name: str
    branch: str  # full: refs/heads/…
    base: str  # full name of the branch to merge into; empty if created at a bare commit
    begun_at: str  # the commit that it was created at
    stage: Stage = "creating"
    issue: int | None = None
    feature: str = ""
    links: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    tip: str = ""  # of the branch when it was merged or kept before removal
    agent: str = ""  # the kind of the last agent in it


class Move(Model):
    """A fast-forward of a branch and its checkout that is under way."""

    branch: str
    at: str
    old: str
    new: str


def read_move(layout: Layout) -> Move | None:
    data = plain_bytes(layout.worktree_records / MOVE, MAX_BYTES)
    try:
        return None if data is None else Move.model_validate_json(data)
    except ValidationError:
        return None


def write_move(layout: Layout, move: Move | None) -> None:
    path = layout.worktree_records / MOVE
    if move is None:
        atomic.remove(path)
    else:
        atomic.write(path, move.model_dump_json().encode(), durable=True)


def check_name(name: str) -> str:
    """Return the name. Raises E_WORKTREE unless it has the form of a feature name."""
    if is_feature(name):
        return name
    raise failed(
        f"{name[:80]!a} is not a valid name for a worktree.",
        "Lower-case letters, digits and single hyphens, at most 64 characters.",
    )


def file_of(layout: Layout, name: str) -> Path:
    return layout.worktree_records / f"{check_name(name)}.json"


def read(layout: Layout, name: str) -> Record | None:
    """The record of a worktree; None if there is no valid one."""
    data = plain_bytes(file_of(layout, name), MAX_BYTES)
    try:
        return None if data is None else Record.model_validate_json(data)
    except ValidationError:
        return None


def need(repository: Repository, name: str) -> Record:
    """The record of a completely created worktree. Raises E_WORKTREE."""
    found = read(repository.layout, name)
    if found is None:
        known = ", ".join(all_records(repository.layout)) or "none"
        raise failed(
            f"There is no worktree {name}.", f"There are: {known}.", name=name, reason="missing"
        )
    if found.stage != "ready":
        raise incomplete(found)
    return found


def incomplete(found: Record) -> PrereadError:
    return failed(
        f"The worktree {found.name} is incomplete: a call was interrupted ({found.stage}).",
        "`preread worktree prune` repairs it.",
        name=found.name,
        reason=found.stage,
    )


def all_records(layout: Layout) -> dict[str, Record]:
    found = (read(layout, path.stem) for path in listed(layout.worktree_records, ".json")
             if is_feature(path.stem))  # fmt: skip
    return {record.name: record for record in found if record is not None}


def write(layout: Layout, record: Record) -> None:
    data = record.model_dump_json(exclude_defaults=True).encode() + b"\n"
    atomic.write(file_of(layout, record.name), data, durable=True)


def forget(layout: Layout, name: str) -> None:
    atomic.remove(file_of(layout, name))


def path_of(repository: Repository, name: str) -> Path:
    """Where a worktree is. Raises E_OUTSIDE if `.worktrees` is a link out of the project."""
    return repository.layout.real(repository.layout.worktrees) / check_name(name)


def folder_of(repository: Repository, record: Record) -> Path:
    """The folder of a worktree. Raises E_WORKTREE if somebody deleted it."""
    path = path_of(repository, record.name)
    if (path / ".git").exists():
        return path
    raise failed(
        f"The folder of {record.name} is gone: {path}.",
        "`preread worktree prune` saves what is left of its work and forgets the worktree. Its "
        f"branch {short(record.branch)} stays.",
        reason="gone",
    )


def short(branch: str) -> str:
    """A branch's name as people write it."""
    return re.sub(r"^refs/heads/", "", branch)
