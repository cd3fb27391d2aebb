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

LIKELY: dict[str, float] = {
    "": 2.36,
    "worth": 0.81,
    "named": 0.86,
    "told": 0.87,
}
BY_RULE: dict[str, float] = {
    "assertions": 0.62,
    "callers": 0.13,
    "calls": 0.02,
    "changed_arguments": 0.06,
    "changelog": -0.20,
    "checks": 0.80,
    "commands": 1.46,
    "companions": 0.17,
    "constants": -0.33,
    "deprecated": 0.19,
    "documents": -0.37,
    "environment": -0.02,
    "facades": 0.04,
    "fixed_functions": -0.25,
    "fixes": -0.45,
    "fixtures": 0.29,
    "formerly": -0.84,
    "groups": 1.01,
    "helpers": 0.55,
    "hooks": -1.13,
    "inputs": 0.11,
    "inside": -0.52,
    "keywords": -0.77,
    "limits": 0.01,
    "listed_again": -0.23,
    "marked": -0.16,
    "modules": 0.03,
    "repeated_fixes": -0.19,
    "replaced_functions": 0.11,
    "replaced_sleeps": 0.33,
    "reverts": 0.24,
    "reworked": 0.27,
    "said_in_tests": 0.12,
    "side_by_side": -1.12,
    "steps": 0.10,
    "symbols": 0.28,
    "tables": 0.11,
    "turned_round": 0.05,
    "twins": 0.20,
    "unmentioned_codes": 0.06,
    "unmentioned_members": -0.32,
    "unmentioned_messages": -0.47,
    "unmentioned_options": -0.27,
    "unmentioned_symbols": -0.07,
    "unmentioned_texts": -0.16,
    "version_notes": 0.39,
    "warnings": 0.11,
}
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
