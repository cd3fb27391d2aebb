"""What readers said of built facts: verdicts.tsv, a row for each fact of a feature, known by the digest of its text.

    PYTHONPATH=server python bench/claims/verdicts.py OUT

takes over what readers wrote into OUT/<name>.unmatched.tsv, and `matched` for what has a hand-written fact by
OUT/<name>.found.tsv; a later verdict on the same text takes the place of the one before.
"""

import csv
import hashlib
import sys
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


def written(out: Path) -> Verdicts:
    """What readers wrote into the first column of these tables."""
    found = {}
    for path in sorted(out.glob("*.unmatched.tsv")):
        with path.open(newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                if row["kept|not"] in VERDICTS:
                    found[path.name.split(".")[0], digest(row["fact"])] = row["kept|not"]
    return found


def matched(out: Path) -> Verdicts:
    """The built facts that have a hand-written one."""
    found = {}
    for path in sorted(out.glob("*.found.tsv")):
        with path.open(newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                if row["found"] in FOUND:
                    found[path.name.split(".")[0], digest(row["built"])] = "matched"
    return found


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)
        return 2
    out = Path(arguments[0])
    before, new = known(), written(out) | matched(out)
    with FILE.open("w", newline="") as out:
        rows = ((*key, verdict) for key, verdict in sorted((before | new).items()))
        csv.writer(out, delimiter="\t", lineterminator="\n").writerows(rows)
    print(f"{len(new)} verdicts read, {len(before | new)} known, {len(before)} before")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
