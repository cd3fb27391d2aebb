"""Whether a recorded process is still alive, although process ids are reused."""

from contextlib import suppress
from pathlib import Path

from preread.errors import Unreadable
from preread.infra.reading import plain_bytes

CLOCK_SLACK = 5.0  # seconds by which a start time may differ between two readings
PROC = Path("/proc")
START = 19  # of /proc/<pid>/stat behind the name: field 22, in clock ticks since the system booted

# When a process started. On Linux, a text that does not change when the clock is set: the boot's id
# and the clock ticks since then. Elsewhere, and in records of older versions, epoch seconds.
Born = str | float


def born(pid: int) -> Born:
    """When a process started; 0 if there is none."""
    return _ticks(pid) or _seconds(pid)


def lives(pid: int, since: Born) -> bool:
    """Whether the process that started then is still alive."""
    if isinstance(since, str):
        return bool(since) and born(pid) == since
    return bool(since) and abs(_seconds(pid) - since) <= CLOCK_SLACK


def _ticks(pid: int) -> str:
    """The boot's id and the ticks at the start; empty without such a process, or not on Linux."""
    with suppress(Unreadable, IndexError):  # its file can disappear before it is read
        boot = plain_bytes(PROC / "sys/kernel/random/boot_id") or b""
        _, _, fields = (plain_bytes(PROC / str(pid) / "stat") or b"").rpartition(b")")
        return f"{boot.decode().strip()} {int(fields.split()[START])}" if boot else ""
    return ""


def _seconds(pid: int) -> float:
    """The start in epoch seconds; 0 if there is no such process."""
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0
