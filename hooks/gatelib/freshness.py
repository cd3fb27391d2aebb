"""Whether the lines that a dossier cites are as they were, as the package computes it (server/preread/sources.py).

Only sources that are lines or files are looked at: the others want git, a parser or a search. A span that merely moved
counts as changed here; the next load finds it again, without a model.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time

from gatelib import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1
MAX_BYTES = 1_000_000  # a larger file has no lines for the package either
MAX_MANIFEST = 4_000_000
_LINES = re.compile(
    r"(?:<([^<>]+)>|([^<>,:`]*[^<>,:`\s])):([1-9]\d{0,6})(?:-([1-9]\d{0,6}))?", re.ASCII
)
_PATH = re.compile(r"<([^<>]+)>|([^<>,:`]+)")
_OTHERS = ("absent:", "commit:", "run:", "ticket:", "doc:")
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
CHANGED, GONE = "a cited span changed: ", "a cited span is gone: "  # as the package's hints begin


def parse(text: str) -> tuple[str, int, int] | None:
    """Path, first and last line (0 for a whole file) of a source; None for a kind that is not looked at."""
    if "://" in text or "::" in text or text.startswith(_OTHERS):
        return None
    match = _LINES.fullmatch(text)
    if match:
        return match[1] or match[2], int(match[3]), int(match[4] or match[3])
    match = _PATH.fullmatch(text)
    return (match[1] or match[2], 0, 0) if match else None


class Files:
    """The lines of a project's files, each read once."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._kept: dict[str, tuple[bool, list[str] | None]] = {}

    def lines(self, path: str) -> tuple[bool, list[str] | None]:
        """Whether there is such a file in the project, and its lines, or None where it is no text."""
        if path not in self._kept:
            self._kept[path] = self._read(path)
        return self._kept[path]

    def _read(self, path: str) -> tuple[bool, list[str] | None]:
        parts = path.split("/")
        if (
            not path
            or "\0" in path
            or "\\" in path
            or path.startswith("/")
            or ".." in parts
            or re.match(r"[A-Za-z]:", path)
        ):
            return False, None
        try:
            place = os.path.realpath(os.path.join(self.root, path))
            inside = os.path.commonpath((place, self.root)) == self.root
            if not inside or not stat.S_ISREG(os.stat(place).st_mode):
                return False, None
        except (OSError, ValueError):
            return False, None
        data = sessions.read_bytes(place, MAX_BYTES)
        if data is None or b"\0" in data:
            return True, None
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        return True, [line[:-1] if line.endswith("\r") else line for line in lines]


def digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def now(source: str, files: Files) -> str | None:
    """The digest of a source as it is now; empty where it is gone, None for a kind that is not looked at."""
    ref = parse(source)
    if ref is None:
        return None
    path, start, end = ref
    there, lines = files.lines(path)
    if not start:
        return digest(lines or []) if there else ""
    return (
        digest(lines[start - 1 : end]) if lines is not None and start <= end <= len(lines) else ""
    )


def manifest(folder: str) -> dict[str, Any]:
    """A dossier's manifest; empty where there is none that this can read."""
    found = sessions.read(os.path.join(folder, "manifest.json"), MAX_MANIFEST)
    return found if found.get("schema_version") == SCHEMA else {}


def why_stale(spans: object, files: Files, end: float) -> str | None:
    """Why a dossier is stale, as a hint says it; empty where all that is looked at holds, None where time ran out."""
    for source, known in spans.items() if isinstance(spans, dict) else ():
        if time.monotonic() > end:
            return None
        is_now = now(source, files)
        if is_now is not None and is_now != known:
            return f"{CHANGED if is_now else GONE}{source}"
    return ""


def update(root: str, feature: str, spans: object, why: str) -> None:
    """Write the hint for the gates; or take one back that says what is not so any more, and that this can see."""
    path = os.path.join(root, ".project", ".cache", "stale", feature)
    data = sessions.read_bytes(path, 65_536)
    if why:
        if data is None:
            sessions.make_folder(root, ".cache", "stale")
            sessions.write_bytes(path, (why[:300] + "\n").encode("utf-8", "replace"))
        return
    said = (data or b"").decode("utf-8", "replace").strip()
    cited = next(
        (said[len(start) :].split(" (")[0] for start in (CHANGED, GONE) if said.startswith(start)),
        "",
    )
    if cited and isinstance(spans, dict) and cited in spans and parse(cited) is not None:
        os.unlink(path)
