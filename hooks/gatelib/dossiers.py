"""The dossiers of a project as texts for the model: which there are, how old, and what is in them."""

from __future__ import annotations

import os
import time

from gatelib import events, places, rules, sessions, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gatelib.scene import Scene

# As much of a dossier's text as fits, in this order.
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
MOST = 9_500  # characters of a hook's context; the program cuts at 10,000
MAX_FILE = 400_000
MAX_DOSSIERS = 300
CUT = "\n[cut here; the rest is in the file]\n"


def root_of(where: Scene, feature: str) -> str | None:
    """The project in which a feature's dossier stands."""
    try:
        return next((root for root in where.roots if places.standing([root], feature)), None)
    except OSError:
        return None


def folder(root: str, feature: str) -> str:
    return os.path.join(root, ".project", "context", feature)


def shown(where: Scene, root: str, feature: str) -> str:
    """A dossier's folder as the model can name it."""
    relative = ".project/context/" + feature + "/"
    return relative if root == where.root else events.shown(os.path.join(root, relative))


def names(root: str) -> list[str]:
    """The features with a standing dossier, the newest first."""
    try:
        found = [
            name
            for name in places.dossiers(root)[: 4 * MAX_DOSSIERS]
            if rules.is_feature(name) or name == rules.PROJECT
        ]
        standing = [name for name in found if places.standing([root], name)]
    except OSError:
        return []
    return sorted(standing, key=lambda name: (-made(root, name), name))[:MAX_DOSSIERS]


def made(root: str, feature: str) -> float:
    """When a dossier was written last: its manifest is the last file of a build."""
    for name in ("manifest.json", "summary.md"):
        try:
            return os.lstat(os.path.join(folder(root, feature), name)).st_mtime
        except OSError:
            continue
    return 0.0


def age(root: str, feature: str) -> str:
    """How old a dossier is, in words."""
    seconds = max(0, int(time.time() - made(root, feature)))
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {word}{'' if count == 1 else 's'} old"
    return "new"


def text(root: str, feature: str, room: int) -> str:
    """As much of a dossier as fits into `room` characters: whole files first, the last one cut at a line."""
    parts, left = [], room
    for name in ORDER:
        data = sessions.read_bytes(os.path.join(folder(root, feature), name), MAX_FILE)
        words = printable(data.decode("utf-8", "replace")) if data else ""
        if not words.strip() or left < 200:
            continue
        head = "\n--- " + name + " ---\n"
        part = head + cut(words.strip() + "\n", left - len(head))
        parts.append(part)
        left -= len(part)
    return "".join(parts)


def printable(words: str) -> str:
    """A text without control characters, colours and half characters; line ends stay."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else "?"
        for char in words.replace("\r\n", "\n")
    )


def cut(words: str, most: int) -> str:
    """A text of at most `most` characters, cut at the end of a line."""
    if len(words) <= most:
        return words
    kept = words[: max(0, most - len(CUT))]
    return kept[: kept.rfind("\n") + 1].rstrip("\n") + CUT if "\n" in kept else kept + CUT


def brief(where: Scene, feature: str, room: int) -> str:
    """A dossier's place, age and text; or how to get it where there is none."""
    root = root_of(where, feature)
    if root is None:
        call = f"Call {texts.call(feature)} {texts.FIND} before you go on."
        return f"There is no dossier for the feature {feature} yet. {call}"
    stale = ""
    if places.stale(root, feature):
        stale = f" It is stale: {texts.call(feature)} refreshes it."
    place = shown(where, root, feature)
    head = f"The dossier of the feature {feature} is in {place} ({age(root, feature)}).{stale}\n"
    return head + text(root, feature, room - len(head))
