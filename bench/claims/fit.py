"""What findings and the things that passages say are worth, fitted on the tuning half: the tables that rules go by.

    PYTHONPATH=server python bench/claims/fit.py CLONES

Prints RATES for server/preread/evidence/worth.py: how many hand-written facts a finding of each rule has that none
before it has, in the order in which findings are taken, drawn towards the usual where a rule is seen seldom. And LIKELY
for digests.py: the weights of a logistic model of whether one condition, statement or remark is in a hand-written fact.
Both are to be judged on what was not fitted.
"""

import importlib
import math
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gold import Case, cases, read, tree_of
from match import Said, agreement, said
from score import FOUND, scratch

from preread import db, dossier
from preread.evidence import digests, index, worth
from preread.evidence.passages import passages
from preread.evidence.view import View
from preread.layout import Layout
from preread.models import Finding, Request
from preread.services import Services
from preread.settings import load
from preread.tree import Tree

PRIOR, SEEN = 0.25, 4  # what a rule is drawn towards, and as if it had been seen so often
FIRST, PASSES = 8, 3  # findings of a rule that are looked at; rounds, as the order depends on the rates
SCALE = 0.53  # keeps what people gave above all others
FAIR, DEAR = 40, 0.6  # as in validate/budget.py
PULL, ROUNDS = 2.0, 40  # of the model's weights towards 0; steps to find them


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


def gathered(root: Path, case: Case) -> tuple[list[Shown], list[Row]]:
    layout = Layout(root.resolve())
    services = Services(layout, load(layout, {}, {}))
    request = Request(feature=case.feature, description=case.description)
    rules = importlib.import_module("preread.evidence.collect")
    tree = tree_of(root)
    gold = [said(fact.text, fact.sources, tree) for fact in read(case)[0]]

    def work(connection: sqlite3.Connection) -> tuple[list[Shown], list[Row]]:
        view = rules._viewed(services, request, connection)[0]
        findings = [finding for rule in rules.RULES for finding in rule(view)]
        return list(shown(findings, gold, tree)), list(rows(view, gold, tree))

    index.update(services)
    return db.use(layout, work)


def having(text: str, sources: tuple[str, ...], gold: list[Said], tree: Tree) -> frozenset[int]:
    built = said(text, sources, tree)
    return frozenset(i for i, one in enumerate(gold) if agreement(one, built) in FOUND)


def shown(findings: list[Finding], gold: list[Said], tree: Tree) -> Iterator[Shown]:
    places: Counter[str] = Counter()
    for finding in sorted(findings, key=lambda f: -f.score):
        place = places[finding.rule]
        places[finding.rule] += 1
        if worth.RATES.get(finding.rule) == worth.GIVEN or finding.kind in {"example", "command"} or place >= FIRST:
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


def rates(features: list[list[Shown]]) -> dict[str, float]:
    """What a finding of each rule is worth: the facts that only it has, for each whole finding of the rule."""
    found = {one.rule: PRIOR for findings in features for one in findings}
    for _ in range(PASSES):
        new: Counter[str] = Counter()
        seen: dict[str, float] = {}
        for findings in features:
            had: frozenset[int] = frozenset()
            for one in sorted(findings, key=lambda o: -found[o.rule] * o.share * (FAIR / max(o.cost, 1)) ** DEAR):
                new[one.rule] += len(one.gold - had)
                seen[one.rule] = seen.get(one.rule, 0.0) + one.share
                had |= one.gold
        found = {rule: (new[rule] + PRIOR * SEEN) / (seen[rule] + SEEN) for rule in seen}
    return found


def weights(data: list[Row]) -> dict[str, float]:
    """The weights of a logistic model, by Newton's steps, drawn towards 0 but for the constant."""
    names = list(digests.LIKELY)
    weight = [0.0] * len(names)
    vectors = [[row.properties[name] for name in names] for row in data]
    for _ in range(ROUNDS):
        slope = [-PULL * w if name else 0.0 for name, w in zip(names, weight, strict=True)]
        bend = [[(PULL if names[i] else 1e-6) * (i == j) for j in range(len(names))] for i in range(len(names))]
        for vector, row in zip(vectors, data, strict=True):
            chance = 1 / (1 + math.exp(-sum(map(float.__mul__, weight, vector))))
            for i, x in enumerate(vector):
                slope[i] += (row.found - chance) * x
                for j, y in enumerate(vector) if x else ():
                    bend[i][j] += chance * (1 - chance) * x * y
        weight = [w + step for w, step in zip(weight, solved(bend, slope), strict=True)]
    return dict(zip(names, weight, strict=True))


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
    features, data = [], []
    for case in cases():
        if case.split == "tuning":
            with tempfile.TemporaryDirectory() as folder:
                findings, things = gathered(scratch(Path(arguments[0]) / case.clone, folder), case)
            features.append(findings)
            data += things
    print("RATES")
    for rule, rate in sorted(rates(features).items(), key=lambda pair: -pair[1]):
        print(f'    "{rule}": {rate * SCALE:.2f},')
    print("LIKELY")
    print("   ", ", ".join(f'"{name}": {weight:.2f}' for name, weight in weights(data).items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
