"""Which project a path belongs to, and how the rules name it there."""

from __future__ import annotations

import os

from preread.gates import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def absolute(path: str, cwd: str) -> str:
    """`path` against `cwd`, with `.` and `..` resolved as text. Raises events.InvalidEvent.

    One of the two has to be absolute.
    """
    if not is_path(path):
        raise events.InvalidEvent("the target " + events.shown(path) + " is not a path")
    if not os.path.isabs(path):
        if not os.path.isabs(cwd) or not is_path(cwd):
            raise events.InvalidEvent(
                "neither the target " + events.shown(path) + " nor cwd is absolute"
            )
        path = os.path.join(cwd, path)
    path = os.path.normpath(path)
    return path[1:] if path.startswith("//") else path


def is_path(text: str) -> bool:
    """Whether a file can have this name: no NUL, no half of a surrogate pair."""
    return "\0" not in text and (
        text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
    )


def project_of(path: str) -> str | None:
    """The nearest folder above `path` that contains a `.project` folder or `.git`."""
    here = os.path.dirname(path)
    while True:
        has_project = os.path.isdir(os.path.join(here, ".project"))
        if has_project or os.path.exists(os.path.join(here, ".git")):
            return here
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def session_root(event: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    """The session's project: that of CLAUDE_PROJECT_DIR, else that of the event's cwd."""
    for folder in (environ.get("CLAUDE_PROJECT_DIR"), event.get("cwd")):
        if isinstance(folder, str) and os.path.isabs(folder) and is_path(folder):
            root = project_of(os.path.join(absolute(folder, folder), "x"))
            if root is not None:
                return root
    return None


def located(path: str) -> list[tuple[str, str]]:
    """(project, relative path) of an absolute path, as written and with symbolic links resolved."""
    found = []
    for variant in dict.fromkeys([path, os.path.realpath(path)]):
        root = project_of(variant)
        if root is not None:
            found.append((root, relative_to(root, variant)))
    return found


def candidates(path: str, cwd: str) -> list[tuple[str, str]]:
    """(project, relative path) for each way in which the rules may name a target, best first."""
    found = located(absolute(path, cwd))
    drafts = [(root, _without_draft_folders(relative)) for root, relative in found]
    return list(dict.fromkeys(found + drafts))


def relative_to(root: str, path: str) -> str:
    """A path below `root`, with `/` as its separator."""
    relative = path[len(root) :].lstrip(os.sep)
    return relative if os.sep == "/" else relative.replace(os.sep, "/")


def _without_draft_folders(relative: str) -> str:
    *folders, name = relative.split("/")
    return "/".join([folder for folder in folders if folder != ".draft"] + [name])
