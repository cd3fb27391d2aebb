"""How many hand-written facts a choice of quotations could have: the best one, and the likeliest one.

    PYTHONPATH=server python bench/claims/ceiling.py CLONES

Everything that stands near each tuning feature is a candidate: in the sources, tests and documents that are ranked
first every three lines in a row, every comment, every test's name, and the commits that belong to the feature. The best
choice has the facts that any candidate has by match.py. The likeliest choice takes the first so many by a logistic
model of a few properties, fitted to the other features. Beside it stands what it would cost in a dossier, in tokens.
"""

import importlib
import re
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from fit import Row, chance, having, weights
from gold import Case, cases, read, tree_of
from match import said
from preread.evidence.nearness import nearness
from score import scratch

from preread import dossier
from preread.evidence import digests, saying
from preread.evidence.view import FileView, View
from preread.index import indexer
from preread.infra import db
from preread.layout import Layout
from preread.models import Request
from preread.project.tree import Tree
from preread.services import Services
from preread.settings import load

FILES = {"source": 10, "test": 15, "doc": 10}
LONGEST, COMMITS = 6000, 400  # lines of a file that is looked at; commits
WINDOW, MOST = 3, 400  # lines in a row; characters of a candidate
FOLDS, EVERY = (
    4,
    20,
)  # fits, each without its share of the features; of what has no fact one in so many is fitted to
TAKEN = (30, 60, 120, 200, 300, 500, 1000)
CONDITION = re.compile(r"\b(?:if|unless|when|case|match|while|elif|else)\b|\?")


class Candidate(NamedTuple):
    """One thing that could be told, as it would be told, with the hand-written facts that it has."""

    properties: dict[str, float]
    place: str
    tokens: int
    gold: frozenset[int]


class Feature(NamedTuple):
    """A feature's hand-written facts, counted, and its candidates."""

    facts: int
    candidates: list[Candidate]


def gathered(clones: Path, case: Case) -> Feature:
    with tempfile.TemporaryDirectory() as folder:
        root = scratch(clones / case.clone, folder)
        layout = Layout(root.resolve())
        services = Services(layout, load(layout, {}, {}))
        request = Request(feature=case.feature, description=case.description)
        rules = importlib.import_module("preread.evidence.collect")
        tree = tree_of(root)

        def work(connection: sqlite3.Connection) -> Feature:
            view = rules._viewed(services, request, connection)[0]
            return Feature(len(read(case)[0]), list(candidates(view, case, tree)))

        indexer.update(services)
        return db.use(layout, work)


def candidates(view: View, case: Case, tree: Tree) -> Iterator[Candidate]:
    gold = [said(fact.text, fact.sources, tree) for fact in read(case)[0]]
    for text, source, place, properties in everything(view):
        told = text[:MOST]
        about = {
            "": 1.0,
            "says": nearness(view).of(told),
            "long": len(told) / MOST,
            "warns": float(saying.STRONG.search(told) is not None),
            "negates": float(digests.QUALIFIED.search(told) is not None),
            "fails": float(digests.FAILS.search(told) is not None),
            "decides": float(CONDITION.search(told) is not None),
        }
        cost = dossier.tokens(f"- {told} ({source.rpartition('/')[2]})\n")
        yield Candidate(about | properties, place, cost, having(told, (source,), gold, tree))


def everything(view: View) -> Iterator[tuple[str, str, str, dict[str, float]]]:
    """Each thing's text, source, place (one is told of each), and the properties of its place."""
    for files, role in ((view.sources, "source"), (view.tests, "test"), (view.docs, "doc")):
        for file in files[: FILES[role]]:
            if len(file.lines) <= LONGEST:
                yield from of_file(view, file, role)
    for commit in view.told[:COMMITS]:
        yield commit.subject, f"commit:{commit.sha}", commit.sha, {"commit": 1.0}


def of_file(
    view: View, file: FileView, role: str
) -> Iterator[tuple[str, str, str, dict[str, float]]]:
    measure = nearness(view)
    at = {role: 1.0, f"{role} score": file.score, "home": min(1.0, view.relevance(file.path))}
    for case in file.outline.tests:
        name = f"{case.group} {case.name}".strip()
        yield (
            f"`{name}`",
            file.cite(case.start, case.end),
            f"{file.path} {case.start}",
            at | {"name": 1.0},
        )
    for comment in file.details.comments if role != "doc" else ():
        heat = view.heat(file, comment.end + 1) if role == "source" else 0.0
        told = f"`{comment.within}`: `{' '.join(comment.text.split())}`"
        about = at | {"comment": 1.0, "heat": heat, "named": measure.of(comment.within)}
        yield told, file.cite(comment.start, comment.end), f"{file.path} {comment.start}", about
    for number in range(1, len(file.lines) + 1):
        if len(file.lines[number - 1].strip()) < saying.FEWEST:
            continue
        last = min(number + WINDOW - 1, len(file.lines))
        inside = [
            one
            for one in file.outline.symbols
            if one.start <= number <= one.end and one.kind != "heading"
        ]
        name = min(inside, key=lambda one: one.end - one.start).name if inside else ""
        heat = view.heat(file, number) if role == "source" else 0.0
        told = f"`{name}`: `{' '.join(' '.join(file.lines[number - 1 : last]).split())}`"
        about = at | {
            "heat": heat,
            "named": measure.of(name) if name else 0.0,
            "within": float(bool(name)),
        }
        yield told, file.cite(number, last), f"{file.path} {(number - 1) // WINDOW}", about


def likeliest(features: list[Feature], fold: int) -> dict[str, float]:
    """The weights of the model by the features that are not in a fold."""
    rows, seen = [], 0
    for n, feature in enumerate(features):
        for one in feature.candidates if n % FOLDS != fold else ():
            seen += not one.gold
            if one.gold or seen % EVERY == 0:
                rows.append(Row(one.properties, float(bool(one.gold))))
    return weights(rows, sorted({name for row in rows for name in row.properties}))


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)
        return 2
    with ProcessPoolExecutor(2) as workers:
        tuning = [case for case in cases() if case.split == "tuning"]
        features = list(workers.map(partial(gathered, Path(arguments[0])), tuning))
        models = list(workers.map(partial(likeliest, features), range(FOLDS)))
    facts = sum(feature.facts for feature in features)
    has = sum(
        len(frozenset().union(*(one.gold for one in feature.candidates))) for feature in features
    )
    print(
        f"{sum(len(feature.candidates) for feature in features) / len(features):.0f} candidates a feature"
    )
    print(f"the best choice has {has} of {facts} ({has / facts:.0%})")
    ordered = []
    for n, feature in enumerate(features):
        first: dict[str, Candidate] = {}
        for one in sorted(
            feature.candidates, key=lambda c: -chance(models[n % FOLDS], Row(c.properties, 0.0))
        ):
            first.setdefault(one.place, one)
        ordered.append(list(first.values()))
    for most in TAKEN:
        taken = [one[:most] for one in ordered]
        found = sum(len(frozenset().union(*(c.gold for c in one))) for one in taken)
        tokens = sum(c.tokens for one in taken for c in one) / len(taken)
        print(
            f"  the likeliest {most:>4}: {found:>4} ({found / facts:.0%}), {tokens:,.0f} tokens a feature"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
