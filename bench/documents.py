"""Text of real PDFs against `pdftotext`, of EPUBs against `mutool`, time of reading, corrupted files:
figures for README.md.

python bench/documents.py FOLDER [--corrupted 200]     files of, for example, Debian's -doc packages
python bench/documents.py --graph                      measures of a graph of documents
"""

import argparse
import os
import random
import re
import resource
import subprocess
import tempfile
import time
import unicodedata
from collections import Counter
from pathlib import Path

from preread.documents import reading
from preread.errors import PrereadError
from preread.layout import Layout
from preread.literature import measures
from preread.services import Progress, Services
from preread.settings import Settings

WORD = re.compile(r"\w{2,}")


def words(text: str) -> Counter[str]:
    joined = re.sub(r"-\n\s*", "", unicodedata.normalize("NFKC", text))
    return Counter(WORD.findall(joined.lower()))


def spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def services(root: Path) -> Services:
    return Services(Layout(root.resolve()), Settings(), dict(os.environ))


def other_text(path: Path, pdftotext: str, mutool: str) -> str:
    """What another program reads; nothing if it cannot."""
    program = [mutool, "draw", "-q", "-F", "txt", path]
    if path.suffix == ".pdf":
        program = [pdftotext, "-q", path, "-"]
    told = subprocess.run(program, capture_output=True, check=False)
    return told.stdout.decode("utf-8", "replace")


def compare(folder: Path, pdftotext: str, mutool: str) -> None:
    paths = sorted((*folder.glob("*.pdf"), *folder.glob("*.epub")))
    own = services(folder)
    shares, pages, seconds = [], 0, 0.0
    for path in paths:
        begun = spent()
        found = reading.read(own.tree, path.name).document
        seconds += spent() - begun
        pages += len(found.parts)
        theirs = words(other_text(path, pdftotext, mutool))
        if not theirs:
            print(f"not read by the other program: {path.name}")
            continue
        ours = words("\n".join(line for part in found.parts for line in part.lines))
        share = (theirs & ours).total() / max(1, theirs.total())
        shares.append((share, theirs.total(), path.name))
        print(
            f"{share:7.2%} of {theirs.total():7} words  {len(found.parts):4} parts  {path.name}",
            flush=True,
        )
    total = sum(count for _, count, _ in shares)
    print(
        f"{len(shares)} files, {pages} parts: {sum(s * n for s, n, _ in shares) / total:.2%} of {total} words; "
        f"{sum(s >= 0.98 for s, *_ in shares)} files of at least 98 %; {100 * seconds / pages:.2f} s of processor time per 100 parts"
    )


def corrupted(folder: Path, count: int) -> None:
    originals = sorted(folder.glob("*.pdf"), key=lambda path: path.stat().st_size)[:10]
    outcomes, longest = Counter[str](), 0.0
    for seed in range(count):
        chance = random.Random(seed)
        data = bytearray(originals[seed % len(originals)].read_bytes())
        for _ in range(chance.choice((1, 4, 20, 400))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        with tempfile.TemporaryDirectory() as root:
            kept = chance.randint(len(data) // 3, len(data)) if seed % 4 == 0 else len(data)
            Path(root, "a.pdf").write_bytes(data[:kept])
            begun = time.monotonic()
            try:
                reading.read(services(Path(root)).tree, "a.pdf")
                outcomes["read"] += 1
            except PrereadError as error:
                outcomes[f"{error.code} {error.details.get('reason')}"] += 1
            longest = max(longest, time.monotonic() - begun)
    print(f"{count} corrupted PDFs: {dict(outcomes)}; the longest took {longest:.1f} s")


def graph(nodes: int, edges: int) -> None:
    chance = random.Random(1)
    # Half of the edges lead to a few, as citations do.
    pairs = [
        (chance.randrange(nodes), int(nodes * chance.random() ** chance.choice((1, 3))))
        for _ in range(edges)
    ]
    begun = spent()
    following = measures.neighbours(nodes, pairs, directed=True)
    around = measures.neighbours(nodes, pairs, directed=False)
    made = spent()
    measures.pagerank(following, Progress().tick)
    ranked = spent()
    labels = measures.communities(around, Progress().tick)
    grouped = spent()
    starts = chance.sample(range(nodes), 1000)
    hops = []
    for start in starts:
        at = time.perf_counter()
        {start, *around[start], *(far for near in around[start] for far in around[near])}
        hops.append(1000 * (time.perf_counter() - at))
    hops.sort()
    print(
        f"{nodes} nodes, {edges} edges: neighbours {made - begun:.1f} s, PageRank {ranked - made:.1f} s, "
        f"{len(set(labels))} communities {grouped - ranked:.1f} s of processor time; "
        f"two hops in memory: median {hops[500]:.2f} ms, 95 % within {hops[950]:.1f} ms, slowest {hops[-1]:.1f} ms"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--graph", action="store_true", help="100,000 nodes and 300,000 edges")
    parser.add_argument("--corrupted", type=int, default=0)
    parser.add_argument("--pdftotext", default="pdftotext")
    parser.add_argument("--mutool", default="mutool")
    given = parser.parse_args()
    if given.graph:
        graph(100_000, 300_000)
    elif given.corrupted:
        corrupted(given.folder, given.corrupted)
    else:
        compare(given.folder, given.pdftotext, given.mutool)
