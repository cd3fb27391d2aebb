"""Counters of one daemon, in Prometheus' text format."""

import resource
import sys
import time
from collections import Counter
from pathlib import Path

from preread import __version__

BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 240.0)  # seconds


class Metrics:
    """A daemon's counters. They name no project: whoever reads them may not have access to it."""

    def __init__(self) -> None:
        self.begun = time.time()
        self.calls: Counter[tuple[str, str]] = Counter()  # operation, outcome
        self.refused: Counter[int] = Counter()  # HTTP status
        self._buckets: Counter[float] = Counter()
        self._sum = 0.0

    def count_call(self, operation: str, outcome: str, seconds: float) -> None:
        self.calls[operation, outcome] += 1
        self._sum += seconds
        for bound in BUCKETS:
            self._buckets[bound] += seconds <= bound

    def count_refusal(self, status: int) -> None:
        self.refused[status] += 1

    def text(self, *, builds: int, relays: int) -> str:
        """All counters as text; `builds` and `relays` are the current numbers."""
        total = sum(self.calls.values())
        lines = [
            *_head("preread_info", "gauge", "Version."),
            f'preread_info{{version="{__version__}"}} 1',
            *_head("preread_calls_total", "counter", "Calls of operations."),
            *(
                f'preread_calls_total{{operation="{name}",outcome="{outcome}"}} {count}'
                for (name, outcome), count in sorted(self.calls.items())
            ),
            *_head("preread_call_seconds", "histogram", "How long calls took."),
            *(f'preread_call_seconds_bucket{{le="{b}"}} {self._buckets[b]}' for b in BUCKETS),
            f'preread_call_seconds_bucket{{le="+Inf"}} {total}',
            f"preread_call_seconds_sum {self._sum:.6f}", f"preread_call_seconds_count {total}",
            *_head("preread_refused_total", "counter", "Requests that were refused."),
            *(
                f'preread_refused_total{{status="{status}"}} {count}'
                for status, count in sorted(self.refused.items())
            ),
            *_head("preread_builds", "gauge", "Builds that run or wait."),
            f"preread_builds {builds}",
            *_head("preread_relays", "gauge", "Clients behind relays."),
            f"preread_relays {relays}",
            *_head("process_resident_memory_bytes", "gauge", "Memory."),
            f"process_resident_memory_bytes {_memory()}",
            *_head("process_open_fds", "gauge", "Open descriptors."),
            f"process_open_fds {_descriptors()}",
            *_head("process_start_time_seconds", "gauge", "Start, in epoch seconds."),
            f"process_start_time_seconds {self.begun:.3f}",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _memory() -> int:
    """Resident memory in bytes; the peak where the system does not report the current value."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _descriptors() -> int:
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            return sum(1 for _ in Path(folder).iterdir()) - 1
        except OSError:
            continue
    return 0
