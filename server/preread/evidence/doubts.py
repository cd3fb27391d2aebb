"""Doubts: how likely it is that a reader keeps a finding, by its rule, its worth and how much of the request it holds.

The weights are those of a logistic model of readers' verdicts on what was built for the tuning features of
bench/claims, where fit.py fits them.
"""

import math

from preread.evidence import words
from preread.evidence.nearness import Nearness, nearness, share
from preread.evidence.view import View
from preread.evidence.worth import GIVEN, RATES
from preread.models import Finding

LIKELY: dict[str, float] = {"": 2.0, "worth": 0.6, "named": 0.4, "told": 0.8}
BY_RULE: dict[str, float] = {}
LEAST = 0.005  # of a worth, whose logarithm counts
TELLING, USUAL = 6.0, 0.4  # what the description's words have to tell to count whole; where there is no description


def properties(view: View, finding: Finding) -> dict[str, float]:
    """What a finding is judged by: its worth as weighed, and its share of the feature's name and description."""
    near = nearness(view)
    paths = (source for source in finding.sources if not source.startswith(("absent:", "commit:")))
    held = words.stems_of(" ".join((finding.text, *paths)))
    return {
        "": 1.0,
        "worth": math.log(max(finding.score, LEAST)),
        "named": 1.0 if view.whole_project else share(near.own, held),
        "told": _told(near, held),
    }


def _told(near: Nearness, held: frozenset[str]) -> float:
    if not near.also:
        return USUAL
    return min(1.0, sum(worth for stem, worth in near.also.items() if stem in held) / TELLING)


def sure(view: View, finding: Finding) -> float:
    """How likely a reader keeps it, 0 to 1; what people gave is not doubted."""
    if RATES.get(finding.rule) == GIVEN:
        return 1.0
    sum_ = BY_RULE.get(finding.rule, 0.0)
    sum_ += sum(LIKELY[name] * value for name, value in properties(view, finding).items())
    return round(1 / (1 + math.exp(-sum_)), 3)
