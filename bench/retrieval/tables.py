"""The outcomes of a run as tables of text."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

import measures
from measures import Estimate, Row

if TYPE_CHECKING:
    from run import Outcome

Found = dict[str, dict[str, "Outcome"]]  # repository → system → what it did
BASE = "bm25"
ACCURACY = tuple(name for name in measures.NAMES if name.startswith("acc"))
RECALL = tuple(name for name in measures.NAMES if not name.startswith("acc"))


def print_measures(found: Found) -> None:
    """Every measure of every kind of question; for issues over cases, because some repositories
    have two.
    """
    systems = list(next(iter(found.values())))
    for kind in next(iter(found.values()))[systems[0]].rows:
        by_system = {s: {name: found[name][s].rows[kind] for name in found} for s in systems}
        cases = sum(map(len, by_system[systems[0]].values()))
        if not cases:
            continue
        whole = kind.startswith("issue")
        print(
            f"\n== {kind}: {cases} cases, mean over {'cases' if whole else f'{len(found)} repositories'} [95 %]"
        )
        _print_macro(
            {s: _as_one(groups) for s, groups in by_system.items()} if whole else by_system
        )


def print_tables(found: Found) -> None:
    print_measures(found)
    systems = list(next(iter(found.values())))
    kinds = next(iter(found.values()))[systems[0]].rows
    rows = {
        kind: {s: {name: found[name][s].rows[kind] for name in found} for s in systems}
        for kind in kinds
    }
    for kind in [kind for kind in ("subject", "message", "issue") if kind in rows]:
        print(f"\n== {kind}, by repository: acc@5 all · recall@10 · tests recall@10 [95 %]")
        _print_by_repository(rows[kind], found)
    print("\n== time and size, by repository: cold s · update s · ms a query (median, worst) · MB")
    _print_costs(found)


def _as_one(groups: dict[str, list[Row]]) -> dict[str, list[Row]]:
    return {"": [row for rows in groups.values() for row in rows]}


def _line(first: str, cells: Sequence[str], width: int = 20) -> str:
    return f"{first:<20}" + "".join(f"{cell:>{width}}" for cell in cells)


def _cell(value: Estimate) -> str:
    return f"{value.mean:.3f} [{value.low:.2f} {value.high:.2f}]"


def _print_macro(by_system: dict[str, dict[str, list[Row]]]) -> None:
    extra = ("lines met",) if "operation" in by_system else ()
    for names in (ACCURACY, (*RECALL, *extra)):
        print(_line("", names))
        for system, groups in by_system.items():
            values = measures.estimates(groups, names)
            print(_line(system, [_cell(values[name]) for name in names]))
    if BASE in by_system:
        names = ("acc@5 all", "recall@10", "tests recall@10", "mrr")
        print(_line("by " + BASE, names))
        for system, groups in by_system.items():
            if system != BASE:
                print(
                    _line(
                        system,
                        [_cell(measures.ratio(groups, by_system[BASE], name)) for name in names],
                    )
                )


def _print_by_repository(by_system: dict[str, dict[str, list[Row]]], found: Found) -> None:
    names = ("acc@5 all", "recall@10", "tests recall@10")
    for repository in found:
        print(f"{repository}")
        for system, groups in by_system.items():
            values = measures.estimates({repository: groups[repository]}, names)
            print(_line(f"  {system}", [_cell(values[name]) for name in names]))


def _print_costs(found: Found) -> None:
    for repository, outcomes in found.items():
        print(repository)
        for system, outcome in outcomes.items():
            if system.startswith("- ") or not outcome.queries:
                continue
            update = statistics.median(outcome.updates) if outcome.updates else 0.0
            asked = [1000 * seconds for seconds in outcome.queries]
            cells = (
                f"{outcome.cold:.2f}",
                f"{update:.3f}",
                f"{statistics.median(asked):.1f}",
                f"{max(asked):.1f}",
            )
            print(_line(f"  {system}", (*cells, f"{outcome.bytes / 1e6:.1f}"), 12))
