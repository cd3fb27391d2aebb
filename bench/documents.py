"""Text of real PDFs against `pdftotext`, time of reading, corrupted files: figures for README.md.

python bench/documents.py FOLDER [--corrupted 200]     PDFs of, for example, Debian's -doc packages
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
from preread.services import Services
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


def compare(folder: Path, pdftotext: str) -> None:
    own, paths = services(folder), sorted(folder.glob("*.pdf"))
    shares, pages, seconds = [], 0, 0.0
    for path in paths:
        begun = spent()
        found = reading.read(own.tree, path.name).document
        seconds += spent() - begun
        pages += len(found.parts)
        theirs = words(
            subprocess.run(
                [pdftotext, "-q", path, "-"], capture_output=True, check=False
            ).stdout.decode("utf-8", "replace")
        )
        ours = words("\n".join(line for part in found.parts for line in part.lines))
        share = (theirs & ours).total() / max(1, theirs.total())
        shares.append((share, theirs.total(), path.name))
        print(
            f"{share:7.2%} of {theirs.total():7} words  {len(found.parts):4} pages  {path.name}",
            flush=True,
        )
    total = sum(count for _, count, _ in shares)
    print(
        f"{len(paths)} PDFs, {pages} pages: {sum(s * n for s, n, _ in shares) / total:.2%} of {total} words; "
        f"{sum(s >= 0.98 for s, *_ in shares)} files of at least 98 %; {100 * seconds / pages:.2f} s of processor time per 100 pages"
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corrupted", type=int, default=0)
    parser.add_argument("--pdftotext", default="pdftotext")
    given = parser.parse_args()
    if given.corrupted:
        corrupted(given.folder, given.corrupted)
    else:
        compare(given.folder, given.pdftotext)
