"""Which lines of the found files does a task touch: do the cited ranges meet what the commit
changed?

    python bench/retrieval/lines.py --split tuning --limit 20
    python bench/retrieval/lines.py --repo pallets/click
    python bench/retrieval/lines.py --issues --split tuning

The cases are those of run.py, asked with the whole message, or with an issue's text. Definitions
and figures: LINES.md beside this file.
"""

import argparse
import json
import math
import os
import re
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import measures
import own
from cases import Case, cases_of
from issues import cases_of_issues, plan_of_issues
from repositories import Clone, manifest
from run import checked, chosen, say
from systems import Task, tokens

from preread import syntax
from preread.models import Request
from preread.operations.registry import services_of
from preread.ranking import lines
from preread.ranking.query import query_of

Spans = Sequence[tuple[int, int]]
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)
NAMES = ("files met", "hunks met", "share cited", "lines cited", "spans", "spans that meet")
AMOUNTS = frozenset({"lines cited", "spans"})
PIECE = 40  # lines of a piece of the baseline


class File(NamedTuple):
    """One changed file, before the change."""

    task: Task
    request: Request
    path: str
    text: str


def whole(file: File) -> Spans:
    return [(1, len(_lines(file.text)))]


def pieces(most: int) -> Callable[[File], Spans]:
    """The best pieces of 40 lines by BM25 over the pieces of the file."""

    def best(file: File) -> Spans:
        text = _lines(file.text)
        counts = [tokens("\n".join(text[n : n + PIECE])) for n in range(0, len(text), PIECE)]
        average = sum(sum(one.values()) for one in counts) / len(counts) or 1.0
        scores = dict.fromkeys(range(len(counts)), 0.0)
        for word in sorted(tokens(file.task.text)):
            held = sum(word in one for one in counts)
            rarity = math.log(1 + (len(counts) - held + 0.5) / (held + 0.5))
            for n, one in enumerate(counts):
                norm = 1.2 * (0.25 + 0.75 * sum(one.values()) / average)
                scores[n] += rarity * one[word] * 2.2 / (one[word] + norm)
        order = sorted((n for n in scores if scores[n] > 0), key=lambda n: (-scores[n], n))[:most]
        return [(n * PIECE + 1, min(len(text), (n + 1) * PIECE)) for n in order]

    return best


def preread(file: File) -> Spans:
    wanted = lines.Wanted(query_of(file.request, ""), file.request.description)
    found = wanted.spans(file.path, file.text, syntax.outline(file.path, file.text))
    return [(span.start, span.end) for span in found]


SYSTEMS: dict[str, Callable[[File], Spans]] = {
    "preread": preread,
    "whole file": whole,
    "2 best pieces": pieces(2),
    "3 best pieces": pieces(3),
    "4 best pieces": pieces(4),
}


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def hunks(clone: Clone, case: Case, path: str, text: str) -> Spans:
    """What the commit changed, by the line numbers before it; an insertion is the lines with text
    around it.
    """
    options = (
        "-w",
        "--ignore-blank-lines",
        "-U0",
        "--no-renames",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
    )
    diff = clone.git("diff", *options, case.parent, case.commit, "--", f":(literal){path}")
    before = _lines(text)
    spans = (
        (int(m[1]), int(m[1]) + int(m[2] or 1) - 1, int(m[2] or 1)) for m in HUNK.finditer(diff)
    )
    return [(start, end) if count else _around(before, start) for start, end, count in spans]


def patched(patch: str, path: str, text: str) -> Spans:
    """The same from a patch with lines of context."""
    parts = re.split(r"^diff --git ", patch, flags=re.MULTILINE)
    part = next((one for one in parts if f"\n--- a/{path}\n" in one), "")
    found: list[tuple[int, int]] = []
    number = start = (
        # of the next line before the change, and of the first one of the change that is being read
        0
    )
    for line in [*part.split("\n"), " "]:
        if number and line[:1] in {"+", "-"}:
            start = start or number
            number += line[0] == "-"
        elif not line.startswith("\\"):
            if start:
                found.append(
                    (start, number - 1) if start < number else _around(_lines(text), start - 1)
                )
            header = HUNK.match(line)
            number, start = (int(header[1]) or 1) if header else number + bool(number), 0
    return found


def _around(before: Sequence[str], number: int) -> tuple[int, int]:
    """The nearest lines with text before and after an insertion below this line."""
    start, end = number, number + 1
    while start > 1 and not before[start - 1].strip():
        start -= 1
    while end < len(before) and not before[end - 1].strip():
        end += 1
    return start, end


def measured(spans: Spans, changed: Spans, length: int) -> measures.Row:
    cited = {number for start, end in spans for number in range(start, end + 1)}
    met = [any(start <= last and first <= end for start, end in spans) for first, last in changed]
    meet = [any(start <= last and first <= end for first, last in changed) for start, end in spans]
    return {
        "files met": float(any(met)),
        "hunks met": sum(met) / len(met),
        "share cited": len(cited) / length,
        "lines cited": float(len(cited)),
        "spans": float(len(spans)),
        "spans that meet": sum(meet) / len(meet) if meet else 0.0,
    }


Rows = dict[str, dict[str, list[measures.Row]]]  # system → repository → a row a case


def run(clone: Clone, cases: list[Case], kind: str, rows: Rows, seconds: list[float]) -> None:
    """Every system over the files of one kind that were changed and found, case by case."""
    ranking = own.Preread()
    for number, case in enumerate(cases):
        say(f"{clone.entry.name}: case {number + 1} of {len(cases)}")
        state = clone.checkout(case.parent)
        ranking.update(state)
        task = Task(case.subject, case.body)
        found = ranking.rank(task)
        assert ranking._services is not None
        request = own.asked(ranking._services, task)
        paths = sorted({*getattr(case, kind)} & {*getattr(found, kind)})
        files = [File(task, request, path, state.text(path)) for path in paths]
        add(
            rows,
            clone.entry.name,
            [(file, hunks(clone, case, file.path, file.text)) for file in files],
            seconds,
        )
    ranking.close()


def run_issues(
    clone: Clone, cases: list[Case], patches: dict[str, str], rows: Rows, seconds: list[float]
) -> None:
    """Every system over all files that the fixes changed, whether a ranking finds them or not."""
    services = services_of(clone.tree, dict(os.environ))
    for case in cases:
        task = Task(case.subject, case.body)
        request = own.asked(services, task)
        files = [
            File(task, request, path, clone.git("show", f"{case.parent}:{path}"))
            for path in case.sources
        ]
        add(
            rows,
            clone.entry.name,
            [(f, patched(patches[case.commit], f.path, f.text)) for f in files],
            seconds,
        )


def add(rows: Rows, repository: str, files: list[tuple[File, Spans]], seconds: list[float]) -> None:
    """One case's row of each system, over its files with what changed in them."""
    files = [(file, changed) for file, changed in files if changed and file.text]
    for name, system in SYSTEMS.items() if files else ():
        found = []
        for file, changed in files:
            begun = time.process_time()
            spans = system(file)
            seconds += [time.process_time() - begun] if system is preread else []
            found.append(measured(spans, changed, len(_lines(file.text))))
        mean = {measure: statistics.fmean(row[measure] for row in found) for measure in NAMES}
        rows[name].setdefault(repository, []).append(mean)


def table(rows: Rows) -> None:
    """Means over repositories of the means over their cases, with bounds; then each repository's."""
    print("| | " + " | ".join(NAMES) + " |\n|" + " --- |" * (len(NAMES) + 1))
    for name, groups in rows.items():
        print(
            f"| {name} | "
            + " | ".join(_cell(*one) for one in measures.estimates(groups, NAMES).items())
            + " |"
        )
    shown = NAMES[:3]
    systems = [name for name in rows if name != "whole file"]
    print(
        f"\n| {' · '.join(shown)} | "
        + " | ".join(systems)
        + " |\n|"
        + " --- |" * (len(systems) + 1)
    )
    for repository, own_rows in next(iter(rows.values())).items():
        cells = []
        for name in systems:
            estimates = measures.estimates({repository: rows[name][repository]}, shown)
            cells.append(" · ".join(f"{value.mean:.2f}" for value in estimates.values()))
        print(f"| {repository} ({len(own_rows)}) | " + " | ".join(cells) + " |")


def _cell(name: str, value: measures.Estimate) -> str:
    return (
        f"{value.mean:.1f}"
        if name in AMOUNTS
        else f"{value.mean:.3f} [{value.low:.2f} {value.high:.2f}]"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", choices=("tuning", "held-out"), default="tuning")
    parser.add_argument(
        "--repo", action="append", help="owner/name, instead of a split; several are allowed"
    )
    parser.add_argument(
        "--limit", type=int, help="at most so many cases a repository, taken evenly"
    )
    parser.add_argument("--kind", choices=("sources", "tests"), default="sources")
    parser.add_argument("--clones", type=Path, default=Path.home() / ".cache" / "preread-bench")
    parser.add_argument(
        "--source",
        default="",
        help="where clones come from instead of the URL, like /mirrors/{slug}",
    )
    parser.add_argument(
        "--issues", action="store_true", help="issue texts of Loc-Bench, whose rows have the fixes"
    )
    options = parser.parse_args()
    plan, issues = manifest(), plan_of_issues()
    entries = [entry for entry in issues.manifest.entries if issues.of[entry.name] == "loc-bench"]
    rows: Rows = {name: {} for name in SYSTEMS}
    seconds: list[float] = []
    for entry in chosen(tuple(entries) if options.issues else plan.entries, options):
        clone = Clone.of(entry, options.clones.resolve(), options.source)
        if options.issues:
            texts = Clone.of(issues.collection(entry), options.clones.resolve(), options.source)
            fixes = texts.git(
                "show", f"{texts.entry.commit}:{issues.paths['loc-bench']}"
            ).splitlines()
            patches = {row["instance_id"]: row["patch"] for row in map(json.loads, fixes)}
            cases = checked(clone, cases_of_issues(clone, issues, texts), options.limit)
            run_issues(clone, cases, patches, rows, seconds)
        else:
            run(
                clone,
                checked(clone, cases_of(clone, plan), options.limit),
                options.kind,
                rows,
                seconds,
            )
    say("")
    table(rows)
    print(
        f"\n{len(seconds)} files, {1000 * statistics.median(seconds):.1f} ms each (median, "
        f"processor time)"
    )


if __name__ == "__main__":
    main()
