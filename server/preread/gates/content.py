"""A digest of a project's code as it is now: whether a test, or what it tests, was changed."""

from __future__ import annotations

import hashlib
import os

from preread.gates import changes, state_files

MAX_FILES = 500
# Code, and what configures tests; reports and logs, which runs write themselves, are neither.
SUFFIXES = tuple(
    """
    .py .pyi .js .ts .jsx .tsx .mjs .cjs .mts .cts .vue .svelte .html .css .scss .rb .go .rs .php
    .java .kt .kts .swift .scala .c .h .cc .cpp .hpp .cs .ex .exs .lua .sql .graphql .proto .sh
    .toml .cfg .ini .yaml .yml .gradle package.json tsconfig.json
    """.split()
)


def digest(root: str) -> str:
    """The digest of the code of a project, by what differs from the last commit."""
    names = changes.dirty(root)
    parts = [changes.head(root)]
    if names is None:
        names = sorted(changes.modified_since(root, 0))
        parts += [f"{name} {changes.stamp(os.path.join(root, name))}" for name in _code(names)]
    else:
        parts += [f"{name} {_content(root, name)}" for name in _code(names)[:MAX_FILES]]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _code(names: list[str]) -> list[str]:
    return [name for name in names if name.endswith(SUFFIXES) and not name.startswith(".project/")]


def _content(root: str, name: str) -> str:
    data = state_files.read_bytes(os.path.join(root, name))
    return "none" if data is None else hashlib.sha256(data).hexdigest()
