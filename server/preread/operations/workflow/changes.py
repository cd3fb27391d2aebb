"""What has changed since a commit: lines by file, and marks of debt among the added ones."""

import re
from dataclasses import dataclass

from preread.errors import PrereadError
from preread.gates import git_command
from preread.project.tree import Tree

DEBT = re.compile(r"\b(?:TODO|FIXME|HACK|XXX)\b")
REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@{}^~-]{0,199}")
MAIN = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
PLAIN = ("--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all")
NUMSTAT = re.compile(rb"(\d+|-)\t(\d+|-)\t")


@dataclass(frozen=True)
class Changes:
    """How much differs from `base`, including uncommitted changes."""

    base: str
    files: int = 0
    added: int = 0
    removed: int = 0
    debt: int = 0  # marks in added lines


def since(tree: Tree, base: str | None) -> Changes | None:
    """The changes since `base`, by default since this branch left the main one.

    None without git or without a commit. Raises E_NOT_FOUND for a base that is no commit.
    """
    if base is not None and not REF.fullmatch(base):
        raise _no_commit(base)
    if not tree.is_git or not _commit(tree, "HEAD"):
        return None
    found = _commit(tree, base) if base else _branched_off(tree)
    if not found:
        raise _no_commit(str(base))
    options = _without_filters(tree)
    if options is None:
        return None
    numbers = tree.git(*options, "diff", "--numstat", "-z", *PLAIN, found, "--", ".").out
    rows = [match for row in numbers.split(b"\0") if (match := NUMSTAT.match(row))]
    patch = tree.git(*options, "diff", "-U0", *PLAIN, found, "--", ".").out
    return Changes(
        base=found,
        files=len(rows),
        added=sum(_number(row[1]) for row in rows),
        removed=sum(_number(row[2]) for row in rows),
        debt=_debt(patch.decode("utf-8", "replace")),
    )


def _debt(patch: str) -> int:
    """How many marks of debt are in a patch's added lines."""
    lines = patch.split("\n")
    added = (line for line in lines if line.startswith("+") and not line.startswith("+++"))
    return sum(len(DEBT.findall(line)) for line in added)


def _number(text: bytes) -> int:
    return 0 if text == b"-" else int(text)


def _commit(tree: Tree, ref: str) -> str:
    """The id of a commit; empty if there is none."""
    done = tree.git("rev-parse", "--verify", "-q", f"{ref}^{{commit}}")
    return done.out.decode("ascii", "replace").strip() if done.status == 0 else ""


def _branched_off(tree: Tree) -> str:
    """The commit at which this branch left the main one; on the main branch, its last commit."""
    head = _commit(tree, "HEAD")
    for ref in MAIN:
        main = _commit(tree, ref)
        if main and main != head:
            done = tree.git("merge-base", "HEAD", main)
            if done.status == 0:
                return done.out.decode("ascii", "replace").strip()
    return head


def _without_filters(tree: Tree) -> tuple[str, ...] | None:
    """Options that turn off the repository's filter programs; None if one cannot be turned off."""
    listed = tree.git(*git_command.LIST_FILTERS)
    options = git_command.without_filters(listed.out) if listed.status in {0, 1} else None
    return None if options is None else tuple(options)


def _no_commit(base: str) -> PrereadError:
    return PrereadError(
        "E_NOT_FOUND",
        f"{base[:80]!a} is not a commit in this repository.",
        "Name a branch, a tag or a commit's id, like `main`.",
    )
