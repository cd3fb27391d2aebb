"""Save objects that only a worktree's git folder refers to, before git may delete them."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.worktrees import records
from preread.worktrees.repository import Repository

OBJECT = re.compile(rb"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
MAX_BYTES = 10_000_000
# Reflogs name commits that were amended or reset on purpose; messages may contain any hash.
NOT_READ = frozenset({"index", "logs", "modules", "COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG"})


def keep(repository: Repository, name: str, entry: Path) -> list[str]:
    """Keep the staged content, and every commit that no ref reaches, under refs; returns them."""
    staged = _staged(repository, name, entry)
    return [
        *([keep_commit(repository, name, staged)] if staged else []),
        *keep_commits(repository, name, entry),
    ]


def keep_commits(repository: Repository, name: str, entry: Path) -> list[str]:
    return [keep_commit(repository, name, one) for one in commits(repository, entry)]


def keep_commit(repository: Repository, name: str, commit: str) -> str:
    ref = f"{records.REMOVED}{name}/{commit[:12]}"
    repository.run("update-ref", ref, commit)
    return ref


def commits(repository: Repository, folder: Path) -> list[str]:
    """The commits named by the files in a git folder that no ref or other such commit reaches."""
    named = {
        one.decode()
        for path in _files(folder)
        for one in OBJECT.findall(plain_bytes(path, MAX_BYTES) or b"")
    }  # fmt: skip
    return _unreached(repository, sorted(named))


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name not in NOT_READ:
            yield from path.rglob("*") if path.is_dir() else (path,)


def _unreached(repository: Repository, objects: list[str]) -> list[str]:
    """The commits among these that no ref reaches, without ancestors of others.

    Commits with missing objects are left out: a ref to them would break the repository.
    """
    output = repository.run("cat-file", "--batch-check", feed=_lines(objects)).out.decode()
    found = [line.split()[0] for line in output.split("\n") if line.split()[1:2] == ["commit"]]
    if not found:
        return []
    but_refs = ("--stdin", "--not", "--glob=refs/*")
    whole = ("rev-list", "--objects", "--quiet", *but_refs)
    if repository.run(*whole, feed=_lines(found), must=False).status:
        alone = [] if len(found) == 1 else found
        return [tip for one in alone for tip in _unreached(repository, [one])]
    listed = repository.run("rev-list", "--parents", *but_refs, feed=_lines(found)).out.decode()
    rows = [line.split() for line in listed.split("\n") if line]
    below = {parent for row in rows for parent in row[1:]}
    return [row[0] for row in rows if row[0] not in below]


def _lines(words: list[str]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()


def _staged(repository: Repository, name: str, entry: Path) -> str:
    """A commit of the staged content; empty if it equals the checked-out commit."""
    git = f"--git-dir={entry}"
    if not (entry / "index").is_file():
        return ""
    head = repository.out(git, "rev-parse", "-q", "--verify", "HEAD^{commit}")
    with own_index(repository, name, entry) as aside:
        tree = staged_tree(aside, git)
    if not (head and tree) or tree == repository.out("rev-parse", f"{head}^{{tree}}"):
        return ""
    message = f"Staged in {name}, whose folder is gone"
    return repository.run("commit-tree", tree, "-p", head, "-m", message).out.decode().strip()


@contextmanager
def own_index(repository: Repository, name: str, entry: Path | None) -> Iterator[Repository]:
    """Git with a copy of a worktree's index, in which conflicts can be marked as resolved.

    The real index stays as it is even after an error or a kill. The worktree's lock must be held.
    """
    copy = repository.layout.worktree_index(name)
    _remove_index(copy)  # left by a killed call
    atomic.make_folder(copy.parent)
    try:
        if entry and (entry / "index").is_file():
            with atomic.write_errors(copy):
                # Keep its time: git re-reads files that are not older than the index.
                shutil.copy2(entry / "index", copy)
        yield replace(repository, index=copy)
    finally:
        _remove_index(copy)


def _remove_index(path: Path) -> None:
    atomic.remove(path)
    atomic.remove(path.with_name(f"{path.name}.lock"))  # git's


def staged_tree(repository: Repository, git: str) -> str:
    """The tree of the staged content, with `git` as git's first option; empty if there is none.

    An unmerged index has no tree, so each conflict is reduced to one side: its own, if it has one.
    """
    sides: dict[str, dict[str, str]] = {}
    for line in repository.names(git, "ls-files", "-u", "-z"):
        about, _, path = line.partition("\t")
        mode, blob, stage = about.split()
        sides.setdefault(path, {})[stage] = f"{mode} {blob}"
    lines = ""
    for path, side in sides.items():
        kept = side.get("2") or side.get("3") or side["1"]
        nothing = "0" * len(kept.split()[1])
        lines += f"0 {nothing}\t{path}\0{kept}\t{path}\0"
    if lines:
        repository.run(git, "update-index", "-z", "--index-info", feed=os.fsencode(lines))
    return repository.out(git, "write-tree")
