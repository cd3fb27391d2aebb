"""What is promised about size: status of 200 dossiers, a hit among 30,000 files, 5,000 reports.

    PYTHONPATH=server python bench/limits.py [status] [hit] [reports] [--scale 1.0]

Seconds of whole commands and of their processor; the baseline is `preread --version` in the same
run. The hit is in a server over real stdio, against a tool of it that does nothing.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parent))
from stdio_cached import ROOT, measure

from preread.client import Client

ENVIRON = {**os.environ, "PYTHONPATH": str(ROOT / "server"), "PREREAD_CLAUDE": "off"}
MODULE = '''"""Part {n} of the made project."""

LIMIT_{n} = {n}


class Part{n}Error(Exception):
    """What a caller of part {n} sees."""


def part{n}_open(name):
    if not name:
        raise Part{n}Error("no name")
    return LIMIT_{n}


def part{n}_close(name):
    return part{n}_open(name) - 1
'''
TEST = (
    "from src.part{n} import part{n}_open\n\n\ndef test_part{n}():\n    assert part{n}_open('a')\n"
)
CASE = (
    '<testcase classname="tests.test_part{n}.TestForm" name="test_case_{c}[value-{c}]" time="0.01"'
)
FAILURE = (
    '><failure message="assert {c} == 0">E   AssertionError: assert {c} == 0</failure></testcase>'
)
REPORT = (
    '<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="20" '
    'timestamp="2026-01-{day:02}T{hour:02}:{minute:02}:00+00:00">{cases}</testsuite></testsuites>'
)


def project(folder: Path, parts: int) -> Path:
    """A git repository of this many modules, one of ten with a test."""
    for n in range(parts):
        place = folder / "src" / f"group{n // 300}" if parts > 1000 else folder / "src"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"part{n}.py").write_text(MODULE.format(n=n))
    (folder / "tests").mkdir()
    for n in range(0, parts, 10):
        (folder / "tests" / f"test_part{n}.py").write_text(TEST.format(n=n))
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"]
    for arguments in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "All of it"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


def spent(folder: Path, *arguments: str) -> tuple[float, float]:
    """Seconds of a whole command, and of the processor."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "preread", *arguments]
    subprocess.run(command, cwd=folder, env=ENVIRON, check=True, stdout=subprocess.DEVNULL)
    after, taken = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begun
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, used


def show(what: str, folder: Path, *arguments: str, tries: int = 3) -> None:
    """Print the quickest of some runs, beside the baseline."""
    runs, starts = [], []
    for _ in range(tries):
        starts.append(spent(folder, "--version"))
        runs.append(spent(folder, *arguments))
    run, start = min(runs), min(starts)
    print(
        f"{what:44} {run[0]:6.2f} s, {run[1]:6.2f} of the processor; start {start[0]:.2f}, "
        f"{start[1]:.2f}; ratio {run[1] / start[1]:.1f}",
        flush=True,
    )


def status(folder: Path, scale: float) -> None:
    count = int(200 * scale)
    project(folder, count)
    with Client(folder) as preread:
        for n in range(count):
            preread.load(f"part{n}", level="light")
    time.sleep(2.5)  # what has just been written is looked at again
    show(f"status of {count} dossiers, first", folder, "status", "--json", tries=1)
    show("the same again", folder, "status", "--json")
    with (folder / "src/part7.py").open("a") as file:
        file.write("\nLIMIT_MORE = 7\n")
    show("after one file changed", folder, "status", "--json", tries=1)


def hit(folder: Path, scale: float) -> None:
    project(folder, int(27_000 * scale))
    spent(folder, "load", "part7", "--level", "light")
    texts = (path.read_text() for path in (folder / ".project/context/part7").glob("*.md"))
    print(f"{sum(text.count('absent:') for text in texts)} facts about absence", flush=True)
    anyio.run(measure, folder, "part7", 20)


def reports(folder: Path, scale: float) -> None:
    project(folder, 250)
    (folder / "reports").mkdir()
    count = int(5_000 * scale)
    for n in range(count):
        cases = "".join(
            CASE.format(n=n % 250, c=c) + (FAILURE.format(c=c) if (n + c) % 33 == 0 else " />")
            for c in range(20)
        )
        minutes = {"day": 1 + n // 1440, "hour": n // 60 % 24, "minute": n % 60}
        (folder / "reports" / f"{n:05}.xml").write_text(REPORT.format(cases=cases, **minutes))
    time.sleep(2.5)  # a file that has just been written is read again
    show(f"{count} reports of 20 tests, read first", folder, "failures", "--json", tries=1)
    show("the same, read again", folder, "failures", "--json")


LIMITS: dict[str, Callable[[Path, float], None]] = {
    "status": status,
    "hit": hit,
    "reports": reports,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("limits", nargs="*", metavar="LIMIT", help=", ".join(LIMITS))
    parser.add_argument("--scale", type=float, default=1.0)
    given = parser.parse_args()
    for name in given.limits or LIMITS:
        with tempfile.TemporaryDirectory() as folder:
            LIMITS[name](Path(folder), given.scale)


if __name__ == "__main__":
    main()
