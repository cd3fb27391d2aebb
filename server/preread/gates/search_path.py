"""The folders to look up programs in: never the project's, which must not choose what runs."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def outside(root: str, environ: Mapping[str, str]) -> str:
    """PATH without its relative folders, which a program's working directory decides, and without
    those inside the project. Never empty: an empty PATH means the working directory.
    """
    inside = os.path.realpath(root)
    kept = [
        folder
        for folder in environ.get("PATH", os.defpath).split(os.pathsep)
        if os.path.isabs(folder) and not _is_in(os.path.realpath(folder), inside)
    ]
    return os.pathsep.join(kept) or os.defpath


def _is_in(folder: str, root: str) -> bool:
    return folder == root or folder.startswith(root.rstrip(os.sep) + os.sep)
