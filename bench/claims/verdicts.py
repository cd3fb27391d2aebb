"""What readers said of built facts: verdicts.tsv, a row for each fact of a feature, known by the digest of its text.

    PYTHONPATH=server python bench/claims/verdicts.py OUT

takes over what readers wrote into OUT/<name>.unmatched.tsv, and `matched` for what has a hand-written fact by
OUT/<name>.found.tsv; a later verdict on the same text takes the place of the one before.
"""

import csv
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).with_name("verdicts.tsv")
VERDICTS = ("kept", "not")
FOUND = ("words", "code")  # the ways in which a hand-written fact is found, the better first
Verdicts = dict[tuple[str, str], str]  # by a feature's name and the digest of a fact's text


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def known(path: Path = FILE) -> Verdicts:
    """Every verdict that was taken over."""
    if not path.is_file():
        return {}
    with path.open(newline="") as lines:
        return {(name, fact): verdict for name, fact, verdict in csv.reader(lines, delimiter="\t")}


def rows(out: Path, table: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of each feature's table, with its name."""
    for path in sorted(out.glob(f"*.{table}.tsv")):
        with path.open(newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                yield path.name.split(".")[0], row


def written(out: Path) -> Verdicts:
    """What readers wrote into the first column of these tables."""
    judged = (pair for pair in rows(out, "unmatched") if pair[1]["kept|not"] in VERDICTS)
    return {(name, digest(row["fact"])): row["kept|not"] for name, row in judged}


def matched(out: Path) -> Verdicts:
    """The built facts that have a hand-written one."""
    return {
        (name, digest(row["built"])): "matched"
        for name, row in rows(out, "found")
        if row["found"] in FOUND
    }


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)
        return 2
    out, before = Path(arguments[0]), known()
    new = written(out) | matched(out)
    every = before | new
    with FILE.open("w", newline="") as lines:
        csv.writer(lines, delimiter="\t", lineterminator="\n").writerows(
            (*key, every[key]) for key in sorted(every)
        )
    print(f"{len(new)} verdicts read, {len(every)} known, {len(before)} before")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
