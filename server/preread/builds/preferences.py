"""What the budget of a dossier prefers."""

import re
from collections.abc import Iterable, Iterator

from preread import check
from preread.builds.build_plan import Plan
from preread.check import People
from preread.check.budget import DRAFTED, PUBLISHED
from preread.dossier import fact_text, markdown
from preread.models import Draft, Evidence, Fact, Fence

MAX_PEOPLES_FACTS = 6  # facts on somebody's word alone that rank before the others


def ranks(evidence: Evidence) -> dict[str, float]:
    """The rank of each finding for the budget."""
    only_people = _known_only_to_people(evidence)
    return {one.text: one.score + (one.text in only_people) for one in evidence.findings}


def bonus(plan: Plan, evidence: Evidence, drafts: Iterable[Draft]) -> dict[str, float]:
    """What a refresh adds to the ranks: it prefers what is published, and what only people know."""
    if plan.how != "refreshed":
        return {}
    known = {_shape(item.text) for item in _items(plan.published_drafts)}
    same = {text for item in _items(drafts) if _shape(text := item.text) in known}
    by_model = {item.text for item in _items(plan.kept)}
    same |= _known_only_to_people(evidence)
    return dict.fromkeys(same, PUBLISHED) | dict.fromkeys(by_model, DRAFTED)


def of_conflicts(drafts: Iterable[Draft], people: People) -> dict[str, float]:
    """What the ranks get of facts that people edited: if theirs is not true, both are shown."""
    facts = ((draft.name, fact.text) for draft, _, fact in markdown.all_facts(drafts))
    return {
        text: DRAFTED for name, text in facts if fact_text.fact_id(name, text) in people.replaced
    }


def _items(drafts: Iterable[Draft]) -> Iterator[Fact | Fence]:
    return (item for draft in drafts for section in draft.sections for item in section.items)


def _known_only_to_people(evidence: Evidence) -> set[str]:
    """The best facts that only people could know: nothing else has them, so they are kept first."""
    said = [one for one in evidence.findings if check.only_said(one.sources)]
    return {one.text for one in sorted(said, key=lambda one: -one.score)[:MAX_PEOPLES_FACTS]}


def _shape(text: str) -> str:
    """A fact's text without its numbers: lines and counts change as the code does."""
    return re.sub(r"\d+", "0", text)
