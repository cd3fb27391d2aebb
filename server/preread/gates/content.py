"""A digest of a project's files as they are now, to see whether a test or what it reads changed."""

from __future__ import annotations

import hashlib
import os
import re

from preread.gates import changes, state_files

MAX_READ = 500  # files whose content is read; more are compared by time and size
# Files that test runs write themselves, and that git may list. They do not make a test fail.
_OUTPUT = re.compile(
    r"(^|/)(\.project|\.git|__pycache__|\.pytest_cache|htmlcov|test-results|playwright-report)/"
    r"|(^|/)((junit|report|TEST-)[^/]*\.xml|\.coverage[^/]*|coverage\.xml|[^/]*\.(log|pyc|tmp))$"
)


def digest(root: str, since: str = "") -> str:
    """The state of a project's files: a git tree, and a digest of the files that differ from it.

    `since` is an earlier state to compare with. The new one is then relative to the same tree, so
    that a commit alone is no change.
    """
    names = changes.dirty(root)
    if names is None:
        return ":" + _digest(root, sorted(changes.modified_since(root, 0)), 0)
    now = changes.tree(root)
    tree = since.partition(":")[0] or now
    names = sorted({*names, *changes.between(root, tree, now)})
    return f"{tree}:{_digest(root, names, MAX_READ)}"


def _digest(root: str, names: list[str], readable: int) -> str:
    names = [name for name in names if not _OUTPUT.search(name)]
    parts = [f"{name} {_content(root, name)}" for name in names[:readable]]
    parts += [f"{name} {_stamp(root, name)}" for name in names[readable:]]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _content(root: str, name: str) -> str:
    data = state_files.read_bytes(os.path.join(root, name))
    return _stamp(root, name) if data is None else hashlib.sha256(data).hexdigest()


def _stamp(root: str, name: str) -> str:
    """For a file that is too large to read, or beyond the limit; `None` for a missing one."""
    return str(changes.stamp(os.path.join(root, name)))
