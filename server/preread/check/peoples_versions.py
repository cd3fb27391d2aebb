"""Which of people's facts count instead of which of a build's: their own versions of these."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import product

from preread.check.where_written import WhereWritten
from preread.dossier import fact_changes, fact_history, fact_text, markdown, sources
from preread.dossier.fact_changes import Known
from preread.dossier.published import Published
from preread.layout import BY_NAME, FILES
from preread.models import Draft, Manifest


def replaced(
    current: Published,
    of_sides: Iterable[Manifest],
    new_ids: Mapping[str, str],
    where_written: WhereWritten,
) -> dict[str, str]:
    """Ids and lasting ids of builds' facts -> ids of the people's facts that replaced them.

    A person's fact is where the build's fact was, or is a later version of such a fact.
    `of_sides`: the manifests that git merged, which may name different versions.
    `new_ids`: id of each published fact of a person -> its id with current sources.
    """
    manifest = current.manifest or Manifest(feature="")
    later: dict[str, str] = {}
    for name in current.edited:
        facts = fact_history.facts_in({name: current.texts.get(name, "")}, manifest.feature)
        shown = {one.id: one for one in facts.values()}
        old = {one.id: one for one in _facts_before(name, manifest, where_written)}
        later |= _versions(old, shown, new_ids)
    found = {
        id_: new_ids[now]
        for one in (*of_sides, manifest)
        for id_, by in one.replaced.items()
        if (now := later.get(by, by)) in new_ids and new_ids[now] != id_
    }
    current_ids = {*new_ids.values()}
    for id_ in later.keys() & {*manifest.facts}:
        is_back = id_ in current_ids  # a person's numbers are the build's again
        found[id_] = id_ if is_back else new_ids[later[id_]]
    return found


def _facts_before(name: str, manifest: Manifest, where_written: WhereWritten) -> list[Known]:
    """A file's facts when it was last published, in order; if unknown, those of the manifest.

    Of these, only the id is sure to be known.
    """
    facts = where_written.facts_before(name)
    if facts is not None:
        return facts
    found, file = [], FILES[0].name
    for id_ in manifest.order or manifest.facts:
        known = where_written.ever_known.get(id_)
        file = id_ if id_ in BY_NAME else known.file if known is not None else file
        if file == name and id_ not in BY_NAME:
            found.append(known or Known(id=id_, file=file, text="", sources=()))
    return found


def _versions(
    old: Mapping[str, Known], shown: Mapping[str, Known], new_ids: Collection[str]
) -> dict[str, str]:
    """Ids of a file's facts that are gone -> ids of people's new facts that replaced them.

    A new fact is between the same neighbours as the old one. If other facts were added or deleted
    there, too, the one with similar words counts; so it does anywhere else in the file. Else, each
    replaces one fact, and the others that it says, too.
    """
    new = {gap: [one for one in facts if one.id in new_ids]
           for gap, facts in _by_gap(shown.values(), old).items()}  # fmt: skip
    places = [(gone, new.get(gap, [])) for gap, gone in _by_gap(old.values(), shown).items()]
    found: dict[str, str] = {}
    for gone, theirs in places:
        is_clear = len(gone) == len(theirs)
        pairs = zip(gone, theirs, strict=True) if is_clear else _similar(gone, theirs)
        found |= {was.id: now.id for was, now in pairs}
    left = [one for gone, _ in places for one in gone if one.id not in found]
    spare = [one for theirs in new.values() for one in theirs if one.id not in found.values()]
    found |= {was.id: now.id for was, now in _similar(left, spare)}
    for gone, theirs in places:
        _pair_others(gone, theirs, found)
    return found


def _similar(gone: Iterable[Known], theirs: Iterable[Known]) -> Iterator[tuple[Known, Known]]:
    """Facts that are gone, each with the new one that has similar words."""
    before, after = ({(one.file, one.id): one for one in facts} for facts in (gone, theirs))
    pairs = ((one.was, one.now) for one in fact_changes.compare(before, after))
    return ((was, now) for was, now in pairs if was is not None and now is not None)


def _pair_others(gone: list[Known], theirs: list[Known], found: dict[str, str]) -> None:
    """Add the facts that none with similar words replaced, but another in their place.

    First those with the most quotes and sources in common, else in order.
    """
    spare = {one.id for one in theirs} - {*found.values()}
    for was, now in sorted(product(gone, theirs), key=lambda pair: -_in_common(*pair)):
        if was.id not in found and now.id in spare:
            found[was.id] = now.id
            spare.remove(now.id)
    for was, now in product(gone, theirs):
        others = [one for one in gone if found.get(one.id) == now.id]
        if was.id not in found and _says_too(now, was, others):
            found[was.id] = now.id


def _in_common(was: Known, now: Known) -> int:
    cited = [one for one in was.sources if _is_cited(one, now)]
    return len(cited) + len([one for one in fact_text.quotes(was.text) if _is_in(one, now)])


def _says_too(now: Known, was: Known, others: list[Known]) -> bool:
    """Whether a fact is also about one that is gone, apart from the `others` that it replaced.

    It has half of the quotes or half of the sources that only that one had.
    """
    quotes = [
        one for one in fact_text.quotes(was.text) if not any(_is_in(one, other) for other in others)
    ]
    cited = [one for one in was.sources if not any(_is_cited(one, other) for other in others)]
    has_quotes = 0 < len(quotes) <= 2 * sum(_is_in(one, now) for one in quotes)
    return has_quotes or 0 < len(cited) <= 2 * sum(_is_cited(one, now) for one in cited)


def _is_in(quote: str, fact: Known) -> bool:
    """Whether a fact has a quote, not only as a part of longer words."""
    return re.search(rf"(?<!\w){re.escape(quote)}(?!\w)", fact.text) is not None


def _is_cited(source: str, fact: Known) -> bool:
    """Whether a fact cites a source, or some of its lines."""
    return any(one == source or _overlap(one, source) for one in fact.sources)


def _overlap(one: str, other: str) -> bool:
    a, b = sources.parse(one), sources.parse(other)
    if a is None or b is None or not a.kind == b.kind == "lines":
        return False
    return a.path == b.path and a.start <= b.end and b.start <= a.end


def _by_gap(facts: Iterable[Known], fixed: Collection[str]) -> dict[str, list[Known]]:
    """The facts that are not `fixed`, in order, grouped by the nearest fixed one before them."""
    gaps: dict[str, list[Known]] = {}
    before = ""
    for one in facts:
        if one.id in fixed:
            before = one.id
        else:
            gaps.setdefault(before, []).append(one)
    return gaps


def reading_order(feature: str, texts: Mapping[str, str]) -> Iterator[str]:
    """The names of a dossier's files, each followed by the ids of its facts."""
    for row in FILES:
        if row.name in texts:
            yield row.name
            for fact in markdown.parse(row.name, feature, texts[row.name])[0].facts:
                yield fact_text.fact_id(row.name, fact.text)


def by_lasting_ids(
    manifest: Manifest,
    replaced: Mapping[str, str],
    drafts: Iterable[Draft],
    where_written: WhereWritten,
    subjects: Mapping[str, str],
) -> dict[str, str]:
    """`replaced` by what lasts: the build may find the same facts with other numbers or details.

    The text of a fact that was just replaced is in the new drafts, or else in an earlier version;
    what it is about is in `subjects`, or else in the manifest.
    """
    texts = {
        fact_text.fact_id(draft.name, fact.text): (draft.name, fact.text, fact.sources)
        for draft, _, fact in (markdown.all_facts(drafts) if replaced else ())
    }
    if replaced.keys() - manifest.replaced.keys() - texts.keys():
        known = where_written.ever_known.values()
        texts |= {one.id: (one.file, one.text, one.sources) for one in known}
    subjects = {**manifest.subjects, **subjects}
    found = {fact_text.lasting_id(*texts[id_]): by for id_, by in replaced.items() if id_ in texts}
    return found | {subjects[id_]: by for id_, by in replaced.items() if id_ in subjects}
