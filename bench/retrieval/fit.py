"""What each signal weighs in the ranking: fitted to the tuning repositories' cases, written as a
table that ships.

    python bench/retrieval/fit.py --step 2 --issues   every second case; writes weights.py
    python bench/retrieval/fit.py --step 2 --check    also without each repository in turn

A signal gives a file the score weight / (RRF_K + place); a file's score is the sum. Weights are
those under which the changed files are likeliest to be drawn by softmax over the scores, at least
0, held small by a square penalty. Later signals start from the best by the earlier ones, so the
places depend on the weights that are there: run it twice.
"""

import argparse
import json
import math
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import own
from cases import Case, cases_of
from issues import cases_of_issues, plan_of_issues
from repositories import Clone, Entry, manifest
from systems import Task

from preread.infra import db
from preread.ranking import fusion, weights
from preread.ranking.query import Query
from preread.ranking.search import Lookup, Search

NEVER = 1e-9  # a weight that lets a signal speak without being heard
MOST = 60  # files of a list that are fitted to, besides the changed ones
SCALE = 1 + fusion.RRF_K  # so that a first place is worth 1
PENALTY, STEPS, PACE = 0.005, 150, 0.1
CLEANED = (
    "files named"  # commits' messages have none and issues few tests: tests weigh it as sources do
)
KEPT = (
    CLEANED,
    "calls traced",
    "code contained",
)  # cleaned messages lack them: among sources they stay as they are
OF_REPORTS = fusion.REPORT_SIGNALS | {"title in its past"}  # short texts are a title
TABLE = Path(weights.__file__)
SOURCES, TESTS = ("source",), ("test", "support")


class Row(NamedTuple):
    """One list of one question: each file's signals with what a weight of 1 gives it there; the
    changed ones first.
    """

    kind: str
    question: str
    files: list[dict[str, float]]
    gold: int  # how many of `files`, from the first on, were changed
    changed: int  # how many should have been found


def rows_of(clone: Clone, cases: Sequence[Case], questions: Sequence[str]) -> Iterator[Row]:
    """Every list of every question, as the program makes it in the case's tree."""
    system = own.Preread()
    for number, case in enumerate(cases):
        if sys.stderr.isatty():
            print(
                f"\r\033[K{clone.entry.name}: case {number + 1} of {len(cases)}",
                end="",
                file=sys.stderr,
                flush=True,
            )
        system.update(clone.checkout(case.parent))
        services = system._services
        assert services is not None
        for question in questions:
            task = Task(
                case.subject, "" if question == "subject" else case.body, report=question == "issue"
            )
            query = own.query(services, own.asked(services, task))
            found = db.use(services.layout, partial(_fuse, query, services.tree.text))
            for kind, (fused, demoted) in found.items():
                changed = case.tests if kind == "tests" else case.sources
                met = [path for path in changed if path in fused]
                rest = [path for path in list(fused)[:MOST] if path not in changed]
                files = [_worth(fused[path], demoted.get(path, 1.0)) for path in met + rest]
                if changed:
                    yield Row(kind, question, files, len(met), len(changed))
    system.close()


def _worth(fused: fusion.Fused, share: float) -> dict[str, float]:
    return {name: share * SCALE / (fusion.RRF_K + place) for name, place in fused.places.items()}


def _fuse(
    query: Query, read: Callable[[str], str | None], connection: sqlite3.Connection
) -> dict[str, tuple[dict[str, fusion.Fused], Mapping[str, float]]]:
    """By kind: the ranked files, and how much of its score a demoted one keeps."""
    asked = Lookup(connection, query.weights, query.text, query.scope, read)
    sources = Search(asked, SOURCES)
    found = fusion._fuse(sources)
    tests = Search(asked, TESTS, list(found))
    return {sources.kind: (found, sources.demoted), "tests": (fusion._fuse(tests), tests.demoted)}


def fitted(groups: dict[str, list[Row]]) -> dict[str, float]:
    """The weights for rows by repository, each list counting the same."""
    lists = [row for rows in groups.values() for row in rows]
    weight = dict.fromkeys(
        sorted({name for row in lists for file in row.files for name in file}), 1.0
    )
    mean, square = dict.fromkeys(weight, 0.0), dict.fromkeys(weight, 0.0)
    for step in range(1, STEPS + 1):  # Adam, kept at 0 or above
        slope = {name: 2 * PENALTY * value for name, value in weight.items()}
        for row in lists:
            _lean(slope, 1 / len(lists), row, weight)
        for name, value in slope.items():
            mean[name] = 0.9 * mean[name] + 0.1 * value
            square[name] = 0.99 * square[name] + 0.01 * value * value
            pace = (
                PACE
                * (mean[name] / (1 - 0.9**step))
                / (math.sqrt(square[name] / (1 - 0.99**step)) + 1e-8)
            )
            weight[name] = max(0.0, weight[name] - pace)
    return weight


def without(row: Row, names: Iterable[str]) -> Row:
    """The same list as if these signals had not spoken."""
    return row._replace(
        files=[{k: v for k, v in file.items() if k not in names} for file in row.files]
    )


def _lean(slope: dict[str, float], part: float, row: Row, weight: dict[str, float]) -> None:
    """Add what one list says of each weight: the drawn files' signals against the changed ones'."""
    if not row.gold:
        return
    scores = [sum(weight[name] * value for name, value in file.items()) for file in row.files]
    most = max(scores)
    chances = [math.exp(score - most) for score in scores]
    total = sum(chances)
    for n, file in enumerate(row.files):
        pull = part * (chances[n] / total - (n < row.gold) / row.gold)
        for name, value in file.items():
            slope[name] += pull * value


def measured(rows: Sequence[Row], weight: dict[str, float]) -> tuple[float, float]:
    """Recall@10, and the share of lists that have every changed file among the first five."""
    recall, whole = [], []
    for row in rows:
        scores = [
            sum(weight.get(name, 0.0) * value for name, value in file.items()) for file in row.files
        ]
        order = sorted(range(len(scores)), key=lambda n: (-scores[n], n >= row.gold))
        recall.append(sum(n < row.gold for n in order[:10]) / row.changed)
        whole.append(float(sum(n < row.gold for n in order[:5]) == row.changed))
    return sum(recall) / len(recall), sum(whole) / len(whole)


def entries_of(
    options: argparse.Namespace,
) -> Iterator[tuple[Entry, Clone, Sequence[Case], tuple[str, ...]]]:
    plan, issues = manifest(), plan_of_issues()
    for entry in (entry for entry in plan.entries if entry.split == "tuning"):
        clone = Clone.of(entry, options.clones, options.source)
        yield (
            entry,
            clone,
            cases_of(clone, plan)[options.first :: options.step],
            ("subject", "message"),
        )
    for entry in (
        entry for entry in issues.manifest.entries if entry.split == "tuning" and options.issues
    ):
        clone = Clone.of(entry, options.clones, options.source)
        collection = Clone.of(issues.collection(entry), options.clones, options.source)
        yield (
            entry,
            clone,
            cases_of_issues(clone, issues, collection)[options.first :: options.step],
            ("issue",),
        )


def collected(options: argparse.Namespace) -> dict[str, list[Row]]:
    if options.rows and options.rows.exists():
        kept = json.loads(options.rows.read_text())
        return {name: [Row(*row) for row in rows] for name, rows in kept.items()}
    found: dict[str, list[Row]] = {}
    every = dict.fromkeys(
        (signal.name for signal in (*fusion.FIRST_PASS, *fusion.SECOND_PASS)), NEVER
    )
    short = {name: weight for name, weight in every.items() if name not in OF_REPORTS}
    heard = {
        kind: (every if kind == "reports" else short) | table
        for kind, table in weights.WEIGHTS.items()
    }
    with mock.patch.object(fusion, "WEIGHTS", heard):
        for entry, clone, cases, questions in entries_of(options):
            found[entry.name] = list(rows_of(clone, cases, questions))
            print(f"{entry.name}: {len(cases)} cases", file=sys.stderr, flush=True)
    if options.rows:
        options.rows.write_text(json.dumps(found))
    return found


def write(table: dict[str, dict[str, float]]) -> None:
    lines = [
        TABLE.read_text(encoding="utf-8").partition("WEIGHTS")[0]
        + "WEIGHTS: dict[str, dict[str, float]] = {"
    ]
    for kind, of in table.items():
        lines += [
            f'    "{kind}": {{',
            *(f'        "{name}": {value},' for name, value in of.items()),
            "    },",
        ]
    TABLE.write_text("\n".join([*lines, "}", ""]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clones", type=Path, default=Path.home() / ".cache" / "preread-bench")
    parser.add_argument("--source", default="")
    parser.add_argument("--step", type=int, default=1, help="take every so many cases")
    parser.add_argument("--first", type=int, default=0, help="beginning with this one")
    parser.add_argument(
        "--issues", action="store_true", help="the issue texts of their tuning repositories too"
    )
    parser.add_argument(
        "--rows",
        type=Path,
        help="a file that keeps what was read of the cases; read again when there",
    )
    parser.add_argument(
        "--check", action="store_true", help="judge each repository by weights of the others"
    )
    options = parser.parse_args()
    groups = collected(options)
    order = [signal.name for signal in (*fusion.FIRST_PASS, *fusion.SECOND_PASS)]
    table = {}
    for kind, before in weights.WEIGHTS.items():
        of = {
            name: lists
            for name, rows in groups.items()
            if (lists := [row for row in rows if row.kind == kind])
        }
        if not of:
            table[kind] = before  # nothing was read that it is for
            continue
        kept = (*KEPT, fusion.MEANING) if kind == "files" else (fusion.MEANING,)
        kept_weights = {name: before[name] for name in kept if name in before}
        found = (
            fitted(
                {name: [without(row, kept_weights) for row in rows] for name, rows in of.items()}
            )
            | kept_weights
        )
        table[kind] = {
            name: round(found[name], 2) for name in order if found.get(name, 0.0) >= 0.05
        }
        if kind == "tests" and (weight := table["files"].get(CLEANED)):
            table[kind][CLEANED] = weight
        for name, rows in of.items():
            rest = {
                other: [without(row, kept_weights) for row in more]
                for other, more in of.items()
                if other != name
            }
            others = fitted(rest) | kept_weights if options.check else {}
            for question in dict.fromkeys(row.question for row in rows):
                asked = [row for row in rows if row.question == question]
                told = [measured(asked, each) for each in (before, found, others) if each]
                print(
                    f"{kind:<6} {name:<32} {question:<8}",
                    *(f"{a:.3f} {b:.3f} " for a, b in told),
                    flush=True,
                )
    write(table)
    print(f"written to {TABLE}; the columns are recall@10 and acc@5 all, before, now", end="")
    print(", by the others" if options.check else "")


if __name__ == "__main__":
    main()
