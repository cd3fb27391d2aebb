"""Which facts of a published file people wrote."""

from collections.abc import Mapping
from dataclasses import replace

from preread.dossier import fact_text, markdown, published
from preread.dossier.merged_sides import Sides
from preread.models import Draft, Fact, Manifest, Section


def written_by_people(name: str, text: str, manifest: Manifest, merged: Sides) -> Draft:
    """The facts of a published file that no build wrote, without duplicates.

    Facts with the same words and other sources are no duplicates, except after a merge: git keeps
    the lines of both branches.
    """
    draft = markdown.parse(name, manifest.feature, text)[0]
    is_merged = manifest.files.get(name) == ""
    theirs: dict[str, dict[fact_text.FactKey, Fact]] = {}  # by their words
    homes: dict[int, Section] = {}  # by the lines of facts that belong to other sections
    for _, _, written in markdown.all_facts([draft]):
        home, fact = _on_its_side(name, written, merged) or (None, written)
        if home is not None:
            homes[fact.line] = replace(home, items=(fact,))
        if _is_by_a_person(name, fact, manifest, merged):
            key = fact_text.fact_key(name, fact)
            theirs.setdefault(key[0], {})[key] = fact
    chosen = {
        fact.line
        for id_, same in theirs.items()
        if id_ not in merged.taken_out
        for fact in (_of_one_side(same, manifest, merged) if is_merged else same.values())
    }
    here = chosen - homes.keys()
    sections = [
        replace(section, items=tuple(one for one in section.facts if one.line in here))
        for section in draft.sections
    ]
    sections += [home for line, home in homes.items() if line in chosen]
    return replace(draft, sections=tuple(sections))


def _is_by_a_person(name: str, fact: Fact, manifest: Manifest, merged: Sides) -> bool:
    key = fact_text.fact_key(name, fact)
    if key in merged.superseded:
        return False
    return key in merged.of_people or not published.is_built(manifest, name, fact)


def _on_its_side(name: str, fact: Fact, merged: Sides) -> tuple[Section, Fact] | None:
    """The fact with the section and sources that it has on a side of a merge; None if as there.

    Git's union can put a line below the heading of another file, to which its short sources then
    belong.
    """
    key = fact_text.fact_key(name, fact)
    if any(key in side.facts for side in merged.sides):
        return None
    lines = [source.rpartition(":")[2] for source in fact.sources]
    found = {
        one.sources: (section, replace(fact, sources=one.sources))
        for side in merged.sides
        for (id_, _), (section, one) in side.facts.items()
        if id_ == key[0] and [source.rpartition(":")[2] for source in one.sources] == lines
    }
    return found.popitem()[1] if len(found) == 1 else None


def _of_one_side(
    same: Mapping[fact_text.FactKey, Fact], manifest: Manifest, merged: Sides
) -> list[Fact]:
    """Of facts with the same words in a merged file those of one side.

    That is the one that has more of them, or else the one whose sources the manifest knows.
    """
    known = sorted(same.items(), key=lambda one: manifest.spans.keys() >= one[0][1])
    sides = [[fact for key, fact in known if key in side.facts] for side in merged.sides]
    return max(sides, key=len, default=[]) if any(len(one) > 1 for one in sides) else [known[-1][1]]
