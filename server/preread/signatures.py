"""Signatures of the project's files and of HEAD: a cached result is valid while they are the same.

Sizes, times and inodes stand for the content, as in git's index; see "racy git" in git's
documentation.
"""

import os
import time
from collections.abc import Iterable
from pathlib import Path

from preread import inputs
from preread.dossier import published
from preread.project import git
from preread.project.read import data_at
from preread.project.tree import Tree, is_young


def of_project(tree: Tree) -> str:
    """A signature of all files and of HEAD; empty if a file changed too recently."""
    files = of_files(tree, inputs.watched(tree), may_be_missing=True)
    return f"{files} {of_head([], tree)}" if files else ""


def of_files(tree: Tree, paths: Iterable[str], *, may_be_missing: bool = False) -> str:
    """A signature of these files; empty if one changed too recently, or must exist and does not."""
    parts, now = [""], time.time_ns()
    for path in paths:
        try:
            info = os.stat(f"{tree.root}/{path}")  # noqa: PTH116 - a glob can match thousands
        except (OSError, ValueError):
            if not may_be_missing:
                return ""
            parts.append(f"{path}\0")
            continue
        if is_young(info.st_mtime_ns, now):
            return ""
        parts.append(f"{path}\0{info.st_size} {info.st_mtime_ns} {info.st_ctime_ns} {info.st_ino}")
    return published.digest("\n".join(parts).encode("utf-8", "surrogateescape"))


def of_head(commits: list[str], tree: Tree) -> str:
    """A signature of HEAD, empty if unknown. Reads files, because running git would be slow."""
    found = git.folders(tree.root)
    if found is None:
        return ""
    own, common = found
    try:
        head = _line(own / "HEAD")
        tip, packed = _line(common / head.removeprefix("ref: ")), common / "packed-refs"
        info = packed.stat() if packed.exists() else None
    except (OSError, ValueError):
        return ""
    if not head or (head.startswith("ref: ") and not tip and info is None):
        return ""
    pack = f"{info.st_mtime_ns} {info.st_size}" if info else ""
    parts = [*sorted(commits), head, tip, pack, tree.cut]
    return published.digest("\n".join(parts).encode())


def _line(path: Path) -> str:
    """The text of a small file; empty for anything else, like a pipe."""
    return (data_at(str(path)) or b"").decode().strip()
