"""Leave out the facts that a person's edit replaced, and those with sources that one corrected."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from preread.dossier import fact_text, markdown, sources
from preread.models import Draft, Fact, Fence, Verdict


def without_replaced(
    drafts: list[Draft],
    verdicts: list[Verdict],
    replaced: Mapping[str, str],
    subjects: Mapping[str, str],
) -> tuple[list[Draft], list[Verdict]]:
    """The drafts and verdicts without a build's facts that a person's valid fact replaces."""
    if not replaced:
        return drafts, verdicts
    valid = {
        fact_text.fact_id(verdict.file, verdict.fact.text)
        for verdict in verdicts
        if verdict.state != "unverified"
    }
    hidden = {
        id_
        for draft in drafts
        for id_, by in _replacements(draft, replaced, subjects)
        if by in valid
    }
    hidden -= {fact_text.fact_id(one.file, one.fact.text) for one in verdicts if one.by_person}
    left = [_without(draft, partial(_is_hidden, draft.name, hidden)) for draft in drafts]
    return left, [one for one in verdicts if not _is_hidden(one.file, hidden, one.fact)]


def without_corrected(
    drafts: list[Draft], verdicts: list[Verdict]
) -> tuple[list[Draft], list[Verdict]]:
    """The drafts and verdicts without the facts that have the words of a person's valid fact.

    Two files may have equal outlines, so the facts must also be about the same file.
    """
    of_people = {
        place
        for one in verdicts
        if one.by_person and one.state != "unverified"
        for place in _places(one)
    }
    hidden = {
        id(one.fact)
        for one in verdicts
        if not one.by_person and not of_people.isdisjoint(_places(one))
    }
    if not hidden:
        return drafts, verdicts
    left = [_without(draft, lambda item: id(item) in hidden) for draft in drafts]
    return left, [one for one in verdicts if id(one.fact) not in hidden]


def _places(verdict: Verdict) -> set[tuple[str, str]]:
    """A fact's id, with the file of its section and each one that it cites."""
    refs = map(sources.parse, verdict.fact.sources)
    files = {markdown.heading_source(verdict.section), *(ref.path for ref in refs if ref)}
    return {(fact_text.fact_id(verdict.file, verdict.fact.text), file) for file in files}


def _is_hidden(name: str, hidden: set[str], item: Fact | Fence) -> bool:
    return isinstance(item, Fact) and fact_text.fact_id(name, item.text) in hidden


def _without(draft: Draft, is_hidden: Callable[[Fact | Fence], bool]) -> Draft:
    left = []
    for section in draft.sections:
        items = [item for item in section.items if not is_hidden(item)]
        left += [replace(section, items=tuple(items))] if items else []
    return replace(draft, sections=tuple(left))


def _replacements(
    draft: Draft, replaced: Mapping[str, str], subjects: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The ids of the draft's facts that a person replaced, each with the id of the person's fact.

    One in another file only follows the last fact before a gap, and replaces nothing. A fact that
    differs from the replaced one only in numbers counts as replaced, too, if no other fact of the
    draft does; so does one that is about the same.
    """
    facts = {fact_text.fact_id(draft.name, fact.text): fact for fact in draft.facts}
    lasting = {
        id_: fact_text.lasting_id(draft.name, fact.text, fact.sources)
        for id_, fact in facts.items()
        if id_ not in replaced.values()
    }
    alike = Counter(lasting.values())
    for id_, kind in lasting.items():
        by = replaced.get(id_) or replaced.get(subjects.get(id_, ""))
        by = by or (replaced.get(kind) if alike[kind] == 1 else None)
        if by in facts:
            yield id_, by
