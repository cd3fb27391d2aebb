"""Leave out the facts that a person's edit replaced."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from preread.dossier import fact_text
from preread.models import Draft, Fact, Fence, Verdict


def without_replaced(
    drafts: list[Draft], verdicts: list[Verdict], replaced: Mapping[str, str]
) -> tuple[list[Draft], list[Verdict]]:
    """The drafts and verdicts without the facts that a person's valid fact replaces."""
    if not replaced:
        return drafts, verdicts
    valid = {
        fact_text.fact_id(verdict.file, verdict.fact.text)
        for verdict in verdicts
        if verdict.state != "unverified"
    }
    hidden = {id_ for draft in drafts for id_, by in _replacements(draft, replaced) if by in valid}
    left = [_without(draft, hidden) for draft in drafts]
    return left, [one for one in verdicts if not _is_hidden(one.file, one.fact, hidden)]


def _is_hidden(name: str, item: Fact | Fence, hidden: set[str]) -> bool:
    return isinstance(item, Fact) and fact_text.fact_id(name, item.text) in hidden


def _without(draft: Draft, hidden: set[str]) -> Draft:
    sections = []
    for section in draft.sections:
        items = [item for item in section.items if not _is_hidden(draft.name, item, hidden)]
        sections += [replace(section, items=tuple(items))] if items else []
    return replace(draft, sections=tuple(sections))


def _replacements(draft: Draft, replaced: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The ids of the draft's facts that a person replaced, each with the id of the person's fact.

    One in another file only follows the last fact before a gap, and replaces nothing. A fact that
    differs from the replaced one only in numbers counts as replaced, too, if no other fact of the
    draft does.
    """
    facts = {fact_text.fact_id(draft.name, fact.text): fact for fact in draft.facts}
    lasting = {
        id_: fact_text.lasting_id(draft.name, fact.text, fact.sources)
        for id_, fact in facts.items()
        if id_ not in replaced.values()
    }
    alike = Counter(lasting.values())
    for id_, kind in lasting.items():
        by = replaced.get(id_) or (replaced.get(kind) if alike[kind] == 1 else None)
        if by in facts:
            yield id_, by
