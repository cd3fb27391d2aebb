"""What a finding is worth in a dossier: by its rule, by its place among what the rule found, by what is told already.

The rates say how many hand-written facts a finding of a rule has that none before it has, on the tuning half of
bench/claims, where fit.py fits them; a rule seen seldom is drawn towards the usual, and one never seen keeps what it
was given. What people wrote for the project, and what failed, is not weighed against anything.
"""

from collections import defaultdict
from collections.abc import Iterable

from preread.dossier import quotes
from preread.models import Finding

GIVEN = 0.9  # knowledge, tickets, failures
USUAL = 0.13
RATES: dict[str, float] = {
    "knowledge": GIVEN,
    "requirements": GIVEN,
    "failed": GIVEN,
    "inside": 0.75,
    "unmentioned_members": 0.37,
    "unmentioned_messages": 0.35,
    "reverts": 0.33,
    "tables": 0.31,
    "documents_against_code": 0.30,
    "back_and_forth": 0.30,
    "repeated_fixes": 0.29,
    "changed_arguments": 0.28,
    "steps": 0.27,
    "groups": 0.24,
    "formerly": 0.23,
    "facades": 0.22,
    "modules": 0.22,
    "unmentioned_codes": 0.22,
    "avoided": 0.22,
    "helpers": 0.21,
    "unmentioned_options": 0.21,
    "said_in_tests": 0.19,
    "replaced_functions": 0.18,
    "fixes": 0.18,
    "unmentioned_symbols": 0.16,
    "side_by_side": 0.15,
    "fixtures": 0.14,
    "deprecated": 0.14,
    "listed_again": 0.14,
    "unmentioned_texts": 0.13,
    "checks": 0.12,
    "unread_parameters": 0.11,
    "documents": 0.11,
    "marked": 0.11,
    "changelog": 0.11,
    "warnings": 0.11,
    "replaced_sleeps": 0.11,
    "version_notes": 0.10,
    "calls": 0.10,
    "inputs": 0.09,
    "hooks": 0.09,
    "turned_round": 0.08,
    "limits": 0.08,
    "commands": 0.08,
    "reworked": 0.08,
    "routes": 0.07,
    "fixed_functions": 0.06,
    "twins": 0.06,
    "companions": 0.06,
    "constants": 0.06,
    "selectors": 0.06,
    "environment": 0.06,
    "symbols": 0.06,
    "keywords": 0.05,
    "example": 0.04,
    "mains": 0.04,
    "assertions": 0.02,
    "callers": 0.01,
}
DECAY = 0.88  # each further fact of one rule is worth this much of the one before
DECAYS = {
    "symbols": 0.7,
    "groups": 0.95,
    "inside": 0.97,
    "changelog": 0.7,
    "reworked": 0.85,
    "repeated_fixes": 0.8,
}
OWN = 0.3  # how much a rule's own score of a finding counts beside its place
OF_GIVEN = 0.1  # so little that what people gave stays above all others
OWNS = {"inside": 1.0}  # where it says how much is to be expected
TOLD = 0.3  # what a finding is worth whose quotes others have told
LEAST, BEGINNING = (
    24,
    70,
)  # characters of a quote of several words that can be told twice, and by which it is known


def share(rule: str, place: int, score: float) -> float:
    """How much of its rule's rate a finding is worth, by its place among them and by its own score."""
    given = RATES.get(rule) == GIVEN
    decay, own = (
        1.0 if given else DECAYS.get(rule, DECAY),
        OF_GIVEN if given else OWNS.get(rule, OWN),
    )
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
        said = {
            quote[:BEGINNING]
            for quote in quotes(finding.text)
            if len(quote) >= LEAST and " " in quote
        }
        again = sum(map(len, said & told)) * 2 >= sum(map(len, said)) > 0
        told |= said
        weighed_.append(
            finding.model_copy(update={"score": round(worth * (TOLD if again else 1.0), 4)})
        )
    return sorted(weighed_, key=lambda finding: -finding.score)
