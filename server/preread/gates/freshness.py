"""Whether the lines that a dossier cites are unchanged, by the digests in its manifest.

Only sources that are lines or whole files are checked: the others need git, a parser or a search. A
span that has merely moved counts as changed here; the next load finds it again, without a model.
"""

from __future__ import annotations

import os
import re
import stat
import time

from preread.gates import spans, state_files, submodules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Lines = list[str]

SCHEMA = 1
MAX_MANIFEST = 4_000_000
MAX_HINT, MAX_REASON = 65_536, 300
_PATH = re.compile(r"<([^<>]+)>|([^<>,:`]+)")
_OTHER_KINDS = ("absent:", "commit:", "run:", "ticket:", "doc:")
# How the package's hints begin, too. Whether a span has only moved is not known before a refresh.
CHANGED, GONE = "what it cites changed or moved: ", "what it cites is no longer there: "


def parse(source: str) -> tuple[str, int, int] | None:
    """Path, first and last line (0 for a whole file) of a source; None for other kinds."""
    if "://" in source or "::" in source or source.startswith(_OTHER_KINDS):
        return None
    match = spans.LINES.fullmatch(source)
    if match:
        return match[1] or match[2], int(match[3]), int(match[4] or match[3])
    match = _PATH.fullmatch(source)
    return (match[1] or match[2], 0, 0) if match else None


class Files:
    """The lines of a project's files, each read once."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._cache: dict[tuple[str, int], tuple[bool, Lines | None]] = {}

    def lines(self, path: str, limit: int) -> tuple[bool, Lines | None]:
        """Whether the project has such a file, and its lines.

        The lines are None if the file is not text, or larger than `limit` bytes.
        """
        if (path, limit) not in self._cache:
            self._cache[path, limit] = self._read(path, limit)
        return self._cache[path, limit]

    def _read(self, path: str, limit: int) -> tuple[bool, Lines | None]:
        if not spans.is_relative(path):
            return False, None
        try:
            place = os.path.realpath(os.path.join(self.root, path))
            is_inside = os.path.commonpath((place, self.root)) == self.root
            if not is_inside or not stat.S_ISREG(os.stat(place).st_mode):
                return False, None
        except (OSError, ValueError):
            return False, None
        text = spans.decoded(state_files.read_bytes(place, limit))
        return True, None if text is None else spans.lines_of(text)


def current_digest(source: str, files: Files) -> str | None:
    """The digest of a source as it is now; empty when it is gone.

    None for other kinds, and in a submodule that is not checked out.
    """
    ref = parse(source)
    if ref is None:
        return None
    path, start, end = ref
    exists, lines = files.lines(path, spans.MAX_CITED if start else spans.MAX_BYTES)
    if not exists and submodules.missing(files.root, path):
        return None
    if not start:
        return spans.digest(lines or []) if exists else ""
    if lines is None or not start <= end <= len(lines):
        return ""
    return spans.digest(lines[start - 1 : end])


def manifest(folder: str) -> dict[str, Any]:
    """A dossier's manifest; empty when there is none of this schema."""
    found = state_files.read_json(os.path.join(folder, "manifest.json"), MAX_MANIFEST)
    return found if found.get("schema_version") == SCHEMA else {}


def why_stale(digests: object, files: Files, end: float) -> str | None:
    """Why a dossier is stale, as a hint says it; empty when it is not, None when time ran out."""
    for source, known in digests.items() if isinstance(digests, dict) else ():
        if time.monotonic() > end:
            return None
        now = current_digest(source, files)
        if now is not None and now != known:
            return f"{CHANGED if now else GONE}{source}"
    return ""


def update_hint(root: str, feature: str, digests: object, why: str) -> None:
    """Write the hint that a dossier is stale, or remove one whose reason is no longer true.

    Only reasons that can be checked here are removed.
    """
    path = os.path.join(root, ".project", ".cache", "stale", feature)
    data = state_files.read_bytes(path, MAX_HINT)
    if why:
        if data is None:
            hint = why[:MAX_REASON] + "\n"
            with state_files.WhereWritable():
                state_files.make_folder(root, ".cache", "stale")
                state_files.write_bytes(path, hint.encode("utf-8", "replace"))
        return
    cited = _cited((data or b"").decode("utf-8", "replace").strip())
    if cited and isinstance(digests, dict) and cited in digests and parse(cited) is not None:
        state_files.remove_file(path)


def _cited(hint: str) -> str:
    """The source that a hint names; empty when it gives another reason."""
    for start in (CHANGED, GONE):
        if hint.startswith(start):
            return hint[len(start) :].split(" (", maxsplit=1)[0]
    return ""
