"""Where a file's lines are after the changes that git shows."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from preread.project.tree import Tree

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Hunk(NamedTuple):
    """A changed part of a file: its first line and its number of lines, before and after.

    Without lines, the start is the line before the part.
    """

    old: int
    old_count: int
    new: int
    new_count: int


class LineMap:
    """Old line numbers -> new ones."""

    def __init__(self, hunks: list[Hunk]) -> None:
        self._hunks = hunks

    def line(self, number: int) -> int | None:
        """Where a line is now; None if it was changed or removed."""
        shift = 0
        for hunk in self._hunks:
            if number < hunk.old + (not hunk.old_count):
                break
            if hunk.old_count and number < hunk.old + hunk.old_count:
                return None
            shift += hunk.new_count - hunk.old_count
        return number + shift

    def lines(self, start: int, end: int) -> tuple[int, int] | None:
        """Where the first and last line of a range are now; None if either was changed."""
        first, last = self.line(start), self.line(end)
        return (first, last) if first is not None and last is not None else None

    def is_changed(self, start: int, end: int) -> bool:
        """Whether any line of a range was changed or removed, or any was added between them."""
        now = [self.line(number) for number in range(start, end + 1)]
        left = [number for number in now if number is not None]
        return len(left) < len(now) or any(b - a > 1 for a, b in pairwise(left))

    def is_removed(self, start: int, end: int) -> bool:
        """Whether all lines of a range were removed, and nothing was written in their place."""
        removed = [hunk for hunk in self._hunks if not hunk.new_count]
        return all(
            any(hunk.old <= number < hunk.old + hunk.old_count for hunk in removed)
            for number in range(start, end + 1)
        )

    def is_new(self, number: int) -> bool:
        """Whether a line, by its new number, was added or changed."""
        return any(hunk.new <= number < hunk.new + hunk.new_count for hunk in self._hunks)


def since(tree: Tree, commit: str, path: str, now: str) -> LineMap | None:
    """The map from a commit's version of a file to the work tree's, which is at `now`.

    None if git does not show one.
    """
    options = ("--no-ext-diff", "--no-textconv", "--no-color", "--unified=0", "--relative")
    names = dict.fromkeys((path, now))
    done = tree.git("diff", *options, "--find-renames", commit, "--", *names)
    files = done.out.count(b"\ndiff --git ") + done.out.startswith(b"diff --git ")
    if done.status != 0 or files > 1 or (files == 0 and path != now):
        return None
    return LineMap([hunk for _, hunk in headings(done.out) if hunk is not None])


def headings(diff: bytes) -> Iterator[tuple[bytes, Hunk | None]]:
    """A diff's lines without those of the files, and for one that begins a hunk, that hunk.

    The files' lines can look like headings. The diff must be without context.
    """
    left = 0  # lines of the current hunk
    for line in diff.split(b"\n"):
        if left:
            left -= not line.startswith(b"\\")  # "\ No newline at end of file" is not counted
            continue
        hunk = None
        if match := _HUNK.match(line):
            hunk = Hunk(int(match[1]), int(match[2] or 1), int(match[3]), int(match[4] or 1))
            left = hunk.old_count + hunk.new_count
        yield line, hunk


def commit_of(tree: Tree, path: str, line: int, version: str = "") -> str:
    """The commit that wrote a line of a file; empty if it is not committed or not known.

    `version`: the commit in which the file has that line; empty for the file as it is.
    """
    options = ("--no-textconv", "--porcelain", f"-L{line},{line}")
    done = tree.git("blame", *options, *((version,) if version else ()), "--", path)
    commit = done.out.split(b" ", 1)[0].decode("ascii", "replace") if done.status == 0 else ""
    return commit if commit.strip("0") else ""
