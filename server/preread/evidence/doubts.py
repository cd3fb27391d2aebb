"""Doubts: how likely it is that a reader keeps a finding, by its rule, its worth and how much of the request it holds.

The weights are those of a logistic model of readers' verdicts on what was built for the tuning features of
bench/claims, where fit.py fits them.
"""

import math

from preread.evidence.nearness import Nearness, nearness, share
from preread.evidence.view import View
from preread.evidence.worth import GIVEN, RATES
from preread.index import words
from preread.models import Finding

LIKELY: dict[str, float] = {
    "": 2.35,
    "worth": 0.79,
    "named": 0.94,
    "told": 1.03,
}
BY_RULE: dict[str, float] = {
    "assertions": 0.81,
    "callers": 0.06,
    "calls": -0.03,
    "changed_arguments": 0.08,
    "changelog": -0.17,
    "checks": 0.97,
    "commands": 1.72,
    "companions": 0.16,
    "constants": -0.49,
    "deprecated": 0.17,
    "documents": -0.37,
    "environment": -0.05,
    "facades": 0.04,
    "fixed_functions": -0.24,
    "fixes": -0.72,
    "fixtures": 0.51,
    "formerly": -0.79,
    "groups": 0.89,
    "helpers": 0.33,
    "hooks": -1.25,
    "inputs": 0.10,
    "inside": -0.88,
    "keywords": -0.09,
    "limits": -0.17,
    "listed_again": -0.16,
    "marked": 0.09,
    "modules": 0.02,
    "repeated_fixes": -1.06,
    "replaced_functions": 0.10,
    "replaced_sleeps": 0.18,
    "reverts": 0.27,
    "reworked": 0.48,
    "said_in_tests": -0.53,
    "side_by_side": -0.26,
    "steps": -0.17,
    "symbols": 0.47,
    "tables": 0.10,
    "turned_round": -0.33,
    "twins": 0.27,
    "unmentioned_codes": 0.06,
    "unmentioned_members": 0.11,
    "unmentioned_messages": -0.22,
    "unmentioned_options": -0.23,
    "unmentioned_symbols": 0.33,
    "unmentioned_texts": -0.12,
    "version_notes": 0.10,
    "warnings": -0.10,
}
LEAST = 0.005  # of a worth, whose logarithm counts
TELLING, USUAL = (
    6.0,
    0.4,
)  # what the description's words have to tell to count whole; where there is no description


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
