"""How well the files are found that a commit changed, from its message, in the tree before it.

    python bench/retrieval/run.py --split tuning
    python bench/retrieval/run.py --repo pallets/click --limit 20 --systems preread,bm25
    python bench/retrieval/run.py --split tuning --systems preread --ablate
    python bench/retrieval/run.py --split tuning --issues

It prints tables and writes every rank into bench/results/. Definitions, data, figures: README.md
beside this file.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import measures
import own
from cases import Case, cases_of, digest_of
from issues import cases_of_issues, like_lite, names_its_file, plan_of_issues
from repomap import Aider
from repositories import Clone, Entry, manifest
from systems import Bm25, Fts5, KeywordCount, System, Task
from tables import print_measures, print_tables

RESULTS = Path(__file__).resolve().parents[1] / "results"
Questions = dict[str, Callable[[Case], Task]]
QUESTIONS: Questions = {
    "subject": lambda case: Task(case.subject),
    "message": lambda case: Task(case.subject, case.body),
}
OF_ISSUES: Questions = {"issue": lambda case: Task(case.subject, case.body, report=True)}
LONG = 40  # words of a body from which on a message reads like an issue's text
PARTS: dict[str, dict[str, Callable[[Case], bool]]] = {  # of a question's cases, measured apart
    "message": {"long message": lambda case: len(case.body.split()) >= LONG},
    "issue": {
        "issue like Lite": like_lite,
        "issue like Lite, its file not named": lambda case: (
            like_lite(case) and not names_its_file(case)
        ),
    },
}


@dataclass
class Outcome:
    """What one system did in one repository."""

    rows: dict[str, list[measures.Row]] = field(
        default_factory=dict
    )  # by question, and by part of one
    ranks: list[dict[str, object]] = field(default_factory=list)
    cold: float = 0.0  # seconds for the first tree
    updates: list[float] = field(default_factory=list)  # seconds for each further tree
    queries: list[float] = field(default_factory=list)
    bytes: int = 0


def made(names: list[str], options: argparse.Namespace) -> dict[str, System]:
    """The systems of a run; ablations share the index of the system that they take a signal from."""
    table: dict[str, Callable[[], System]] = {
        "keywords": KeywordCount,
        "bm25": Bm25,
        "fts5": lambda: Fts5(options.clones / "fts5.db"),
        "aider": lambda: Aider(options.aider),
        "operation": own.Operation,
        "preread": own.Preread,
    }
    found = {name: table[name]() for name in names}
    if options.ablate:
        whole = found.setdefault("preread", own.Preread())
        found |= {
            f"- {signal}": own.Preread(without=signal, sharing=whole) for signal in own.SIGNALS
        }
    return found


def timed(seconds: list[float], work: Callable[..., object], *arguments: object) -> object:
    begun = time.perf_counter()
    result = work(*arguments)
    seconds.append(time.perf_counter() - begun)
    return result


def run(
    clone: Clone, cases: list[Case], systems: dict[str, System], questions: Questions
) -> dict[str, Outcome]:
    """Every system over every case of one repository, tree by tree."""
    kinds = [kind for question in questions for kind in (question, *PARTS.get(question, ()))]
    outcomes = {name: Outcome(rows={kind: [] for kind in kinds}) for name in systems}
    for number, case in enumerate(cases):
        say(f"{clone.entry.name}: case {number + 1} of {len(cases)}")
        state = clone.checkout(case.parent)
        state.files  # noqa: B018 - listed before the clock runs, for all of them
        for name, system in systems.items():
            outcome = outcomes[name]
            timed(outcome.updates, system.update, state)
            for question, task_of in questions.items():
                answer(outcome, system, case, question, task_of(case))
    for name, system in systems.items():
        outcomes[name].updates[:1] = []  # the first tree is no update
        system.close()
    return outcomes


def weigh(clone: Clone, systems: dict[str, System], outcomes: dict[str, Outcome]) -> None:
    """The cold index of the manifest's commit; last, by fresh systems: it would show the cases
    their future.
    """
    state = clone.checkout(clone.entry.commit)
    for name, system in systems.items():
        seconds: list[float] = []
        timed(seconds, system.update, state)
        outcomes[name].cold, outcomes[name].bytes = seconds[0], system.size()
        system.close()


def answer(outcome: Outcome, system: System, case: Case, question: str, task: Task) -> None:
    ranking = timed(outcome.queries, system.rank, task)
    row = measures.measured(ranking, case)
    if isinstance(system, own.Operation):
        row |= lines_met(system, case)
    outcome.rows[question].append(row)
    for part, holds in PARTS.get(question, {}).items():
        if holds(case):
            outcome.rows[part].append(row)
    outcome.ranks.append({
        "commit": case.commit, "question": question,
        "sources": {path: _rank(ranking.sources, path) for path in case.sources},
        "tests": {path: _rank(ranking.tests, path) for path in case.tests},
        "first": ranking.sources[:5],
    })  # fmt: skip


def _rank(paths: list[str], path: str) -> int:
    return paths.index(path) + 1 if path in paths else 0


def lines_met(system: own.Operation, case: Case) -> measures.Row:
    """Of the changed sources that were found: the share in which a cited range meets a changed
    one.
    """
    met = [
        any(
            start <= last and first <= end
            for start, end in system.lines[path]
            for first, last in case.hunks[path]
        )
        for path in case.sources
        if path in system.lines and path in case.hunks
    ]
    return {"lines met": sum(met) / len(met)} if met else {}


def say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def chosen(manifested: tuple[Entry, ...], options: argparse.Namespace) -> list[Entry]:
    entries = [
        entry
        for entry in manifested
        if (entry.name in options.repo if options.repo else entry.split == options.split)
    ]
    if not entries:
        sys.exit("no such repository in the manifest")
    return entries


def checked(clone: Clone, cases: list[Case], limit: int | None) -> list[Case]:
    """The repository's cases, those that the manifest's digest is of; `limit` takes them evenly."""
    if clone.entry.digest != digest_of(cases):
        sys.exit(
            f"{clone.entry.name}: cases {digest_of(cases)}, the manifest has {clone.entry.digest or 'none'}"
        )
    if limit is None or limit >= len(cases):
        return cases
    return [cases[n * len(cases) // limit] for n in range(limit)]


def arguments() -> argparse.Namespace:
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
    parser.add_argument(
        "--systems", default="preread,keywords,bm25,fts5", help="also: operation, aider"
    )
    parser.add_argument("--ablate", action="store_true", help="also without each signal in turn")
    parser.add_argument("--clones", type=Path, default=Path.home() / ".cache" / "preread-bench")
    parser.add_argument(
        "--source",
        default="",
        help="where clones come from instead of the URL, like /mirrors/{slug}",
    )
    parser.add_argument(
        "--aider", default="python3", help="the interpreter of an environment with aider-chat"
    )
    parser.add_argument(
        "--issues", action="store_true", help="the cases of issues.toml instead: people's reports"
    )
    parser.add_argument("--to", type=Path, default=RESULTS, help="the folder for the JSON")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    plan, issues = manifest(), plan_of_issues()
    entries = chosen(issues.manifest.entries if options.issues else plan.entries, options)
    options.to.mkdir(parents=True, exist_ok=True)
    target = options.to / f"retrieval-{time.strftime('%Y%m%d-%H%M%S')}.json"
    found: dict[str, dict[str, Outcome]] = {}
    for entry in entries:
        clone = Clone.of(entry, options.clones.resolve(), options.source)
        if options.issues:
            texts = Clone.of(issues.collection(entry), options.clones.resolve(), options.source)
            cases = checked(clone, cases_of_issues(clone, issues, texts), options.limit)
        else:
            cases = checked(clone, cases_of(clone, plan), options.limit)
        print(f"{entry.name}: {len(cases)} cases", file=sys.stderr, flush=True)
        names = options.systems.split(",")
        found[entry.name] = run(
            clone, cases, made(names, options), OF_ISSUES if options.issues else QUESTIONS
        )
        weigh(clone, made(names, options), found[entry.name])
        write(target, found)  # after each, because a run is long
    say("")
    print_tables(found)
    for texts in issues.paths if options.issues else ():
        part = {name: outcomes for name, outcomes in found.items() if issues.of[name] == texts}
        if part and part != found:
            print(f"\n==== of {texts} alone")
            print_measures(part)
    print(f"\nwritten to {target}")


def write(target: Path, found: dict[str, dict[str, Outcome]]) -> None:
    data = {
        repository: {name: vars(outcome) for name, outcome in outcomes.items()}
        for repository, outcomes in found.items()
    }
    target.write_text(
        json.dumps({"arguments": sys.argv[1:], "found": data}, indent=1), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
