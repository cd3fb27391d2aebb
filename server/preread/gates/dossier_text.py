"""The dossiers of a project as text for the model: their names, age and contents."""

from __future__ import annotations

import os
import time

from preread.gates import dossiers, events, fence, messages, state_files
from preread.gates.feature_names import is_feature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preread.gates.workspace import Workspace

# The files in the order in which they are shown, until the room is used up.
ORDER = tuple(
    name + ".md"
    for name in (
        "summary",
        "anti-patterns",
        "patterns",
        "existing-tests",
        "failures",
        "requirements",
        "codebase",
    )
)
MAX_CONTEXT = 9_500  # characters of a hook's context; Claude Code cuts it at 10,000
MAX_FILE = 400_000
MAX_DOSSIERS = 300
MIN_ROOM = 200  # with fewer characters left, no further file is started
CUT = "\n[cut here; the rest is in the file]\n"


def root_of(where: Workspace, feature: str) -> str | None:
    """The project that has a feature's dossier."""
    try:
        return next((root for root in where.roots if dossiers.is_complete([root], feature)), None)
    except OSError:
        return None


def shown_folder(where: Workspace, root: str, feature: str) -> str:
    """A dossier's folder as the model can open it."""
    relative = ".project/context/" + feature + "/"
    return relative if root == where.root else events.shown(os.path.join(root, relative))


def names(root: str) -> list[str]:
    """The features with a complete dossier, newest first."""
    try:
        found = [name for name in dossiers.folders(root)[: 4 * MAX_DOSSIERS] if is_feature(name)]
        complete = [name for name in found if dossiers.is_complete([root], name)]
    except OSError:
        return []
    return sorted(complete, key=lambda name: (-_written(root, name), name))[:MAX_DOSSIERS]


def _written(root: str, feature: str) -> float:
    """When a dossier was last built, in epoch seconds: a build writes the manifest last."""
    place = dossiers.folder(root, feature)
    times = (
        state_files.modified(os.path.join(place, name)) for name in ("manifest.json", ORDER[0])
    )
    return next((time for time in times if time), 0.0)


def age(root: str, feature: str) -> str:
    """How old a dossier is, in words."""
    seconds = max(0, int(time.time() - _written(root, feature)))
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {word}{'' if count == 1 else 's'} old"
    return "new"


def text(root: str, feature: str, room: int) -> str:
    """As much of a dossier as fits into `room` characters: whole files, the last one cut.

    Fenced, because what a dossier quotes is data.
    """
    parts, left = [], room - fence.SIZE
    for name in ORDER:
        words = read(root, feature, name)
        if not words or left < MIN_ROOM:
            continue
        head = "\n--- " + name + " ---\n"
        part = head + cut(words + "\n", left - len(head))
        parts.append(part)
        left -= len(part)
    return fence.block("".join(parts))


def read(root: str, feature: str, name: str) -> str:
    """The printable text of one file of a dossier, trimmed; empty when there is none."""
    data = state_files.read_bytes(os.path.join(dossiers.folder(root, feature), name), MAX_FILE)
    return printable((data or b"").decode("utf-8", "replace")).strip()


def printable(words: str) -> str:
    """A text with `?` for control characters and lone surrogates; line ends and tabs stay."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else "?"
        for char in words.replace("\r\n", "\n")
    )


def cut(words: str, size: int) -> str:
    """A text of at most `size` characters, cut at the end of a line."""
    if len(words) <= size:
        return words
    start = words[: max(0, size - len(CUT))]
    if "\n" not in start:
        return start + CUT
    return start[: start.rfind("\n") + 1].rstrip("\n") + CUT


def brief(where: Workspace, feature: str, room: int) -> str:
    """A dossier's place, age and text; without a dossier, how to get one."""
    root = root_of(where, feature)
    if root is None:
        call = f"Call {messages.call(feature)} {messages.FIND} before you go on."
        return f"There is no dossier for the feature {feature} yet. {call}"
    stale = ""
    if dossiers.is_stale(root, feature):
        stale = f" It is stale: {messages.call(feature)} refreshes it."
    place = shown_folder(where, root, feature)
    head = f"The dossier of the feature {feature} is in {place} ({age(root, feature)}).{stale}\n"
    return head + text(root, feature, room - len(head))
