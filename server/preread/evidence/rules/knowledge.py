"""What the project has learned about the feature: facts of its knowledge.md, word for word."""

from collections.abc import Iterator

from preread.dossier import markdown, sources
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View

MAX_PROBLEMS = 3
FIRST = 6  # of the ranked sources and tests: a fact that cites one is the feature's
ABOUT = 0.5  # of a fact that cites none of them and has not the feature's whole name


def find(view: View) -> Iterator[Found]:
    """The facts that are about the feature or cite its files, in the order they are kept in."""
    if not view.knowledge:
        return
    draft, problems = markdown.parse("knowledge.md", "", view.knowledge)
    view.notes.extend(f".project/{problem}" for problem in problems[:MAX_PROBLEMS])
    own = {file.path for file in (*view.sources[:FIRST], *view.tests[:FIRST])}
    for section in draft.sections:
        for fact in section.facts:
            about = view.relevance.of(fact.text, section.heading)
            named = view.relevance.has_feature(fact.text, section.heading)
            refs = [sources.parse(source) for source in fact.sources]
            cites = any(ref is not None and ref.path in own for ref in refs)
            if fact.sources and (named or cites or about >= ABOUT):
                yield Found(fact.text, fact.sources, 0.4 * named + 0.3 * cites + 0.3 * about)


RULE = Rule(
    name="knowledge",
    file="requirements.md",
    heading="Project knowledge",
    weight=0.12,
    find=find,
    example="stock first, money second: the charge comes after `reserve` (shop/checkout.py:77-85)",
)
