"""The record of test runs, `.project/.state/results.jsonl`: a JSON object a line, oldest first.

Several hooks may append at once. Each line is one `write`, so that lines do not mix. A file that is
too large is replaced by its end, under a lock; a hook that waited for the lock opens it again.
"""

from __future__ import annotations

import json
import os
import stat
import time

from preread.gates import locks, state_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 900_000  # of the file; the package reads files of at most a million
KEEP_BYTES, KEEP_LINES = 600_000, 5_000  # the size to which a file that is too large is cut
SESSION_BYTES = 400_000  # bytes at the file's end that are searched for a session's runs
ATTEMPTS = 20


class Run:
    """One run of tests. A field that the record lacks, or has in another type, is empty."""

    __slots__ = (
        "at",
        "code",
        "command",
        "failed",
        "features",
        "fix",
        "id",
        "kind",
        "message",
        "named",
        "outcome",
        "prompt",
        "seconds",
        "targets",
    )

    def __init__(self, record: dict[str, Any]) -> None:
        self.id = text_in(record, "id")
        self.at = _number_in(record, "at", 1e11)
        self.outcome = text_in(record, "outcome")  # passed, failed, error
        self.kind = text_in(record, "kind")  # of failure_kinds
        self.features = _texts_in(record, "features")
        self.command = text_in(record, "command")
        self.targets = _texts_in(record, "targets")
        self.failed = _texts_in(record, "failed")
        self.message = text_in(record, "message")
        self.named = _texts_in(record, "named")  # `targets` with the tests in them, and filters
        self.code = text_in(record, "code")  # state of the project's files
        self.fix = text_in(record, "fix")  # digest of FIX in the run logs
        self.prompt = text_in(record, "prompt")  # the id of what the person said last
        self.seconds = max(0.0, _number_in(record, "seconds", 86_400))  # 0: unknown


def text_in(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _texts_in(record: dict[str, Any], key: str) -> tuple[str, ...]:
    value = record.get(key)
    return tuple(t for t in value if isinstance(t, str)) if isinstance(value, list) else ()


def _number_in(record: dict[str, Any], key: str, limit: float) -> float:
    value = record.get(key)
    return float(value) if isinstance(value, (int, float)) and abs(value) < limit else 0.0


def parse(line: str | bytes) -> dict[str, Any] | None:
    """The record on one line; None for anything else, like half a line of a killed writer."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def new_id() -> str:
    """The id of a run that has just ended."""
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-" + os.urandom(3).hex()


def path_of(root: str, name: str = "results.jsonl") -> str:
    return os.path.join(root, ".project", ".state", name)


def append(root: str, record: dict[str, Any], name: str = "results.jsonl") -> None:
    """Add a record. Raises OSError, also when the file is a link."""
    state_files.make_folder(root, ".state")
    line = json.dumps(record, separators=(", ", ": ")).encode("ascii") + b"\n"
    path = path_of(root, name)
    for attempt in range(ATTEMPTS):
        handle = os.open(path, locks.APPEND, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(f"{path} is not a file")
            is_locked = locks.acquire(handle)
            if attempt < ATTEMPTS - 1 and not _is_same_file(handle, path):
                continue  # another hook has truncated it meanwhile
            os.write(handle, (b"" if _ends_with_newline(handle) else b"\n") + line)
            if is_locked and os.fstat(handle).st_size > MAX_BYTES:
                state_files.write_bytes(path, b"".join(_tail(handle, KEEP_BYTES)[-KEEP_LINES:]))
            return
        finally:
            os.close(handle)


def _is_same_file(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _ends_with_newline(handle: int) -> bool:
    """Whether the last line is complete: a killed writer or a person may have left half of one."""
    size = os.fstat(handle).st_size
    if not size:
        return True
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1) == b"\n"


def _tail(handle: int, limit: int) -> list[bytes]:
    """The whole lines in the last `limit` bytes of a file."""
    size = os.fstat(handle).st_size
    os.lseek(handle, max(0, size - limit), os.SEEK_SET)
    with os.fdopen(os.dup(handle), "rb") as file:
        data = file.read(limit)
    lines = [line + b"\n" for line in data.split(b"\n") if line]
    return lines[1:] if size > limit else lines


def of_session(root: str, session: object) -> list[Run]:
    """The runs of a session that are still in the file, oldest first."""
    needle = json.dumps(session).encode("ascii")
    records = [parse(line) for line in _newest(root) if needle in line]
    return [Run(record) for record in records if record and record.get("session") == session]


def _newest(root: str) -> list[bytes]:
    try:
        handle = os.open(path_of(root), state_files.READ)
    except OSError:
        return []
    try:
        is_file = stat.S_ISREG(os.fstat(handle).st_mode)
        return _tail(handle, SESSION_BYTES) if is_file else []
    except OSError:
        return []
    finally:
        os.close(handle)
