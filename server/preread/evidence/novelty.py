"""Findings about what a description asks for and an earlier one did not."""

import math
from collections.abc import Iterable

from preread.evidence.relevance import FULL
from preread.evidence.view import View
from preread.index import words
from preread.models import Finding

MIN_SHARE = 0.3  # of the weight of the new words: one of the three that weigh most is enough


def novel_findings(view: View, findings: Iterable[Finding], earlier: str) -> list[Finding]:
    """The findings about words that `earlier` lacks, the most relevant first."""
    new = words.stems_of(view.request.description) - words.stems_of(earlier)
    new -= view.relevance.feature
    weights = {stem: weight for stem, weight in view.relevance.weights.items() if stem in new}
    enough = MIN_SHARE * sum(sorted(weights.values(), reverse=True)[:FULL])

    def share(finding: Finding) -> float:
        texts = (finding.section, finding.text, *finding.sources)
        held = frozenset().union(*map(view.relevance.stems_in, texts))
        return math.fsum(weights.get(stem, 0.0) for stem in held)  # exact in any order

    scored = [(share(finding), finding) for finding in findings]
    about = [pair for pair in scored if pair[0] and pair[0] >= enough]
    return [finding for _, finding in sorted(about, key=lambda p: (-p[0], -p[1].score))]
