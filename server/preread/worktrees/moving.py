"""Finish or undo an interrupted fast-forward of a branch that is checked out."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.worktrees import records
from preread.worktrees.records import Move
from preread.worktrees.repository import Repository

LINK = "120000"  # the mode of a symbolic link


class Changed(NamedTuple):
    """A file that the fast-forward changes. An id of zeros means that the file does not exist."""

    path: str
    mode: str  # afterwards
    old: str
    new: str

    @property
    def is_old(self) -> bool:
        return set(self.old) != {"0"}

    @property
    def is_new(self) -> bool:
        return set(self.new) != {"0"}


def finish(repository: Repository, move: Move) -> str:
    """Finish a fast-forward during which git was killed.

    Each file of the checkout is old, new, missing or the start of the new one. Any other content is
    somebody's work, and git then refuses.
    """
    at, name = Path(move.at), records.short(move.branch)
    if _is_there(repository, move):
        done = []
        for one in _changed(repository, move):
            state = _state(repository, at / one.path, one)
            if state == "done":
                done.append(one.path)
            elif state == "half" and one.is_old:
                atomic.remove(at / one.path)
                repository.run("checkout", "-q", "--", one.path, at=at)
            elif state == "half":
                atomic.remove(at / one.path)
        if done:
            repository.run("add", "-A", "--", *done, at=at)
        repository.run("merge", "-q", "--ff-only", move.new, at=at)
    records.write_move(repository.layout, None)
    return f"{name}: finished moving it forward"


def put_back(repository: Repository, move: Move) -> None:
    """Restore the old files after git could not write all the new ones; needs no extra space.

    Raises E_WORKTREE and E_WRITE; the next merge then finishes the fast-forward.
    """
    at = Path(move.at)
    if _is_there(repository, move):
        changed = list(_changed(repository, move))
        if _is_index_new(repository, at, changed):
            repository.run("read-tree", "-m", "-u", move.new, move.old, at=at)
        else:
            _put_files_back(repository, at, changed)
    records.write_move(repository.layout, None)


def _put_files_back(repository: Repository, at: Path, changed: list[Changed]) -> None:
    listed = repository.names("ls-files", "-t", "-z", at=at)
    left_out = {line[2:] for line in listed if line.startswith("S ")}  # by a sparse checkout
    files = [one for one in changed if one.path not in left_out]
    ours = [one for one in files if _state(repository, at / one.path, one)]
    for one in ours:  # all of them, before any is written
        atomic.remove(at / one.path)
    feed = "".join(f"{one.path}\0" for one in ours if one.is_old)
    # Without its `-u`, which writes the index.
    repository.run("checkout-index", "-f", "-z", "--stdin", at=at, feed=os.fsencode(feed))


def _is_there(repository: Repository, move: Move) -> bool:
    """Whether the branch is as it was before, and checked out where it was."""
    is_old = repository.commit_of(move.branch) == move.old
    return is_old and repository.checkout_of(move.branch) == Path(move.at)


def _changed(repository: Repository, move: Move) -> Iterator[Changed]:
    raw = ("diff", "--raw", "-z", "--no-renames", "--no-abbrev", move.old, move.new)
    fields = repository.names(*raw, at=Path(move.at))
    for about, path in zip(fields[::2], fields[1::2], strict=True):
        _, mode, old, new, _ = about.split()
        yield Changed(path, mode, old, new)


def _is_index_new(repository: Repository, at: Path, changed: list[Changed]) -> bool:
    listed = (line.partition("\t") for line in repository.names("ls-files", "-s", "-z", at=at))
    staged = {path: about.split()[1] for about, _, path in listed}
    return all(staged.get(one.path, "") == (one.new if one.is_new else "") for one in changed)


def _state(repository: Repository, file: Path, one: Changed) -> str:
    """How far git got with a file: `done`, `half` (or removed, and not yet rewritten), or empty.

    Empty means that git has not touched it, or that its content is somebody's work.
    """
    if not os.path.lexists(file):
        if not one.is_new:
            return "done"
        return "half" if one.is_old else ""
    if not one.is_new or file.is_symlink() != (one.mode == LINK) or file.is_dir():
        return ""
    if file.is_symlink():
        is_done = os.fsencode(file.readlink()) == repository.run("cat-file", "blob", one.new).out
        return "done" if is_done else ""
    return _state_of_text(repository, file, one)


def _state_of_text(repository: Repository, file: Path, one: Changed) -> str:
    if repository.out("hash-object", "--", str(file), at=file.parent) == one.new:
        return "done"
    # As git writes it into a checkout, for example with other line ends.
    text = repository.run("cat-file", "--filters", f"--path={one.path}", one.new).out
    return "half" if text.startswith(plain_bytes(file) or b"") else ""
