"""Commits as sources: their message and diff as lines, read in one run of git where possible."""

import os
from collections.abc import Sequence

from preread.gates.spans import without_carriage_returns
from preread.project.tree import MAX_COMMIT, Tree

MAX_TOGETHER = 40  # commits that one git process reads
OPTIONS = (
    "--no-ext-diff --no-textconv --no-color --no-show-signature --encoding=UTF-8 --full-index "
    "--src-prefix=a/ --dst-prefix=b/ --unified=3 --inter-hunk-context=0 --diff-algorithm=myers "
    "--indent-heuristic --find-renames --submodule=short --no-relative --patch"
).split()


def read(names: Sequence[str], tree: Tree) -> None:
    """Read several commits at once for a later `lines_of`, because each start of git takes time.

    If one of them does not exist, `lines_of` reads each by itself.
    """
    names = [name for name in dict.fromkeys(names) if name not in tree.commits][:MAX_TOGETHER]
    mark = os.urandom(16).hex()  # nothing in a commit can look like it
    texts = _shown(names, tree, mark).split(f"{mark}\n")[1:] if len(names) > 1 else []
    if len(texts) == len(names):
        tree.commits.update(zip(names, map(_lines_of_commit, texts), strict=True))


def lines_of(name: str, tree: Tree) -> tuple[str, ...]:
    """The lines of a commit; none if it does not exist."""
    if name not in tree.commits:
        tree.commits[name] = _lines_of_commit(_shown([name], tree, ""))
    return tree.commits[name]


def _shown(names: Sequence[str], tree: Tree, mark: str) -> str:
    """Messages and patches of commits, each after the mark; empty if a commit does not exist.

    The hash is their first line. Settings of git do not change what they contain.
    """
    layout = f"--format={mark}%n%H%n%B" if mark else "--format=%H%n%B"
    commits = [f"{name}^{{commit}}" for name in names]
    done = tree.git("show", *OPTIONS, layout, *commits) if tree.is_git else None
    return done.out.decode("utf-8", "replace") if done is not None and done.status == 0 else ""


def _lines_of_commit(text: str) -> tuple[str, ...]:
    """The lines of a commit without the diff's first column, so that they are as in the file."""
    if not text:
        return ()
    lines = text[:MAX_COMMIT].rstrip("\n").split("\n")  # git puts empty ones between commits
    plain = [line[1:] if line[:1] in {"+", "-", " "} else line for line in (*lines, "")]
    return tuple(without_carriage_returns(plain))
