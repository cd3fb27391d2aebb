"""Restore a lost manifest, which says which facts are a person's."""

from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path

from preread import backups, versions
from preread.dossier import fact_history, fact_text, markdown, published
from preread.dossier.published import Published
from preread.infra import atomic
from preread.layout import MANIFEST
from preread.models import Manifest
from preread.services import Services

FITTING = "the latest one that fits its files was restored"
BY_HISTORY = "the history of its facts shows which ones a build wrote"
UNKNOWN = "nothing shows who wrote its facts; all that a build does not write count as a person's"


def restore(services: Services, feature: str) -> str:
    """Restore the manifest as far as it is known; returns what was done, for people.

    Does nothing for a dossier that has one. Requires the feature's lock. Raises E_WRITE.
    """
    found = published.read(services.layout, feature)
    if found is None or found.manifest is not None or not found.texts:
        return ""
    manifest, how = _recovered(services, feature, found)
    backups.keep_file(services.layout, feature, MANIFEST)
    path = services.layout.dossier(feature) / MANIFEST
    atomic.write(path, published.manifest_bytes(manifest), durable=True)
    return f"The manifest of {feature} was missing or damaged: {how}."


def _recovered(services: Services, feature: str, found: Published) -> tuple[Manifest, str]:
    past = fact_history.events_and_edits(services.layout, feature, found)
    built = fact_history.built_ids(past)
    ids = _ids(feature, found)
    shown = list(chain.from_iterable(ids.values()))
    earlier = _earlier(services, feature)
    fitting = max(earlier, key=lambda one: _equal_files(one, found), default=None)
    if fitting is not None and _equal_files(fitting, found):
        later = [id_ for id_ in shown if id_ in built and id_ not in fitting.facts]
        facts = (*fitting.facts, *later)
        cited = (*fitting.cited, *_cited(feature, found, facts))
        return fitting.model_copy(update={"facts": facts, "cited": cited}), FITTING
    own = tuple(id_ for id_ in shown if id_ in built)
    # A file with a person's facts counts as edited; any other may be removed with its facts.
    files = {name: value if built.issuperset(ids[name]) else "" for name, value in _files(found)}
    replaced = fact_history.overridden(past, built)
    how = BY_HISTORY if own else UNKNOWN
    return Manifest(feature=feature, facts=own, files=files, replaced=replaced), how


def _ids(feature: str, found: Published) -> dict[str, list[str]]:
    """The ids of each file's facts."""
    drafts = [markdown.parse(name, feature, text)[0] for name, text in found.texts.items()]
    return {
        draft.name: [fact_text.fact_id(draft.name, fact.text) for fact in draft.facts]
        for draft in drafts
    }


def _cited(feature: str, found: Published, built: Collection[str]) -> Iterator[str]:
    """What the facts of builds cite now, as digests: a later build may have moved them."""
    drafts = [markdown.parse(name, feature, text)[0] for name, text in found.texts.items()]
    for draft, _, fact in markdown.all_facts(drafts):
        if fact_text.fact_id(draft.name, fact.text) in built:
            yield fact_text.cited_digest(draft.name, fact)


def _equal_files(manifest: Manifest, found: Published) -> int:
    """The number of files that match the manifest."""
    return len(manifest.files.items() & {*_files(found)})


def _files(found: Published) -> Iterator[tuple[str, str]]:
    """Each file with its digest."""
    for name, text in found.texts.items():
        yield name, published.digest(text.encode("utf-8"))


def _earlier(services: Services, feature: str) -> Iterator[Manifest]:
    """All earlier manifests of which there are copies."""
    yield from (one.manifest for one in versions.stored(services, feature) if one.manifest)
    for data in copies(services, services.layout.dossier(feature) / MANIFEST):
        manifest = published.parse_manifest(data, feature)
        if manifest is not None:
            yield manifest


def copies(services: Services, path: Path) -> Iterator[bytes]:
    """Copies of a file in the database, the backups and git's last commit, latest first."""
    for one in versions.stored(services, path.parent.name):
        if path.name in one.texts:
            yield one.texts[path.name].encode()
    for backup in backups.list_all(services.layout):
        copy = backups.copies(services.layout, backup).get(path)
        if copy is not None:
            yield copy
    if services.tree.is_git:
        done = services.tree.git("show", f"HEAD:./{services.layout.relative(path)}")
        if done.status == 0:
            yield done.out
