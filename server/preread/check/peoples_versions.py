"""Which of people's facts count instead of which of a build's: their own versions of these."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from preread.dossier import fact_history, fact_text, markdown
from preread.dossier.published import Published
from preread.layout import BY_NAME, FILES
from preread.models import Draft, Manifest
from preread.services import Services


def replaced(
    services: Services,
    current: Published,
    of_sides: Iterable[Manifest],
    new_ids: Mapping[str, str],
) -> dict[str, str]:
    """Ids and lasting ids of builds' facts -> ids of the people's facts that replaced them.

    A person's fact is where the build's fact was, or is a later version of such a fact.
    `of_sides`: the manifests that git merged, which may name different versions.
    `new_ids`: id of each published fact of a person -> its id with current sources.
    """
    manifest = current.manifest or Manifest(feature="")
    order = list(reading_order(manifest.feature, current.texts))
    later = _later_versions(services, current, order, new_ids)
    found = {
        id_: new_ids[now]
        for one in (*of_sides, manifest)
        for id_, by in one.replaced.items()
        if (now := later.get(by, by)) in new_ids and new_ids[now] != id_
    }
    shown = [id_ for id_ in order if id_ not in BY_NAME]
    gone = _by_gap(manifest.facts, set(shown))
    edits = _by_gap(shown, {*manifest.facts})
    for gap, ids in gone.items():
        theirs = [id_ for id_ in edits.get(gap, []) if id_ in new_ids]
        # Of more facts in that place, the one with similar words is the other version.
        is_clear = not theirs or len(theirs) == len(ids)
        similar = {} if is_clear else fact_history.reworded(services.layout, current)
        for i, id_ in enumerate(ids if theirs else ()):
            by = theirs[min(i, len(theirs) - 1)]
            by = similar[id_] if similar.get(id_) in theirs else by
            is_back = id_ in map(new_ids.get, theirs)  # its person's numbers are the build's again
            found[id_] = id_ if is_back else new_ids[by]
    return found


def reading_order(feature: str, texts: Mapping[str, str]) -> Iterator[str]:
    """The names of a dossier's files, each followed by the ids of its facts."""
    for row in FILES:
        if row.name in texts:
            yield row.name
            for fact in markdown.parse(row.name, feature, texts[row.name])[0].facts:
                yield fact_text.fact_id(row.name, fact.text)


def _later_versions(
    services: Services, current: Published, order: list[str], new_ids: Mapping[str, str]
) -> dict[str, str]:
    """Ids of people's versions of builds' facts that they reworded -> ids of the new versions.

    A new version is between the same neighbours as the old one. If other facts were added or
    deleted there, too, the one with similar words counts; so it does anywhere else in the file.
    """
    manifest = current.manifest or Manifest(feature="")
    lost = {*manifest.replaced.values()} - new_ids.keys()
    if not lost:
        return {}
    by_place: dict[str, str] = {}
    clear: set[str] = set()  # as many new facts as lost ones are in their place
    new = _by_gap(order, {*manifest.order, *BY_NAME})
    for gap, ids in _by_gap(manifest.order, {*order, *BY_NAME}).items():
        theirs = [id_ for id_ in new.get(gap, []) if id_ in new_ids]
        if theirs:
            by_place |= {id_: theirs[min(i, len(theirs) - 1)] for i, id_ in enumerate(ids)}
        clear |= {*ids} if len(theirs) == len(ids) else set()
    if lost <= clear:
        return by_place
    similar = fact_history.reworded(services.layout, current).items()
    return by_place | {was: now for was, now in similar if now in new_ids and was not in clear}


def _by_gap(ids: Iterable[str], fixed: Collection[str]) -> dict[str, list[str]]:
    """The ids that are not `fixed`, in order, grouped by the nearest fixed id before them."""
    gaps: dict[str, list[str]] = {}
    before = ""
    for id_ in ids:
        if id_ in fixed:
            before = id_
        else:
            gaps.setdefault(before, []).append(id_)
    return gaps


def by_lasting_id(
    services: Services, manifest: Manifest, replaced: Mapping[str, str], drafts: Iterable[Draft]
) -> dict[str, str]:
    """`replaced` by lasting ids, because the build may find the same facts with other numbers.

    The text of a fact that was just replaced is in the new drafts, or else in the history.
    """
    texts = {
        fact_text.fact_id(draft.name, fact.text): (draft.name, fact.text, fact.sources)
        for draft, _, fact in (markdown.all_facts(drafts) if replaced else ())
    }
    if replaced.keys() - manifest.replaced.keys() - texts.keys():
        past = fact_history.events(services.layout, manifest.feature)
        texts |= {one.id: (one.file, one.text, one.sources) for one in fact_history.all_facts(past)}
    return {fact_text.lasting_id(*texts[id_]): by for id_, by in replaced.items() if id_ in texts}
