"""What `preread watch` costs on a project of 30,000 files, and how soon it reports.

    python bench/watch.py [--files 30000] [--changed 10000] [--idle 30]

Prints what the look at computed facts after a change costs; the share of a core while nothing
changes; the seconds from a change of a cited line to the
hint for the gates, median and worst of 10; and the seconds from the end, and from the start, of a
checkout that changes many files at once to that hint.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

PER_FOLDER = 30
CODE = "def call_{n}(user):\n    return user + {n}\n"
CITED = '"""Tokens."""\n\n\ndef make_token(user):\n    """Make it."""\n    return f"{user}:token"\n'
STALE = CITED.replace(":token", ":other")
HINT = ".project/.cache/stale/login"
BOUND = 60.0
SETTLED = 15.0  # seconds in which the watcher sees that nothing changes, and what that means


def git(root: Path, *arguments: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "gc.auto=0"]
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)


def make(root: Path, files: int) -> list[Path]:
    (root / "src").mkdir(parents=True)
    (root / "src" / "login.py").write_text(CITED)
    paths = []
    for n in range(files - 1):
        path = root / f"pkg{n // (PER_FOLDER * 20)}" / f"mod{n // PER_FOLDER}" / f"file{n}.py"
        if n % PER_FOLDER == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CODE.format(n=n))
        paths.append(path)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")
    return paths


def wait(root: Path, *, stale: bool) -> float:
    """Seconds until the hint is there, or gone."""
    begun = time.perf_counter()
    while (root / HINT).exists() != stale:
        if time.perf_counter() - begun > BOUND:
            raise TimeoutError("it was not reported")
        time.sleep(0.005)
    return time.perf_counter() - begun


def used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system + times.children_user + times.children_system


def measure(root: Path, paths: list[Path], changed: int, idle: float) -> None:
    cited = root / "src" / "login.py"
    program = [sys.executable, "-m", "preread"]
    subprocess.run([*program, "load", "login", "--level", "light"], cwd=root, check=True,
                   capture_output=True)  # fmt: skip
    git(root, "checkout", "-qb", "other")
    for path in paths[: changed - 1]:
        path.write_text(path.read_text() + "\n# changed\n")
    cited.write_text(STALE)
    git(root, "commit", "-qam", "other")
    git(root, "checkout", "-q", "-")
    cited.write_text(STALE)
    with subprocess.Popen([*program, "watch"], cwd=root, stdout=subprocess.DEVNULL) as watcher:
        process = psutil.Process(watcher.pid)
        print(f"first look: {wait(root, stale=True):.2f} s")
        cited.write_text(CITED)
        wait(root, stale=False)
        before = used(process)
        time.sleep(SETTLED)
        print(f"computing once nothing changes: {used(process) - before:.2f} s of processor")
        before = used(process)
        time.sleep(idle)
        share = (used(process) - before) / idle
        memory = process.memory_info().rss / 1e6
        print(f"idle: {share:.2%} of a core over {idle:.0f} s, {memory:.0f} MB")
        taken = []
        for _ in range(10):
            time.sleep(1)
            cited.write_text(STALE)
            taken.append(wait(root, stale=True))
            time.sleep(1)
            cited.write_text(CITED)
            wait(root, stale=False)
        print(f"one file: {statistics.median(taken):.2f} s, worst {max(taken):.2f} s")
        time.sleep(2)
        begun, cost = time.perf_counter(), used(process)
        git(root, "checkout", "-qf", "other")
        checkout = time.perf_counter() - begun
        after = wait(root, stale=True)
        time.sleep(3)
        spent = used(process) - cost
        print(
            f"{changed} files: {after:.2f} s after the checkout of {checkout:.2f} s, "
            f"{checkout + after:.2f} s in all, {spent:.2f} s of processor"
        )
        watcher.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=30_000)
    parser.add_argument("--changed", type=int, default=10_000)
    parser.add_argument("--idle", type=float, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="watch-") as folder:
        root = Path(folder) / "project"
        paths = make(root, given.files)
        measure(root, paths, given.changed, given.idle)


if __name__ == "__main__":
    main()
