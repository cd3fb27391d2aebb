"""What a finding is worth in a dossier: by its rule, by its place among what the rule found, by what is told already.

The rates say how often a fact of a rule was one that a careful person had written down too, and how often it was judged
worth its line, on the tuning half of bench/claims; a rule seen seldom is drawn towards the usual. What people wrote
for the project, and what failed, is not weighed against anything.
"""

from collections import defaultdict
from collections.abc import Iterable

from preread.dossier import quotes
from preread.models import Finding

GIVEN = 0.9  # knowledge, tickets, failures
USUAL = 0.25
RATES: dict[str, float] = {
    "knowledge": GIVEN,
    "requirements": GIVEN,
    "failed": GIVEN,
    "unmentioned_options": 0.47,
    "tables": 0.45,
    "inside": 0.65,
    "unmentioned_texts": 0.40,
    "checks": 0.40,
    "steps": 0.2,
    "unmentioned_messages": 0.38,
    "documents_against_code": 0.36,
    "side_by_side": 0.3,
    "back_and_forth": 0.36,
    "twins": 0.36,
    "facades": 0.36,
    "inputs": 0.36,
    "modules": 0.36,
    "changed_arguments": 0.36,
    "unread_parameters": 0.36,
    "groups": 0.34,
    "helpers": 0.32,
    "reworked": 0.36,
    "formerly": 0.3,
    "fixed_functions": 0.3,
    "repeated_fixes": 0.42,
    "reverts": 0.30,
    "replaced_functions": 0.30,
    "unmentioned_codes": 0.30,
    "deprecated": 0.30,
    "warnings": 0.22,
    "changelog": 0.34,
    "commands": 0.26,
    "unmentioned_members": 0.20,
    "listed_again": 0.25,
    "fixtures": 0.25,
    "said_in_tests": 0.22,
    "turned_round": 0.15,
    "limits": 0.24,
    "keywords": 0.23,
    "unmentioned_symbols": 0.22,
    "marked": 0.20,
    "symbols": 0.15,
    "calls": 0.12,
    "companions": 0.16,
    "version_notes": 0.15,
    "hooks": 0.08,
    "example": 0.12,
    "constants": 0.10,
    "environment": 0.10,
    "routes": 0.20,
    "selectors": 0.20,
    "fixes": 0.18,
    "documents": 0.07,
    "callers": 0.06,
    "assertions": 0.05,
}
DECAY = 0.88  # each further fact of one rule is worth this much of the one before
DECAYS = {"symbols": 0.7, "groups": 0.95, "inside": 0.97, "changelog": 0.7, "reworked": 0.85, "repeated_fixes": 0.95}
OWN = 0.3  # how much a rule's own score of a finding counts beside its place
OWNS = {"inside": 1.0}  # where it says how much is to be expected
TOLD = 0.3  # what a finding is worth whose quotes others have told
LEAST, BEGINNING = 24, 40  # characters of a quote of several words that can be told twice, and by which it is known


def share(rule: str, place: int, score: float) -> float:
    """How much of its rule's rate a finding is worth, by its place among them and by its own score."""
    decay, own = 1.0 if RATES.get(rule) == GIVEN else DECAYS.get(rule, DECAY), OWNS.get(rule, OWN)
    return float(decay**place * (1 - own + own * min(1.0, score)))


def weighed(findings: Iterable[Finding]) -> list[Finding]:
    """The findings with their worth as their score, best first."""
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_rule[finding.rule].append(finding)
    scored = []
    for rule, own in by_rule.items():
        for place, finding in enumerate(sorted(own, key=lambda f: -f.score)):
            scored.append((RATES.get(rule, USUAL) * share(rule, place, finding.score), finding))
    scored.sort(key=lambda pair: -pair[0])
    told: set[str] = set()
    weighed_ = []
    for worth, finding in scored:
        said = {quote[:BEGINNING] for quote in quotes(finding.text) if len(quote) >= LEAST and " " in quote}
        again = sum(map(len, said & told)) * 2 >= sum(map(len, said)) > 0
        told |= said
        weighed_.append(finding.model_copy(update={"score": round(worth * (TOLD if again else 1.0), 4)}))
    return sorted(weighed_, key=lambda finding: -finding.score)
