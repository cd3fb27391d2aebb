"""What the project has learned about the feature: facts of its knowledge.md, word for word."""

from collections.abc import Iterator

from preread.dossier import markdown, sources
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.models import Fact

MAX_PROBLEMS = 3
FIRST = 6  # of the ranked sources and tests: a fact that cites one belongs to the feature
ABOUT = 0.5  # least relevance of a fact that neither cites one of them nor has the feature's name


def find(view: View) -> Iterator[Found]:
    """The facts that are about the feature or cite its files, in the order of the file."""
    if not view.knowledge:
        return
    draft, problems = markdown.parse("knowledge.md", "", view.knowledge)
    view.notes.extend(f".project/{problem}" for problem in problems[:MAX_PROBLEMS])
    own = {file.path for file in (*view.sources[:FIRST], *view.tests[:FIRST])}
    for section in draft.sections:
        for fact in (fact for fact in section.facts if fact.sources):
            about = view.relevance.of(fact.text, section.heading)
            named = view.relevance.has_feature(fact.text, section.heading)
            cites = _cites(fact, own)
            if named or cites or about >= ABOUT:
                yield Found(fact.text, fact.sources, 0.4 * named + 0.3 * cites + 0.3 * about)


def _cites(fact: Fact, paths: set[str]) -> bool:
    refs = map(sources.parse, fact.sources)
    return any(ref is not None and ref.path in paths for ref in refs)


RULE = Rule(
    name="knowledge",
    file="requirements.md",
    heading="Project knowledge",
    weight=0.12,
    find=find,
    example="stock first, money second: the charge comes after `reserve` (shop/checkout.py:77-85)",
)
