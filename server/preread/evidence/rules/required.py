"""What the loaded documents say about the feature, requirements first, word for word."""

import re
from collections.abc import Iterator

from preread import passages
from preread.evidence import quoting
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View

MAX_PARTS, MAX_FOUND = 12, 10
MIN_ABOUT = 0.5  # of a sentence that has not the feature's whole name
DEMAND = re.compile(r"\b(?:must|shall|should|required?|requires|may not|cannot|MUST|SHALL)\b")


def find(view: View) -> Iterator[Found]:
    """The sentences that are about the feature; those that demand something come first."""
    if view.whole_project:
        return
    found = []
    for passage in passages.search(view.services, " ".join(view.query.all), MAX_PARTS):
        for _, sentence in passages.sentences(passage.part):
            about = max(view.relevance.of(sentence), view.relevance.has_feature(sentence))
            quoted = quoting.whole(sentence, passages.MAX_SENTENCE)
            if quoted and about >= MIN_ABOUT:
                score = 0.5 * bool(DEMAND.search(sentence)) + 0.5 * about
                found.append(Found(quoted, (passage.source,), score))
    yield from sorted(found, key=lambda one: -one.score)[:MAX_FOUND]


RULE = Rule(
    name="required",
    file="requirements.md",
    heading="Loaded documents",
    weight=0.12,
    find=find,
    for_thin=True,
    example="`A refund must reach the customer within 14 days.` (doc:docs/till.pdf#p2)",
)
