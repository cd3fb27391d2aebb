"""How much of what a commit changed is named by the dossier of its message, in the tree before it.

    python bench/localisation/run.py --split tuning --limit 12
    python bench/localisation/run.py --repo pallets/click --no-baselines
    python bench/localisation/run.py --repo pallets/click --show 1a2b3c4

It prints tables and writes every case into bench/results/. Definitions, data, figures: README.md
beside this file.
"""

import argparse
import fcntl
import json
import math
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "retrieval"))

import measures
from answers import Answers, Reading, Row, answers, measured
from baseline import Outlines
from cases import Case, cases_of, digest_of
from dossiers import SERVER, Dossier, built, question
from kinds import SOURCE, kind_of
from repositories import Clone, Entry, State, manifest
from systems import KINDS, Task
from untested import claimed, wrong

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
SHARES = ("files", "functions", "where", "test files", "tests")
MOST_CHARACTERS = 8_000  # of a baseline where no dossier was built
COSTS = ("tokens", "named", "seconds")
DOSSIER, ONE, TWO = "dossier", "bm25, one list", "bm25, two lists"
Rows = dict[str, dict[str, list[Row]]]  # system → repository → a row a case


def texts_of(case: Case, dossier: Dossier, outlines: Outlines | None, room: int) -> dict[str, str]:
    """What each system says; the baselines as long as the dossier, or as asked for."""
    found = {DOSSIER: dossier.text}
    if outlines is not None:
        task, room = Task(case.subject, case.body), room or len(dossier.text) or MOST_CHARACTERS
        found |= {ONE: outlines.one_list(task, room), TWO: outlines.two_lists(task, room)}
    return found


def where(text: str, paths: list[str], asked: Answers, most: int | None = None) -> float:
    """Whether a text names a changed source, or its first so many sources have one."""
    reading = Reading(text, paths)
    if most is None:
        return float(any(map(reading.names_file, asked.files)))
    lines = (line for line in text.split("\n") if kind_of(line) in KINDS[SOURCE])
    return float(
        bool({line for line, _ in zip(lines, range(most), strict=False)} & set(asked.files))
    )


def rows_of(
    state: State, asked: Answers, dossier: Dossier, texts: dict[str, str]
) -> dict[str, Row]:
    paths = [file.path for file in state.files]
    most = sum(kind_of(path) in KINDS[SOURCE] for path in Reading(dossier.where, paths).files)
    rows = {}
    for name, text in texts.items():
        rows[name] = measured(dossier.told if name == DOSSIER else text, paths, asked)
        rows[name]["tokens"] = len(text) / 4
        rows[name]["where"] = (
            where(dossier.where, paths, asked)
            if name == DOSSIER
            else where(text, paths, asked, most)
        )
    claims = claimed(dossier.text)
    if claims:
        rows[DOSSIER] |= {"claims": len(claims), "wrong": len(wrong(dossier.text, state))}
    rows[DOSSIER]["seconds"] = dossier.seconds
    return rows


def run(
    clone: Clone, cases: list[Case], options: argparse.Namespace
) -> Iterator[tuple[Case, Answers, Dossier, dict[str, Row]]]:
    shutil.rmtree(clone.tree / ".project", ignore_errors=True)  # what an earlier run knew
    outlines = None if options.no_baselines else Outlines()
    for number, case in enumerate(cases):
        state = clone.checkout(case.parent)
        asked = answers(clone, state, case)
        feature, description = question(case)
        dossier = built(state, feature, description, options.server)
        if outlines is not None:
            outlines.update(state)
        texts = texts_of(case, dossier, outlines, 4 * options.room)
        rows = rows_of(state, asked, dossier, texts)
        yield case, asked, dossier, rows
        if options.show:
            show(case, asked, texts, state)
            print(f"names said to be in no test, and found in one: {wrong(dossier.text, state)}")
        if sys.stderr.isatty():
            print(
                f"\r\033[K{clone.entry.name}: {number + 1} of {len(cases)}", end="", file=sys.stderr
            )
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def show(case: Case, asked: Answers, texts: dict[str, str], state: State) -> None:
    print(f"{case.commit}\n{case.subject}\n{case.body}\nfeature and description: {question(case)}")
    paths = [file.path for file in state.files]
    for name, text in texts.items():
        print(f"\n{'=' * 30} {name}\n{text}")
    print("\nanswers, and who names them: " + " · ".join(texts))
    readings = [Reading(text, paths) for text in texts.values()]

    def marked(kind: str, what: object, held: list[bool]) -> None:
        print(f"  {''.join('+' if one else '-' for one in held)} {kind} {what}")

    for path in asked.files:
        marked("source", path, [one.names_file(path) for one in readings])
    for key in asked.functions:
        marked("function", " ".join(key), [one.names_function(key) for one in readings])
    for path in asked.test_files:
        marked("test file", path, [one.names_file(path) for one in readings])
    for key in asked.tests:
        marked("test", " ".join(key), [one.names_word(key[1]) for one in readings])


def line(first: str, cells: list[str], width: int) -> str:
    return f"{first:<30}" + "".join(f"{cell:>{width}}" for cell in cells)


def cell(value: measures.Estimate, *, share: bool = True, bounds: bool = True) -> str:
    if math.isnan(value.mean):
        return "–"
    around = f" [{value.low:.2f} {value.high:.2f}]" if bounds else ""
    return f"{value.mean:.{3 if bounds else 2}f}{around}" if share else f"{value.mean:,.1f}"


def differences(rows: Rows, base: str) -> dict[str, list[Row]]:
    return {
        repository: [
            {name: one[name] - other[name] for name in SHARES if name in one and name in other}
            for one, other in zip(ours, rows[base][repository], strict=True)
        ]
        for repository, ours in rows[DOSSIER].items()
    }


def print_tables(rows: Rows) -> None:
    cases = sum(map(len, rows[DOSSIER].values()))
    print(f"\n{cases} cases, mean over {len(rows[DOSSIER])} repositories [95 %]")
    print(line("", list(SHARES), 20) + line("", list(COSTS), 10)[30:])
    for system, groups in rows.items():
        values = measures.estimates(groups, (*SHARES, *COSTS))
        shares = [cell(values[name]) for name in SHARES]
        costs = [cell(values[name], share=False) for name in COSTS]
        print(line(system, shares, 20) + line("", costs, 10)[30:])
    for base in [system for system in rows if system != DOSSIER]:
        values = measures.estimates(differences(rows, base), SHARES)
        print(line(f"dossier less {base}", [cell(values[name]) for name in SHARES], 20))
    claims = [row for group in rows[DOSSIER].values() for row in group if "claims" in row]
    names, false = (int(sum(row[name] for row in claims)) for name in ("claims", "wrong"))
    print(
        f"said to be in no test: {names} names in {len(claims)} dossiers, {false} of them wrongly"
    )
    failed = sum(row["tokens"] == 0 for group in rows[DOSSIER].values() for row in group)
    print(f"without a dossier, because its build failed: {failed} cases")
    print("\nby repository (cases)")
    for repository, own in rows[DOSSIER].items():
        print(f"{repository} ({len(own)})")
        for system, groups in rows.items():
            values = measures.estimates({repository: groups[repository]}, (*SHARES, *COSTS))
            shares = [cell(values[name], bounds=False) for name in SHARES]
            costs = [cell(values[name], share=False) for name in COSTS]
            print(line(f"  {system}", shares, 12) + line("", costs, 10)[30:])


def taken(cases: list[Case], limit: int | None) -> list[Case]:
    """So many, evenly."""
    if limit is None or limit >= len(cases):
        return cases
    return [cases[n * len(cases) // limit] for n in range(limit)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", choices=("tuning", "held-out"), default="tuning")
    parser.add_argument("--repo", action="append", help="owner/name, of either split")
    parser.add_argument("--limit", type=int, help="at most so many cases a repository, evenly")
    parser.add_argument("--part", default="1/1", help="2/3: of each repository's cases, these")
    parser.add_argument("--manifest", type=Path, default=HERE / "manifest.toml")
    parser.add_argument("--show", metavar="CASE", help="one case in full, by its commit's begin")
    parser.add_argument("--cases", action="store_true", help="only list the cases")
    parser.add_argument("--no-baselines", action="store_true", help="the dossier alone: quicker")
    parser.add_argument("--room", type=int, default=0, help="tokens of the baselines, if not alike")
    parser.add_argument("--server", type=Path, default=SERVER, help="whose dossiers: its `server`")
    parser.add_argument("--clones", type=Path, default=Path.home() / ".cache" / "preread-bench")
    parser.add_argument("--source", default="", help="instead of the URL, like /mirrors/{slug}")
    parser.add_argument("--to", type=Path, default=RESULTS, help="the folder for the JSON")
    return parser.parse_args()


def chosen(entries: tuple[Entry, ...], options: argparse.Namespace) -> list[Entry]:
    wanted = options.repo
    found = [e for e in entries if (e.name in wanted if wanted else e.split == options.split)]
    if not found:
        sys.exit("no such repository in the manifest")
    return found


def main() -> None:
    options = arguments()
    options.server, folder = options.server.resolve(), options.clones.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    options.to.mkdir(parents=True, exist_ok=True)
    lock = (folder / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)  # its work trees are moved about
    plan = manifest(options.manifest)
    part, parts = map(int, options.part.split("/"))
    target = options.to / f"localisation-{time.strftime('%Y%m%d-%H%M%S')}.json"
    rows: Rows = {}
    kept: list[dict[str, object]] = []
    for entry in chosen(plan.entries, options):
        clone = Clone.of(entry, folder, options.source)
        cases = cases_of(clone, plan)
        if digest_of(cases) != entry.digest:
            sys.exit(f"{entry.name}: cases {digest_of(cases)}, the manifest has {entry.digest}")
        cases = taken(cases, options.limit)[part - 1 :: parts]
        if options.show:
            cases = [case for case in cases if case.commit.startswith(options.show)]
        print(f"{entry.name}: {len(cases)} cases", file=sys.stderr, flush=True)
        if options.cases:
            print(*(f"  {case.commit[:10]} {case.subject}" for case in cases), sep="\n")
            continue

        for case, asked, dossier, found in run(clone, cases, options):
            for system, row in found.items():
                rows.setdefault(system, {}).setdefault(entry.name, []).append(row)
            told = {"repository": entry.name, "commit": case.commit, "subject": case.subject}
            told |= {"answers": asked._asdict(), "rows": found, "dossier": dossier.text}
            kept.append(told)
        if not options.show:
            data = {"arguments": sys.argv[1:], "cases": kept}
            target.write_text(json.dumps(data, indent=1), encoding="utf-8")
    if rows and not options.show:
        print_tables(rows)
        print(f"\nwritten to {target}")


if __name__ == "__main__":
    main()
