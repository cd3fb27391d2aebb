"""Patches from `git log`: the lines that a commit changed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from preread.index.gitlog import Commit, Log, records

PATCH = ("--patch", "--unified=0")
HUNK = re.compile(r"^@@", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Hunk:
    """Adjacent lines that were removed, and the lines that replaced them."""

    removed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Patch:
    """What one commit changed in one file."""

    commit: Commit
    path: str
    hunks: tuple[Hunk, ...]

    @property
    def removed(self) -> tuple[str, ...]:
        return tuple(line for hunk in self.hunks for line in hunk.removed)

    @property
    def added(self) -> tuple[str, ...]:
        return tuple(line for hunk in self.hunks for line in hunk.added)


def patches_in(log: Log, shas: Sequence[str]) -> list[Patch]:
    """What these commits changed, in their order, each with its removed and added lines; nothing
    of merges and unknown ones.
    """
    if not shas:
        return []
    found = records(log, "--no-walk=unsorted", "--ignore-missing", *PATCH, *shas, "--")
    return [patch for commit, rest in found for patch in _patches(commit, rest)]


def _patches(commit: Commit, text: str) -> Iterator[Patch]:
    for change in f"\n{text}".split("\ndiff --git ")[1:]:
        head, *hunks = HUNK.split(change)
        named = [line[6:].rstrip("\t") for line in head.split("\n") if line.startswith("+++ b/")]
        if named:  # a file that is gone has no new name
            yield Patch(commit, named[0], tuple(map(_hunk, hunks)))


def _hunk(text: str) -> Hunk:
    lines = text.split("\n")[1:]  # after its place and what is around it
    removed = [line[1:] for line in lines if line.startswith("-")]
    return Hunk(removed, [line[1:] for line in lines if line.startswith("+")])
