"""How many of the hand-written facts a dossier built by Preread holds, per kind and split; the rule is in match.py.

    PYTHONPATH=server python bench/claims/score.py CLONES OUT [--split SPLIT] [NAME …]

CLONES is a folder with a clone of each repository at the manifest's commit; each is copied, and the dossier is built in
the copy without a model. Without --split those for tuning are built. Into OUT go, for each feature:
<name>.found.tsv (each hand-written fact, how it is found, and the built fact that has it) and <name>.unmatched.tsv (the
built facts that match none). In the second a person writes `kept` or `not` into the first column: is the fact true, and
worth its line? The next run keeps these words and counts them, with all that verdicts.py has taken over.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import verdicts
from gold import Case, cases, read, tree_of
from match import Said, agreement, said
from verdicts import FOUND, VERDICTS, digest

import preread
from preread import dossier
from preread.layout import BY_NAME, Layout
from preread.models import Fact
from preread.project.tree import Tree

TIMEOUT = 900
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(preread.__file__).parents[1])}


def built_in(root: Path, case: Case) -> list[tuple[str, Fact]]:
    """The facts of the dossier that Preread builds in `root`, each with its file."""
    command = [sys.executable, "-m", "preread", "load", case.feature]
    command += ["--description", case.description, "--level", "light"]
    done = subprocess.run(
        command,
        check=False,
        cwd=root,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    folder = Layout(root).dossier(case.feature)
    if done.returncode or not folder.is_dir():
        raise SystemExit(
            f"{case.name}: no dossier, exit {done.returncode}\n{done.stdout[-500:]}{done.stderr[-500:]}"
        )
    found = []
    for path in sorted(folder.glob("*.md")):
        if path.name in BY_NAME:
            draft, _ = dossier.parse(path.name, case.feature, path.read_text())
            found += [(path.name, fact) for section in draft.sections for fact in section.facts]
    return found


def rules_of(root: Path, case: Case) -> dict[str, str]:
    """Which rule found what, by its text."""
    command = [sys.executable, "-m", "preread", "evidence", case.feature]
    command += ["--description", case.description, "--limit", "1000", "--json"]
    done = subprocess.run(
        command,
        check=True,
        cwd=root,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    return {found["text"]: found["rule"] for found in json.loads(done.stdout)["findings"]}


def scratch(clone: Path, folder: str) -> Path:
    """A copy of a clone with nothing of Preread's in it."""
    root = Path(folder).resolve() / clone.name
    shutil.copytree(
        clone,
        root,
        symlinks=True,
        ignore=lambda at, _: {".project"} if Path(at) == clone else set(),
    )
    return root


def write(path: Path, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    with path.open("w", newline="") as out:
        csv.writer(out, delimiter="\t", lineterminator="\n").writerows([head, *rows])


def best(gold: Said, built: list[Said]) -> tuple[str, str]:
    """How a hand-written fact is found, and by which built fact."""
    ways = {
        agreement(gold, other): other.text for other in reversed(built)
    }  # the first of each way
    return next(((how, ways[how]) for how in (*FOUND, "place") if how in ways), ("missed", ""))


def score(
    case: Case, tree: Tree, built: list[tuple[str, Fact]], rules: dict[str, str], out: Path
) -> Counter[tuple[str, str]]:
    """Counts of one feature: (kind, how) for the hand-written facts, ("built", what) and ("by RULE", what) for the
    built ones."""
    facts, _ = read(case)
    gold = [said(fact.text, fact.sources, tree) for fact in facts]
    mine = [said(fact.text, fact.sources, tree) for _, fact in built]
    counts: Counter[tuple[str, str]] = Counter()
    rows = []
    for wanted, one in zip(facts, gold, strict=True):
        how, by = best(one, mine)
        counts[wanted.kind, how] += 1
        rows.append((how, wanted.kind, wanted.text, by))
    write(out / f"{case.name}.found.tsv", ("found", "kind", "hand-written", "built"), rows)
    path = out / f"{case.name}.unmatched.tsv"
    said_of = (
        {(case.name, digest(fact.text)): "" for _, fact in built}
        | verdicts.known()
        | verdicts.written(out)
    )
    left = []
    for (name, fact), one in zip(built, mine, strict=True):
        matched = any(agreement(other, one) in FOUND for other in gold)
        verdict = said_of[case.name, digest(fact.text)]
        what = "matched" if matched else verdict or "unjudged"
        rule = rules.get(fact.text, "summary" if name == "summary.md" else "other")
        counts.update({("built", what): 1, (f"by {rule}", what): 1})
        if not matched:
            left.append((verdict, name, fact.text, ", ".join(fact.sources), rule))
    write(path, ("kept|not", "file", "fact", "sources", "rule"), left)
    return counts


def share(label: str, counts: Counter[tuple[str, str]], kinds: list[str]) -> str:
    words, code, place, missed = (
        sum(counts[kind, how] for kind in kinds) for how in (*FOUND, "place", "missed")
    )
    found, total = words + code, words + code + place + missed
    return f"  {label:<15}{found:>4} of {total:<4}{found / (total or 1):>5.0%}   by words {words}, place only {place}"


def report(title: str, counts: Counter[tuple[str, str]]) -> None:
    rules = sorted({kind for kind, _ in counts if kind.startswith("by ")})
    kinds = sorted({kind for kind, _ in counts} - {"built", *rules})
    print(
        title,
        *(share(kind, counts, [kind]) for kind in kinds),
        share("all", counts, kinds),
        sep="\n",
    )
    for rule in ("built", *rules):
        told = {name: counts[rule, name] for name in ("matched", *VERDICTS, "unjudged")}
        print(
            f"  {rule:<24}{sum(told.values()):>4}: "
            + ", ".join(f"{n} {name}" for name, n in told.items() if n)
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clones", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument(
        "--split",
        default="tuning",
        help="tuning, read (no hand-written facts) or, rarely, held-out",
    )
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    splits: dict[str, Counter[tuple[str, str]]] = {}
    for case in cases():
        if (given.names and case.name not in given.names) or case.split != given.split:
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = scratch(given.clones / case.clone, folder)
            tree = tree_of(root)
            if (head := tree.git("rev-parse", "HEAD").out.decode().strip()) != case.commit:
                raise SystemExit(
                    f"{case.name}: the clone is at {head}, the facts are about {case.commit}"
                )
            counts = score(case, tree, built_in(root, case), rules_of(root, case), given.out)
        report(case.name, counts)
        splits[case.split] = splits.get(case.split, Counter()) + counts
    for split, counts in splits.items():
        report(f"\n{split}", counts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
