"""How long the evidence index takes, and how much memory: cold, warm, one file changed.

    python bench/index.py                 two made trees: 1,600 files of 28 MB, 30,000 of 150 MB
    python bench/index.py --only 1600     one of them
    python bench/index.py --repo DIR      a clone or a plain folder of yours (it is copied first)

Each is a whole process; one file changed is timed in a process that has started, too, as a server's
is. Cold, a second process helps to read: the memory is that of the larger one. The baseline is
timed in the same run: reading the same files and putting their texts into an SQLite FTS5 table as
they are. Seconds are those of the clock and, in parentheses, of the processor: on a busy machine
only the latter say much.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CHANGED, RUNNING = "one file changed", "one file changed, a running process"
SIZES = {1600: 17_500, 30_000: 5_000}  # files of a made tree: bytes of each
UPDATE = """
import os
from pathlib import Path
from preread.index import indexer
from preread.operations.registry import services_of
indexer.update(services_of(Path("."), os.environ))
"""
# As a server does it: the process has started, and only the file that was just changed is new to
# the index.
AGAIN = """
import os, sys, time
from pathlib import Path
from preread.index import indexer
from preread.operations.registry import services_of
indexer.update(services_of(Path("."), os.environ))
best = []
for _ in range(5):
    with open(sys.argv[1], "a") as file:
        file.write("\\n")
    begun, cpu = time.perf_counter(), time.process_time()
    indexer.update(services_of(Path("."), os.environ))
    best.append((time.perf_counter() - begun, time.process_time() - cpu))
with open(sys.argv[2], "w") as file:
    print(*min(best), file=file)
"""
BASELINE = """
import os, sqlite3, subprocess, sys
from preread.index.reader import UNREAD
from preread.roles import role_of
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF")
connection.executescript("CREATE VIRTUAL TABLE words USING fts5 (body); BEGIN")
for name in subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True).stdout.split("\\0"):
    if os.path.isfile(name) and role_of(name) not in UNREAD and os.path.getsize(name) < 1_000_000:
        text = open(name, encoding="utf-8", errors="replace").read()
        connection.execute("INSERT INTO words VALUES (?)", (text,))
connection.execute("COMMIT")
"""
NOUNS = (
    "cart coupon invoice order parcel payment product refund session shipment stock voucher".split()
)
VERBS = "add apply cancel check close count create find list load merge move parse read round send sort store".split()
PYTHON = '''
class {N}{V}{n}:
    """{V}s the {w} of one {noun}."""

    limit: int = {n}

    def {verb}_{noun}(self, {w}: int, currency: str = "EUR") -> int:
        if {w} < self.limit:
            raise ValueError("the {noun} has too few {w}")
        # rounded once, at the end (#{n})
        return round({w} * {n}, 2)
'''
SCRIPT = """
/** {V}s the {w} of one {noun}. */
export async function {verb}{N}{n}({w}: number, options: {{ currency?: string }} = {{}}): Promise<number> {{
  const {noun} = await api.get(`/{noun}s/${{{w}}}`);
  if (!{noun}.ok) throw new Error("the {noun} has no {w}");
  return {noun}.{w} * {n};
}}
"""
GO = """
// {V}{N}{n} {verb}s the {w} of one {noun}.
func {V}{N}{n}({w} int, currency string) (int, error) {{
	if {w} < {n} {{
		return 0, fmt.Errorf("the {noun} has too few {w}")
	}}
	return {w} * {n}, nil
}}
"""
TEST = """
def test_{verb}_{noun}_{n}({noun}):
    assert {noun}.{verb}_{noun}({n}).{w} == {n}
"""
KINDS = (
    (PYTHON, "src/{}/{}_{}.py"),
    (SCRIPT, "web/{}/{}{}.ts"),
    (GO, "svc/{}/{}_{}.go"),
    (TEST, "tests/{}/test_{}_{}.py"),
)


class Timed(NamedTuple):
    """One process: seconds of the clock and of the processor with its children's; peak megabytes
    of the largest.
    """

    seconds: float
    cpu: float
    peak: float


def make(folder: Path, files: int) -> None:
    """A tree of `files` files in four kinds, their words drawn from a fixed seed."""
    chance = random.Random(files)
    syllables = [a + b for a in "bcdfglmnprstv" for b in ("a", "en", "ir", "o", "ul")]
    words = ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(20_000)]
    for number in range(files):
        template, place = KINDS[number % len(KINDS)]
        noun = chance.choice(NOUNS)
        path = folder / place.format(noun, noun, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        parts: list[str] = []
        while sum(map(len, parts)) < SIZES[files]:
            verb, n = chance.choice(VERBS), chance.randint(1, 9999)
            given = {
                "noun": noun,
                "N": noun.capitalize(),
                "verb": verb,
                "V": verb.capitalize(),
                "n": n,
            }
            parts.append(template.format(**given, w=chance.choice(words)))
        path.write_text("".join(parts))


def timed(code: str, cwd: Path, *arguments: str) -> Timed:
    environ = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("PREREAD_", "PYTHONDONTWRITEBYTECODE"))
    }
    environ["PYTHONPATH"] = str(ROOT / "server")
    begun = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=cwd, env=environ)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    process.returncode = status
    if status:
        sys.exit(f"it failed in {cwd}")
    peak = usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    return Timed(seconds, usage.ru_utime + usage.ru_stime, peak)


def measure(folder: Path, runs: int) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    names = [name for name in listed.split("\0") if (folder / name).is_file()]
    size = sum((folder / name).stat().st_size for name in names)
    changed = folder / next(
        name for name in names[len(names) // 2 :] if name.endswith((".py", ".ts", ".go", ".java"))
    )
    rows: dict[str, list[Timed]] = {
        "texts into FTS5": [],
        "cold": [],
        "warm": [],
        CHANGED: [],
        RUNNING: [],
    }
    for _ in range(runs):
        shutil.rmtree(folder / ".project", ignore_errors=True)
        (folder / ".project").mkdir()
        with tempfile.TemporaryDirectory() as scratch:
            rows["texts into FTS5"].append(timed(BASELINE, folder, f"{scratch}/words.db"))
            rows["cold"].append(timed(UPDATE, folder))
            rows["warm"].append(timed(UPDATE, folder))
            changed.write_text(changed.read_text() + "\n")
            rows[CHANGED].append(timed(UPDATE, folder))
            peak = timed(AGAIN, folder, str(changed), f"{scratch}/seconds").peak
            seconds, cpu = map(float, Path(scratch, "seconds").read_text().split())
            rows[RUNNING].append(Timed(seconds, cpu, peak))
    database = (folder / ".project/.cache/index.db").stat().st_size
    print(
        f"{folder.name}: {len(names):,} files, {size / 1e6:.0f} MB; index {database / 1e6:.0f} MB"
    )
    base = min(found.cpu for found in rows["texts into FTS5"])
    for name, found in rows.items():
        best = min(found)
        cpu, peak = min(each.cpu for each in found), max(each.peak for each in found)
        print(
            f"  {name:35} {best.seconds:7.2f} s ({cpu:6.2f})   {cpu / base:5.2f} x the baseline   "
            f"{peak:5.0f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repo", type=Path)
    parser.add_argument("--only", type=int, choices=SIZES)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        sizes = [options.only] if options.only else list(SIZES)
        for files in [] if options.repo else sizes:
            make(Path(scratch) / f"made-{files}", files)
        if options.repo:
            shutil.copytree(
                options.repo, Path(scratch) / options.repo.resolve().name, symlinks=True
            )
        for folder in sorted(Path(scratch).iterdir(), key=lambda path: len(path.name)):
            if not (folder / ".git").exists():
                subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
                subprocess.run(["git", "add", "-A", "-f"], cwd=folder, check=True)
            measure(folder, options.runs)


if __name__ == "__main__":
    main()
