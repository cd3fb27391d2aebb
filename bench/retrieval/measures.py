"""Measures of one ranking, and their means with intervals.

acc@k all    1 when every changed source is among the first k (so 0 when there are more than k)
acc@k any    1 when one of them is
recall@k     the share of the changed sources, or tests, among the first k; tests only over cases
that changed one mrr          1 / rank of the first changed source, 0 beyond the tenth
"""

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from cases import Case
from systems import Ranking

NAMES = (
    *(f"acc@{k} all" for k in (1, 3, 5, 10)),
    *(f"acc@{k} any" for k in (1, 3, 5, 10)),
    "recall@5",
    "recall@10",
    "tests recall@5",
    "tests recall@10",
    "mrr",
)
RESAMPLES = 1000
Row = dict[str, float]


class Estimate(NamedTuple):
    """A mean with the bounds that 95 % of the resamples keep."""

    mean: float
    low: float
    high: float


def measured(ranking: Ranking, case: Case) -> Row:
    """Every measure of one case; those of tests are absent where it changed none."""
    ranks = [
        ranking.sources.index(path) + 1 if path in ranking.sources else 10**6
        for path in case.sources
    ]
    row: Row = {}
    for k in (1, 3, 5, 10):
        row[f"acc@{k} all"] = float(max(ranks) <= k)
        row[f"acc@{k} any"] = float(min(ranks) <= k)
    for k in (5, 10):
        row[f"recall@{k}"] = sum(rank <= k for rank in ranks) / len(ranks)
        if case.tests:
            row[f"tests recall@{k}"] = len(set(ranking.tests[:k]).intersection(case.tests)) / len(
                case.tests
            )
    row["mrr"] = 1 / min(ranks) if min(ranks) <= 10 else 0.0
    return row


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _estimate(mean: float, resampled: list[float]) -> Estimate:
    ordered = sorted(resampled)
    return Estimate(
        mean, ordered[int(0.025 * len(ordered))], ordered[int(0.975 * len(ordered)) - 1]
    )


def estimates(groups: dict[str, list[Row]], names: Sequence[str] = NAMES) -> dict[str, Estimate]:
    """The mean over repositories of each one's mean, cases resampled inside their repository; one
    group: its own.
    """
    found = {}
    for name in names:
        lists = [
            values
            for rows in groups.values()
            if (values := [row[name] for row in rows if name in row])
        ]
        chance = random.Random(f"preread {name}")  # the same draw each time
        resampled = [
            _mean([_mean(chance.choices(values, k=len(values))) for values in lists])
            for _ in range(RESAMPLES)
        ]
        found[name] = _estimate(_mean([_mean(values) for values in lists]), resampled)
    return found


def ratio(ours: dict[str, list[Row]], theirs: dict[str, list[Row]], name: str) -> Estimate:
    """Our mean by theirs, both over the same cases, resampled together."""
    pairs = []
    for repository, rows in ours.items():
        both = zip(rows, theirs[repository], strict=True)
        pairs.append([(a[name], b[name]) for a, b in both if name in a])
    pairs = [group for group in pairs if group]
    chance = random.Random(f"preread {name}")

    def of(drawn: list[list[tuple[float, float]]]) -> float:
        below = _mean([_mean([b for _, b in group]) for group in drawn])
        return (
            _mean([_mean([a for a, _ in group]) for group in drawn]) / below if below else math.nan
        )

    resampled = [
        of([chance.choices(group, k=len(group)) for group in pairs]) for _ in range(RESAMPLES)
    ]
    return _estimate(of(pairs), resampled)
