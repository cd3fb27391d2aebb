"""A feature's run log, `.project/runs/<feature>.md`: its stages, and the bullets that hooks add."""

from __future__ import annotations

import os

from preread.gates import locks, state_files

TYPE_CHECKING = False  # `typing` takes longer to import than a hook to decide
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BYTES = 400_000
FENCES = (b"```", b"~~~")


class Stage:
    """One `## STAGE`: the number of the line after its last text, and whether it has a bullet."""

    __slots__ = ("end", "has_bullet")

    def __init__(self) -> None:
        self.end = 0
        self.has_bullet = False


def add_run(root: str, feature: str, bullet: str) -> None:
    """Add a bullet under `## RUN` of a run log, if `with_bullet` adds it. Raises OSError."""
    text = bullet.encode("utf-8", "replace")
    _change(root, feature, lambda data: None if data is None else with_bullet(data, text))


def add_fix(root: str, feature: str, bullet: str) -> None:
    """Add the first bullet under `## FIX`, if `with_fix` adds it. Raises OSError."""
    text = bullet.encode("utf-8", "replace")
    _change(root, feature, lambda data: None if data is None else with_fix(data, text))


def add_notes(root: str, feature: str, bullets: list[str]) -> None:
    """Add bullets under `## ANALYZE` of a run log, which is created if need be. Raises OSError."""
    texts = [bullet.encode("utf-8", "replace") for bullet in bullets]
    begun = b"# Run log: " + feature.encode() + b"\n\n## ANALYZE\n"
    path = os.path.join(root, ".project", "runs", feature + ".md")

    def change(data: bytes | None) -> bytes | None:
        if data is None and os.path.lexists(path):  # too large, or not a regular file
            return None
        return with_notes(data or begun, texts)

    _change(root, feature, change)


def _change(root: str, feature: str, change: Callable[[bytes | None], bytes | None]) -> None:
    """Replace a run log by what `change` makes of it; None leaves everything as it is."""
    path = os.path.join(root, ".project", "runs", feature + ".md")
    if change(state_files.read_bytes(path, MAX_BYTES)) is None:
        return
    lock = os.path.join(state_files.make_folder(root, ".state"), "runs.lock")
    handle = os.open(lock, locks.APPEND, 0o666)
    try:
        locks.acquire(handle)
        # Again, because it may have changed during the wait.
        changed = change(state_files.read_bytes(path, MAX_BYTES))
        if changed is not None:
            state_files.make_folder(root, "runs")  # raises when it is a link
            state_files.write_bytes(path, changed)
    finally:
        os.close(handle)


def text_of(root: str, feature: str, stage: str) -> bytes:
    """The lines of a stage in a feature's run log; empty without any."""
    path = os.path.join(root, ".project", "runs", feature + ".md")
    data = b"\n" + (state_files.read_bytes(path, MAX_BYTES) or b"")
    rest = data.partition(b"\n## " + stage.encode() + b"\n")[2]
    return rest.partition(b"\n## ")[0].strip()


def stages(data: bytes) -> dict[str, Stage]:
    """The stages of a run log by name; code fences and comments have no headings and no bullets."""
    found: dict[str, Stage] = {}
    stage, closer = None, b""
    for number, line in enumerate(data.split(b"\n"), 1):
        text = line.strip()
        is_visible = not closer
        closer = _closer(text, closer)
        if is_visible and not closer and line.startswith(b"## "):
            name = text[3:].strip().decode("utf-8", "replace")
            stage = found.setdefault(name, Stage()) if name else None
        if stage is not None and text:
            stage.end = number
            is_bullet = is_visible and line.startswith(b"- ") and len(text) > 2
            stage.has_bullet = stage.has_bullet or is_bullet
    return found


def _closer(text: bytes, closer: bytes) -> bytes:
    """The end marker of the fence or comment that contains the next line; empty if none does."""
    if closer:
        return b"" if closer in text else closer
    if text.startswith(FENCES):
        return text[:3]
    return b"-->" if text.startswith(b"<!--") and b"-->" not in text else b""


def with_bullet(data: bytes, bullet: bytes) -> bytes | None:
    """A run log with one more bullet under RUN; None when a hook may not add one.

    It may where that heading exists, or below a WRITE that has a bullet; never once LEARN has one.
    """
    found = stages(data)
    learn, run, write = (found.get(name) for name in ("LEARN", "RUN", "WRITE"))
    if learn is not None and learn.has_bullet:
        return None
    if run is not None:
        at, added = run.end, [b"- " + bullet]
    elif write is not None and write.has_bullet:
        at, added = write.end, [b"", b"## RUN", b"- " + bullet]
    else:
        return None
    return _inserted(data, at, added)


def with_fix(data: bytes, bullet: bytes) -> bytes | None:
    """A run log with the first bullet under FIX; None when it has one, or no place for it."""
    found = stages(data)
    run, fix = found.get("RUN"), found.get("FIX")
    if run is None or not run.has_bullet or (fix is not None and fix.has_bullet):
        return None
    if fix is not None:
        return _inserted(data, fix.end, [b"- " + bullet])
    return _inserted(data, run.end, [b"", b"## FIX", b"- " + bullet])


def with_notes(data: bytes, bullets: list[bytes]) -> bytes:
    """A run log with more bullets under ANALYZE."""
    added = [b"- " + bullet for bullet in bullets]
    analyze = stages(data).get("ANALYZE")
    if analyze is None:
        return _inserted(data, 1, [b"", b"## ANALYZE", *added])
    return _inserted(data, analyze.end, added)


def _inserted(data: bytes, at: int, added: list[bytes]) -> bytes:
    """The text with lines after the line of this number."""
    ending = b"\r" if b"\r\n" in data else b""
    lines = data.split(b"\n")
    if at == len(lines):  # the last line has no line end
        lines[-1] += ending
        added.append(b"")
    lines[at:at] = [line + ending for line in added]
    return b"\n".join(lines)
