"""How long `preread load` takes from process start, and how much memory: cold, one file changed,
cached.

    python bench/load.py                      two made repositories, of 300 and 1,600 source files
    python bench/load.py --repo DIR FEATURE   a clone of a repository of yours (it is copied first)

Each figure is the median of the runs; each is also given as a ratio to a baseline timed in the same
run.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASELINE = (
    "import click, pydantic, anyio, asyncio"  # what any command line of this kind has to import
)
READ_ALL = (
    "import hashlib, os, subprocess\n"
    "for name in subprocess.run(['git', 'ls-files', '-z'], "
    "capture_output=True).stdout.split(b'\\0'):\n"
    "    os.path.isfile(name) and hashlib.sha256(open(name, 'rb').read()).digest()\n"
)

PYTHON = '''"""Handles {noun} {n}."""

from dataclasses import dataclass

{upper}_LIMIT_{n} = {n}


@dataclass
class {cls}{n}:
    """One {noun} of the shop."""

    amount: int
    currency: str = "EUR"

    def total(self, count: int, discount: float = 0.0) -> float:
        """Price of `count` of them."""
        if count < 0:
            raise ValueError("a {noun} cannot be ordered less than zero times")
        # NOTE: round once, at the end; rounding each line was wrong by a cent (#{n})
        return round(self.amount * count * (1 - discount), 2)


def make_{noun}_{n}(amount: int) -> {cls}{n}:
    """A {noun} in the default currency."""
    return {cls}{n}(amount)


def list_{noun}_{n}(items: list[{cls}{n}], limit: int = {upper}_LIMIT_{n}) -> list[{cls}{n}]:
    return sorted(items, key=lambda item: item.amount)[:limit]
'''
SCRIPT = """import {{ api }} from "./api";

export interface {cls}{n} {{ id: string; amount: number; label?: string }}

export const {upper}_ROUTE_{n} = "/{noun}/{n}";

/** Shows one {noun}. */
export function {cls}View{n}({{ item }}: {{ item: {cls}{n} }}) {{
  return (
    <section data-testid="{noun}-{n}"><h2>{{item.label}}</h2><button aria-label="buy">{{item.amount}}</button></section>
  );
}}

export async function load{cls}{n}(id: string): Promise<{cls}{n}> {{
  const reply = await api.get(`/{noun}/${{id}}`);
  if (!reply.ok) throw new Error("the {noun} could not be loaded");
  return reply.json();
}}
"""
TEST = """import pytest

from shop.{noun}.{noun}_{n} import {cls}{n}, make_{noun}_{n}


@pytest.fixture
def {noun}():
    return make_{noun}_{n}(100)


def test_{noun}_total_{n}({noun}):
    assert {noun}.total(2) == 200


def test_{noun}_negative_{n}({noun}):
    with pytest.raises(ValueError):
        {noun}.total(-1)
"""
NOUNS = (
    "cart coupon invoice order parcel payment product refund session shipment stock voucher".split()
)


def make_repository(folder: Path, files: int) -> None:
    """A git repository of `files` source files in two languages, a third of them tests, with forty
    commits.
    """
    run = lambda *a: subprocess.run(["git", "-C", str(folder), *a], check=True, capture_output=True)  # noqa: E731
    folder.mkdir(parents=True)
    run("init", "-q")
    run("config", "user.name", "Bench")
    run("config", "user.email", "bench@example.org")
    for n in range(files):
        noun = NOUNS[n % len(NOUNS)]
        values = {"noun": noun, "cls": noun.capitalize(), "upper": noun.upper(), "n": n}
        kind = n % 3
        path, text = [
            (f"shop/{noun}/{noun}_{n}.py", PYTHON * 3),
            (f"web/{noun}/{noun}{n}.tsx", SCRIPT * 4),
            (f"tests/{noun}/test_{noun}_{n}.py", TEST * 3),
        ][kind]
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.format(**values))
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    run("add", "-A")
    run("commit", "-qm", "The shop")
    for n in range(40):
        target = folder / f"shop/cart/cart_{12 * n % files // 36 * 36}.py"
        if target.exists():
            target.write_text(target.read_text() + f"\n# step {n}\n")
            run("commit", "-qam", f"fix cart rounding, step {n} (#{n})")


def timed(argv: list[str], cwd: Path) -> tuple[float, float]:
    """Seconds and peak megabytes of one process and its children."""
    # Where Python may not keep what it compiled, compiling Preread again is a third of a second of
    # each run.
    environ = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("PREREAD_", "PYTHONDONTWRITEBYTECODE"))
    }
    environ["PYTHONPATH"] = str(ROOT / "server")
    begun = time.perf_counter()
    process = subprocess.Popen(
        argv, cwd=cwd, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    if status:
        sys.exit(f"{argv} failed: {process.stderr.read().decode() if process.stderr else ''}")
    process.returncode = 0
    if process.stderr:
        process.stderr.close()
    return seconds, usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)


def measure(folder: Path, feature: str, runs: int) -> None:
    load = [sys.executable, "-m", "preread", "load", feature]
    timed(
        load, folder
    )  # compiles what is imported; the first cold run begins without what this one leaves
    base = statistics.median(
        timed([sys.executable, "-c", BASELINE], folder)[0] for _ in range(runs)
    )
    read = statistics.median(
        timed([sys.executable, "-c", READ_ALL], folder)[0] for _ in range(runs)
    )
    listed = subprocess.run(
        ["git", "ls-files"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    names = [
        name for name in listed.split("\n") if name.endswith((".py", ".ts", ".tsx", ".js", ".go"))
    ]
    rows: dict[str, list[tuple[float, float]]] = {"cold": [], "one file changed": [], "cached": []}
    for _ in range(runs):
        shutil.rmtree(folder / ".project", ignore_errors=True)
        rows["cold"].append(timed(load, folder))
        changed = folder / names[len(names) // 2]
        before = changed.read_bytes()
        changed.write_bytes(before + b"\n\n")
        rows["one file changed"].append(timed([*load, "--force"], folder))
        changed.write_bytes(before)
        timed(load, folder)
        rows["cached"].append(timed(load, folder))
    print(
        f"{folder.name}: {len(names)} source files; imports {base:.3f} s, reading and hashing all "
        f"{read:.3f} s"
    )
    for name, found in rows.items():
        seconds = statistics.median(s for s, _ in found)
        peak = max(m for _, m in found)
        against = base if name == "cached" else read
        print(
            f"  {name:18} {seconds:6.2f} s   {seconds / against:5.1f} x its baseline   {peak:6.0f} "
            f"MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repo", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("feature", nargs="?", default="cart")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as scratch:
        if options.repo:
            target = Path(scratch) / options.repo.resolve().name
            subprocess.run(
                ["git", "clone", "-q", "--no-hardlinks", str(options.repo), str(target)], check=True
            )
            measure(target, options.feature, options.runs)
            return
        for files in (450, 2400):  # a third of them are tests
            folder = Path(scratch) / f"made-{files}"
            make_repository(folder, files)
            measure(folder, options.feature, options.runs)


if __name__ == "__main__":
    main()
