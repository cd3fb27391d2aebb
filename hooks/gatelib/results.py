"""Where runs of tests are written down: a line each in `.project/.state/results.jsonl`, a bullet each in the run log.

Several hooks may write at once. A line is one `write` to a file opened for appending, so none is torn; the file is cut
under a lock on its own descriptor, and who got the lock of a file that was replaced meanwhile opens it again.
"""

from __future__ import annotations

import json
import os
import stat
import time

from gatelib import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    import fcntl
except ImportError:  # on Windows lines are appended all the same; two that cut at once may lose one
    fcntl = None  # type: ignore[assignment]

MOST = 900_000  # bytes of the file; the package reads files of at most a million
KEPT = 600_000  # bytes that are left of it then
MAX_LINES = 5_000
LOOKED_AT = 400_000  # bytes at its end in which a session's runs are looked for
MAX_LOG = 400_000
PATIENCE = 1.0
ATTEMPTS = 20
_APPEND = (
    os.O_RDWR
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)


def place(root: str) -> str:
    return os.path.join(root, ".project", ".state", "results.jsonl")


def append(root: str, record: dict[str, Any]) -> None:
    """Add a record. Raises OSError where it cannot be written, or the file is a link or none."""
    sessions.make_folder(root, ".state")
    line = json.dumps(record, separators=(", ", ": ")).encode("ascii") + b"\n"
    path = place(root)
    for attempt in range(ATTEMPTS):
        handle = os.open(path, _APPEND, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(f"{path} is no file")
            alone = _lock(handle)
            if attempt < ATTEMPTS - 1 and not _is_still(handle, path):
                continue  # another hook has cut it meanwhile
            os.write(handle, (b"" if _ends_whole(handle) else b"\n") + line)
            if alone and os.fstat(handle).st_size > MOST:
                sessions.write_bytes(path, _newest(handle))
            return
        finally:
            os.close(handle)  # which gives the lock back


def _lock(handle: int) -> bool:
    """Whether the file is ours alone; a lock that does not come in time is gone without."""
    end = time.monotonic() + PATIENCE
    while fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        else:
            return True
    return True


def _is_still(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _ends_whole(handle: int) -> bool:
    """Whether the last line has its end: a writer that was killed, or a person, may have left half a line."""
    size = os.fstat(handle).st_size
    if not size:
        return True
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1) == b"\n"


def _newest(handle: int) -> bytes:
    return b"".join(_tail(handle, KEPT)[-MAX_LINES:])


def _tail(handle: int, most: int) -> list[bytes]:
    """The whole lines at the end of a file."""
    size = os.fstat(handle).st_size
    os.lseek(handle, max(0, size - most), os.SEEK_SET)
    with os.fdopen(os.dup(handle), "rb") as file:
        data = file.read(most)
    lines = [line + b"\n" for line in data.split(b"\n") if line]
    return lines[1:] if size > most else lines


def of_session(root: str, session: object) -> list[dict[str, Any]]:
    """The runs of a session that are still there, the oldest first."""
    try:
        handle = os.open(
            place(root), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
    except OSError:
        return []
    try:
        lines = _tail(handle, LOOKED_AT) if stat.S_ISREG(os.fstat(handle).st_mode) else []
    except OSError:
        return []
    finally:
        os.close(handle)
    needle = json.dumps(session).encode("ascii")
    found = []
    for line in lines:
        if needle in line:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict) and record.get("session") == session:
                found.append(record)
    return found


# -- the run log


def log(root: str, feature: str, bullet: str) -> None:
    """Add a bullet under `## RUN` of a feature's run log, where docs/run-log.md lets a hook do so."""
    path = os.path.join(root, ".project", "runs", feature + ".md")
    if sessions.read_bytes(path, MAX_LOG) is None:
        return
    handle = os.open(
        os.path.join(sessions.make_folder(root, ".state"), "runs.lock"), _APPEND, 0o666
    )
    try:
        _lock(handle)
        data = sessions.read_bytes(
            path, MAX_LOG
        )  # again: it may have changed while the lock was waited for
        changed = None if data is None else with_bullet(data, bullet.encode("utf-8", "replace"))
        if changed is not None:
            sessions.make_folder(root, "runs")  # raises where it is a link
            sessions.write_bytes(path, changed)
    finally:
        os.close(handle)


def stages(data: bytes) -> dict[str, tuple[int, bool]]:
    """The stages of a run log: name -> number of the line after its last text, whether it holds a bullet.

    What stands in code fences and comments is no heading and no bullet.
    """
    found: dict[str, tuple[int, bool]] = {}
    name, hidden = "", b""
    for number, line in enumerate(data.split(b"\n"), 1):
        text = line.strip()
        was_hidden = hidden
        if hidden:
            hidden = b"" if hidden in text else hidden
        elif text.startswith((b"```", b"~~~")):
            hidden = text[:3]
        elif text.startswith(b"<!--"):
            hidden = b"" if b"-->" in text else b"-->"
        elif line.startswith(b"## "):
            name = text[3:].strip().decode("utf-8", "replace")
        if name and text:
            held = found.get(name, (0, False))[1]
            found[name] = (
                number,
                held or (not was_hidden and line.startswith(b"- ") and len(text) > 2),
            )
    return found


def with_bullet(data: bytes, bullet: bytes) -> bytes | None:
    """A run log with one more bullet under RUN; None where a hook may not add one.

    It may where that heading stands; else below WRITE, when that holds a bullet. Never once LEARN holds one.
    """
    where = stages(data)
    if where.get("LEARN", (0, False))[1]:
        return None
    if "RUN" in where:
        at, added = where["RUN"][0], [b"- " + bullet]
    elif where.get("WRITE", (0, False))[1]:
        at, added = where["WRITE"][0], [b"", b"## RUN", b"- " + bullet]
    else:
        return None
    tail = b"\r" if b"\r\n" in data else b""
    lines = data.split(b"\n")
    if at == len(lines):  # the last line has no end
        lines[-1] += tail
        added.append(b"")
    lines[at:at] = [line + tail for line in added]
    return b"\n".join(lines)
