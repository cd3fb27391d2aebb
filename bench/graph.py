"""Times of fact search and the knowledge graph, by the Python client in one process.

    PYTHONPATH=server python bench/graph.py [--facts 100000] [--files 2000] [--calls 50] [--keep DIR]

The project is made. The baseline is reading and hashing its dossiers. Each time is given by the clock and as processor time,
which other work on the machine makes longer too, but far less.
"""

import argparse
import hashlib
import os
import random
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from preread.client import Client
from preread.dossier.published import manifest_bytes
from preread.layout import Layout
from preread.models import Manifest

NAMES = ("patterns.md", "codebase.md", "existing-tests.md", "anti-patterns.md")
TITLES = ("Patterns", "Codebase", "Existing tests", "Anti-patterns")
PER_FILE, PER_FEATURE = 25, 100
SYLLABLES = "ka lo mi ra te vo shi pe nu da fo gre hal zin tor".split()


def words(chance: random.Random, count: int) -> list[str]:
    """Made words, of which few are common and many rare, as in a language."""
    found = {"".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(count)}
    return sorted(found)


def make(root: Path, total: int, files: int) -> None:
    """A repository with source files, tests, and dossiers with this many facts."""
    chance = random.Random(7)
    known = words(chance, 8000)
    weights = [1 / (rank + 3) for rank in range(len(known))]
    for n in range(files):
        source(root, n, files)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all of it")
    for n in range(40):
        for other in (n, n + files // 2):
            path = root / f"src/p{other % 40}/m{other}.py"
            path.write_text(path.read_text() + f"# {n}\n")
        git(root, "commit", "-qam", f"fix rounding {n}")
    for n in range(total // PER_FEATURE):
        dossier(root, n, files, chance, known, weights)


def source(root: Path, n: int, files: int) -> None:
    other = (n * 7 + 1) % files
    path = root / f"src/p{n % 40}/m{n}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"from src.p{other % 40}.m{other} import fn_{other}_0", ""]
    for i in range(8):
        lines += [f"def fn_{n}_{i}(value):", f'    """Does {n} {i}."""']
        lines += [
            f"    return fn_{n}_{i + 1}(value)" if i < 7 else f"    return fn_{other}_0(value)",
            "",
        ]
    path.write_text("\n".join(lines))
    if n % 4 == 0:
        test = root / f"tests/test_m{n}.py"
        test.parent.mkdir(exist_ok=True)
        test.write_text(
            f"from src.p{n % 40}.m{n} import fn_{n}_0\n\n\ndef test_fn_{n}():\n    assert fn_{n}_0(1)\n"
        )


def dossier(
    root: Path, n: int, files: int, chance: random.Random, known: list[str], weights: list[float]
) -> None:
    feature = f"feature-{n}"
    own = [(n * 3 + i) % files for i in range(12)]
    folder = Layout(root).dossier(feature)
    folder.mkdir(parents=True)
    digests = {}
    for name, title in zip(NAMES, TITLES, strict=True):
        lines = [f"# {title}: {feature}", "", "## About"]
        for _ in range(PER_FILE):
            cited = chance.choice(own)
            which = chance.randrange(8)
            at = 3 + 4 * which
            said = " ".join(chance.choices(known, weights, k=9))
            path = f"src/p{cited % 40}/m{cited}.py"
            lines.append(f"- {said} `fn_{cited}_{which}` ({path}:{at}-{at + 2})")
        text = "\n".join(lines) + "\n"
        (folder / name).write_text(text)
        digests[name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    manifest = Manifest(feature=feature, files=digests)
    (folder / "manifest.json").write_bytes(manifest_bytes(manifest))


def git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *who, *arguments], cwd=root, check=True)


class Taken(NamedTuple):
    """How long something took, in seconds."""

    clock: float
    processor: float  # with the processes that it started and waited for


def used() -> float:
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def taken(work: Callable[[], object]) -> Taken:
    begun, before = time.perf_counter(), used()
    work()
    return Taken(time.perf_counter() - begun, used() - before)


def read_all(root: Path) -> None:
    for path in sorted((root / ".project" / "context").rglob("*.md")):
        hashlib.sha256(path.read_bytes()).hexdigest()


def once(name: str, work: Callable[[], object]) -> None:
    found = taken(work)
    print(f"{name:14} {found.clock:8.2f} s, {found.processor:8.2f} s of the processor", flush=True)


def shown(name: str, calls: list[Taken]) -> None:
    parts = []
    for of in zip(*calls, strict=True):
        ranked = sorted(of)
        worst = ranked[int(len(ranked) * 0.95)] * 1000
        parts.append(f"median {statistics.median(ranked) * 1000:8.1f} ms   95 % {worst:8.1f} ms")
    print(f"{name:14} {parts[0]}   of the processor {parts[1]}", flush=True)


def measure(root: Path, client: Client, features: int, calls: int) -> None:
    once("baseline", lambda: read_all(root))
    once("index", client.knowledge.index)
    once("again", client.knowledge.index)
    changed = next((root / ".project" / "context").rglob("patterns.md"))
    for _ in range(3):
        changed.write_text(changed.read_text() + "\n")
        once("one changed", client.knowledge.index)
    chance = random.Random(1)
    known = words(random.Random(7), 8000)
    names = [f"feature-{chance.randrange(features)}" for _ in range(calls + 1)]
    nodes = client.knowledge.query(kinds=("symbol",), limit=1000).nodes
    symbols = [chance.choice(nodes).id for _ in range(calls)]
    ask: dict[str, Callable[[int], object]] = {
        "search": lambda n: client.knowledge.search(f"{known[n]} {known[-n - 1]}"),
        "neighbours": lambda n: client.knowledge.query(node=names[n], limit=50),
        "two hops": lambda n: client.knowledge.query(node=symbols[n], depth=2, limit=50),
        "path": lambda n: client.knowledge.query(node=names[n], to=names[n + 1]),
    }
    from preread.graph.reading import Page
    from preread.graph.walks import EdgeFilter, around

    with closing(sqlite3.connect(root / ".project" / ".cache" / "index.db")) as database:
        counts = [
            database.execute(f"SELECT count(*) FROM {of}").fetchone()[0]
            for of in ("nodes", "edges")
        ]
        print(f"{counts[0]} nodes, {counts[1]} edges")
        walked = [
            taken(lambda one=one: around(database, one, (EdgeFilter(), EdgeFilter()), Page(50)))
            for one in symbols
        ]
        shown("two hops, walk", walked)
    for name, call in ask.items():
        shown(name, [taken(lambda n=n, call=call: call(n)) for n in range(calls)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--keep", type=Path, help="make the project here, or use the one there is")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = given.keep or Path(folder) / "made"
        if not root.exists():
            root.mkdir()
            make(root, given.facts, given.files)
        with Client(root) as client:
            measure(root, client, given.facts // PER_FEATURE, given.calls)


if __name__ == "__main__":
    main()
