"""What a refresh costs in a process that runs on, like a server: seconds of the processor.

    PYTHONPATH=server python bench/following/speed.py --repo DIR FEATURE [--changed 1 60] [--runs 5]

Each run inserts a line into so many files, cited ones first, and loads; the load before it is
cached. The baseline reads and hashes the files that changed and runs `git ls-files`.
"""

import argparse
import asyncio
import cProfile
import hashlib
import json
import os
import pstats
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio.to_thread

from preread.builds.jobs import Caller, Jobs
from preread.builds.reply_cache import ReplyCache
from preread.operations import REGISTRY
from preread.operations.registry import Context

ENVIRON = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull, "PREREAD_CLAUDE": "off",
}  # fmt: skip
COMMENT = {".py": "#", ".rb": "#"}


def processor() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


async def _silent(_message: str, _done: float, _total: float) -> None:
    """No progress bar."""


async def _here(work: Callable[..., object], *arguments: object) -> object:
    return work(*arguments)


async def load(context: Context, feature: str) -> str:
    operation = REGISTRY["context.load"]
    reply = await operation.run(context, operation.request(feature=feature, level="light"))
    return str(reply.state)


def git_files(root: Path) -> list[str]:
    return subprocess.check_output(["git", "ls-files"], cwd=root, text=True).split("\n")


def insert(root: Path, paths: list[str], number: int) -> None:
    for path in paths:
        place = root / path
        mark = COMMENT.get(place.suffix, "//")
        text = place.read_text()
        lines = text.split("\n")
        at = next((n for n, line in enumerate(lines) if not line.startswith(("#", "//"))), 0)
        lines.insert(at, f"{mark} inserted {number}")
        place.write_text("\n".join(lines))


def baseline(root: Path, paths: list[str]) -> float:
    begun = processor()
    subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True)
    for path in paths:
        hashlib.sha256((root / path).read_bytes()).hexdigest()
    return processor() - begun


async def measure(root: Path, feature: str, counts: list[int], runs: int, profile: str) -> None:
    async with Jobs() as jobs:
        context = Context(root, ENVIRON, jobs, Caller(None, _silent), ReplyCache())
        print(f"{feature}: {await load(context, feature)}")
        manifest = json.loads((root / f".project/context/{feature}/manifest.json").read_text())
        cited = [source.split(":")[0] for source in manifest["spans"]]
        listed = git_files(root)
        code = [one for one in listed if one.endswith((".py", ".go", ".ts", ".rb", ".rs", ".js"))]
        paths = list(dict.fromkeys(one for one in (*cited, *code) if one in code))
        for count in counts:
            took, walls, bases = [], [], []
            for number in range(runs + 1):
                insert(root, paths[:count], number)
                await asyncio.sleep(0.2)
                bases.append(baseline(root, paths[:count]))
                profiler = cProfile.Profile() if profile and number == runs else None
                if profiler:
                    anyio.to_thread.run_sync = _here  # a profile is of one thread
                    profiler.enable()
                begun, wall = processor(), time.perf_counter()
                state = await load(context, feature)
                took.append(processor() - begun)
                walls.append(time.perf_counter() - wall)
                if profiler:
                    profiler.disable()
                    pstats.Stats(profiler).sort_stats(profile).print_stats(45)
                again = await load(context, feature)
                if again != "cached":
                    sys.exit(f"loaded again: {again}")
            took, walls = sorted(took[1:]), sorted(walls[1:])
            print(
                f"{min(count, len(paths))} changed: {state}, {took[len(took) // 2] * 1000:.0f} ms of the "
                f"processor (least {took[0] * 1000:.0f}), {walls[0] * 1000:.0f} ms at least; "
                f"baseline {sorted(bases)[len(bases) // 2] * 1000:.0f} ms"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("feature")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--changed", type=int, nargs="+", default=[1, 60])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--profile", default="", help="print a profile sorted by this")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="speed-") as folder:
        root = Path(folder) / "project"
        subprocess.run(["git", "clone", "-q", "--local", str(given.repo), str(root)], check=True)
        asyncio.run(measure(root, given.feature, given.changed, given.runs, given.profile))
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
