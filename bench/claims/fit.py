"""What findings and the things that passages say are worth, fitted on the tuning half: the tables that rules go by.

    PYTHONPATH=server python bench/claims/fit.py CLONES

Prints RATES for server/preread/evidence/worth.py: how many hand-written facts a finding of each rule has that none
before it has, in the order in which findings are taken, drawn towards the usual where a rule is seen seldom. LIKELY for
digests.py: the weights of a logistic model of whether one condition, statement or remark is in a hand-written fact. And
LIKELY and BY_RULE for doubts.py: those of a model of whether a reader keeps a finding, or it is in a hand-written fact,
by the worth that the rates in use give; and what share is kept, when the model has not seen the feature, from each
bound on. All are to be judged on what was not fitted.
"""

import importlib
import math
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import verdicts
from gold import Case, cases, read, tree_of
from match import Said, agreement, said
from preread.evidence.passages import passages
from score import scratch
from verdicts import FOUND

from preread import dossier
from preread.evidence import digests, doubts, worth
from preread.evidence.view import View
from preread.index import indexer
from preread.infra import db
from preread.layout import Layout
from preread.models import Finding, Request
from preread.project.tree import Tree
from preread.services import Services
from preread.settings import load

PRIOR, SEEN = 0.25, 4  # what a rule is drawn towards, and as if it had been seen so often
FIRST, PASSES = (
    8,
    3,
)  # findings of a rule that are looked at; rounds, as the order depends on the rates
SCALE = 0.53  # keeps what people gave above all others
FAIR, DEAR = 40, 0.6  # as in validate/budget.py
PULL, ROUNDS = 2.0, 40  # of a model's weights towards 0; steps to find them
BOUNDS = [n / 20 for n in range(8, 19)]  # of how likely a reader has to keep a finding


class Shown(NamedTuple):
    """One finding as it is weighed: its share of its rule's rate, tokens, and the hand-written facts that it has."""

    rule: str
    share: float
    cost: float
    gold: frozenset[int]


class Row(NamedTuple):
    """The properties of one thing that a passage says, and whether it is in a hand-written fact."""

    properties: dict[str, float]
    found: float


class Gathered(NamedTuple):
    """What one feature gives to each of the three tables."""

    shown: list[Shown]
    rows: list[Row]
    kept: list[Row]  # of the findings that a reader judged, or that a hand-written fact has


def gathered(clones: Path, judged: verdicts.Verdicts, case: Case) -> Gathered:
    with tempfile.TemporaryDirectory() as folder:
        return gathered_in(scratch(clones / case.clone, folder), judged, case)


def gathered_in(root: Path, judged: verdicts.Verdicts, case: Case) -> Gathered:
    layout = Layout(root.resolve())
    services = Services(layout, load(layout, {}, {}))
    request = Request(feature=case.feature, description=case.description)
    rules = importlib.import_module("preread.evidence.collect")
    tree = tree_of(root)
    gold = [said(fact.text, fact.sources, tree) for fact in read(case)[0]]

    def work(connection: sqlite3.Connection) -> Gathered:
        view = rules._viewed(services, request, connection)[0]
        findings = [finding for rule in rules.RULES for finding in rule(view)]
        kept = [
            row
            for finding in worth.weighed(findings)
            for row in verdict(view, finding, case, judged)
        ]
        if case.split == "read":
            return Gathered([], [], kept)
        return Gathered(list(shown(findings, gold, tree)), list(rows(view, gold, tree)), kept)

    indexer.update(services)
    return db.use(layout, work)


def having(text: str, sources: tuple[str, ...], gold: list[Said], tree: Tree) -> frozenset[int]:
    built = said(text, sources, tree)
    return frozenset(i for i, one in enumerate(gold) if agreement(one, built) in FOUND)


def shown(findings: list[Finding], gold: list[Said], tree: Tree) -> Iterator[Shown]:
    places: Counter[str] = Counter()
    for finding in sorted(findings, key=lambda f: -f.score):
        place = places[finding.rule]
        places[finding.rule] += 1
        if (
            worth.RATES.get(finding.rule) == worth.GIVEN
            or finding.kind in {"example", "command"}
            or place >= FIRST
        ):
            continue
        names = (source.rpartition("/")[2] for source in finding.sources)
        cost = dossier.tokens(f"- {finding.text} ({', '.join(names)})\n")
        has = having(finding.text, finding.sources, gold, tree)
        yield Shown(finding.rule, worth.share(finding.rule, place, finding.score), cost, has)


def rows(view: View, gold: list[Said], tree: Tree) -> Iterator[Row]:
    for passage in passages(view)[: 5 * digests.MOST]:
        for item in digests.said_in(view, passage):
            source = passage.file.cite(min(passage.start, item.line), passage.end)
            has = having(f"{dossier.code(passage.symbol.name)}: {item.text}", (source,), gold, tree)
            yield Row(digests.properties(view, passage, item), float(bool(has)))


def verdict(view: View, finding: Finding, case: Case, judged: verdicts.Verdicts) -> Iterator[Row]:
    said_of = judged.get((case.name, verdicts.digest(finding.text)))
    if said_of and worth.RATES.get(finding.rule) != worth.GIVEN:
        properties = doubts.properties(view, finding) | {f"by {finding.rule}": 1.0}
        yield Row(properties, float(said_of != "not"))


def rates(features: list[list[Shown]]) -> dict[str, float]:
    """What a finding of each rule is worth: the facts that only it has, for each whole finding of the rule."""
    found = {one.rule: PRIOR for findings in features for one in findings}
    for _ in range(PASSES):
        new: Counter[str] = Counter()
        seen: dict[str, float] = {}
        for findings in features:
            had: frozenset[int] = frozenset()
            for one in sorted(
                findings, key=lambda o: -found[o.rule] * o.share * (FAIR / max(o.cost, 1)) ** DEAR
            ):
                new[one.rule] += len(one.gold - had)
                seen[one.rule] = seen.get(one.rule, 0.0) + one.share
                had |= one.gold
        found = {rule: (new[rule] + PRIOR * SEEN) / (seen[rule] + SEEN) for rule in seen}
    return found


def weights(data: list[Row], names: list[str]) -> dict[str, float]:
    """The weights of a logistic model, by Newton's steps, drawn towards 0 but for the constant."""
    weight = [0.0] * len(names)
    vectors = [[row.properties.get(name, 0.0) for name in names] for row in data]
    for _ in range(ROUNDS):
        slope = [-PULL * w if name else 0.0 for name, w in zip(names, weight, strict=True)]
        bend = [
            [(PULL if names[i] else 1e-6) * (i == j) for j in range(len(names))]
            for i in range(len(names))
        ]
        for vector, row in zip(vectors, data, strict=True):
            chance = 1 / (1 + math.exp(-sum(map(float.__mul__, weight, vector))))
            for i, x in enumerate(vector):
                if x:
                    slope[i] += (row.found - chance) * x
                    for j, y in enumerate(vector):
                        bend[i][j] += chance * (1 - chance) * x * y
        weight = [w + step for w, step in zip(weight, solved(bend, slope), strict=True)]
    return dict(zip(names, weight, strict=True))


def chance(weight: dict[str, float], row: Row) -> float:
    return 1 / (
        1 + math.exp(-sum(weight.get(name, 0.0) * value for name, value in row.properties.items()))
    )


def bounds(features: list[list[Row]], names: list[str]) -> Iterator[str]:
    """For each bound what share of the findings above it was kept, each by a model of the other features."""
    judged = []
    for n, rows_ in enumerate(features):
        weight = weights(
            [row for m, other in enumerate(features) if m != n for row in other], names
        )
        judged += [(chance(weight, row), row.found) for row in rows_]
    for bound in BOUNDS:
        above = [found for likely, found in judged if likely >= bound]
        yield f"  from {bound:.2f}: {len(above):>4} of {len(judged)}, {sum(above) / (len(above) or 1):.0%} kept"


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gauss and Jordan, with the largest pivot."""
    table = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(table)):
        pivot = max(range(i, len(table)), key=lambda r: abs(table[r][i]))
        table[i], table[pivot] = table[pivot], table[i]
        for r, row in enumerate(table):
            if r != i:
                factor = row[i] / table[i][i]
                table[r] = [a - factor * b for a, b in zip(row, table[i], strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(table)]


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)
        return 2
    work = partial(gathered, Path(arguments[0]), verdicts.known())
    with ProcessPoolExecutor() as workers:
        features = list(workers.map(work, [case for case in cases() if case.split != "held-out"]))
    print("RATES")
    for rule, rate in sorted(
        rates([one.shown for one in features]).items(), key=lambda pair: -pair[1]
    ):
        print(f'    "{rule}": {rate * SCALE:.2f},')
    said_ = weights([row for one in features for row in one.rows], list(digests.LIKELY))
    print("LIKELY of digests", *listed(said_), sep="\n    ")
    kept = [one.kept for one in features]
    rules = sorted(
        {
            name
            for rows_ in kept
            for row in rows_
            for name in row.properties
            if name.startswith("by ")
        }
    )
    fitted = weights([row for rows_ in kept for row in rows_], [*doubts.LIKELY, *rules])
    print("LIKELY of doubts", *listed({name: fitted[name] for name in doubts.LIKELY}), sep="\n    ")
    print(
        "BY_RULE", *listed({name.removeprefix("by "): fitted[name] for name in rules}), sep="\n    "
    )
    print(
        "kept by readers, of findings as likely as",
        *bounds(kept, [*doubts.LIKELY, *rules]),
        sep="\n",
    )
    return 0


def listed(weight: dict[str, float]) -> list[str]:
    return [f'"{name}": {value:.2f},' for name, value in weight.items()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
