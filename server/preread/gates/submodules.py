"""Submodules that are not checked out: what a dossier cites in them is neither there nor gone."""

from __future__ import annotations

import os
import re

from preread.gates import spans, state_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Submodule = tuple[str, str]

NAME, MAX_BYTES = ".gitmodules", 1_000_000
_PATH = re.compile(
    r'^[ \t]*path[ \t]*=[ \t]*(?:"([^"\\\n]+)"|([^"\\\n]*[^"\\\s]))[ \t\r]*$', re.MULTILINE
)


def missing(root: str, path: str) -> Submodule | None:
    """The submodule that a path is in, if it is not checked out: the repository and its path there.

    Git leaves its folder empty then. The repository is the root ("") or another submodule.
    """
    found = _around(root, "", path)
    while found is not None and not _is_empty(os.path.join(root, *found)):
        found = _around(root, os.path.join(*found), path)
    return found


def _is_empty(folder: str) -> bool:
    try:
        return not os.listdir(folder)
    except OSError as error:
        return isinstance(error, FileNotFoundError)


def listed(text: str) -> Iterator[tuple[str, int]]:
    """The path and the line of each submodule in the text of a `.gitmodules` file."""
    for match in _PATH.finditer(text):
        yield (match[1] or match[2]).strip("/"), text.count("\n", 0, match.start()) + 1


def _around(root: str, repository: str, path: str) -> Submodule | None:
    """The submodule of a repository that a path is in."""
    data = state_files.read_bytes(os.path.join(root, repository, NAME), MAX_BYTES)
    for name, _ in listed(spans.decoded(data) or ""):
        if name and path.startswith(f"{repository}/{name}/".lstrip("/")):
            return repository, name
    return None
