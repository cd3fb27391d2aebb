"""The code blocks that people wrote into a published dossier: they follow the code, and count
instead of the builds' under the same heading.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from preread import check
from preread.builds.build_plan import Plan
from preread.check.screening import Screening
from preread.check.where_written import WhereWritten
from preread.dossier import (
    fact_text,
    markdown,
    merged_sides,
    peoples_fences,
    published,
    source_tracking,
    sources,
)
from preread.dossier.peoples_fences import Follower
from preread.dossier.relocation import Relocator
from preread.infra.secrets import Credentials
from preread.models import Draft, Fact, Fence, LostFact, Manifest, Problem, Section, SpanMark
from preread.services import Services

LINES = re.compile(r":\d+(?:-\d+)?")


@dataclass(frozen=True)
class PeoplesFences:
    """The fences of people, and the edited files with current sources of them."""

    ids: frozenset[str] = frozenset()
    texts: dict[str, str] = field(default_factory=dict)
    spans: dict[str, str] = field(default_factory=dict)  # digests of their sources
    sought: dict[str, SpanMark] = field(default_factory=dict)  # as in `Manifest.sought`
    valid: dict[str, bool] = field(default_factory=dict)  # as in `Manifest.peoples_fences`
    removed: tuple[Problem, ...] = ()  # why others are left out
    joined: tuple[str, ...] = ()  # those of which a merge joined two versions: file and heading


def of_people(services: Services, plan: Plan, drafts: Iterable[Draft]) -> PeoplesFences:
    """The fences in the published files that no build wrote, also none of these new drafts."""
    if plan.published is None or plan.published.manifest is None:
        return PeoplesFences()
    manifest = plan.published.manifest
    ids, removed = _screened(services, plan, {*_ids(plan, manifest, list(drafts))})
    relocator = Relocator(services.tree)
    where = WhereWritten(services, plan.published, relocator, list)

    def by_commits(name: str, fence: Fence, source: str) -> str:
        fact = Fact("", (source,), fence.line)
        return where.by_commits(name, fact, "", (source,)).moved.get(source, "")

    follower = Follower(relocator, manifest, plan.source_changes, by_commits)
    texts: dict[str, str] = {}
    spans: dict[str, str] = {}
    sought: dict[str, SpanMark] = {}
    for name in by_hand(plan):
        found = follower.follow(name, plan.published.texts[name], ids)
        texts[name] = found.text
        sought |= found.sought
        for ref in filter(None, map(sources.parse, found.sources)):
            spans[str(ref)] = sources.resolve(ref, services.tree).digest
    valid = _valid(services, plan, texts, ids)
    joined = tuple(_joined(services, plan))
    return PeoplesFences(ids, texts, spans, sought, valid, removed, joined)


def _screened(
    services: Services, plan: Plan, ids: set[str]
) -> tuple[frozenset[str], tuple[Problem, ...]]:
    """Those of the ids that may be published, and why the others may not."""
    if plan.published is None or not ids:
        return frozenset(), ()
    screening = Screening(Credentials(services.layout.root))
    removed: list[Problem] = []
    gone: set[str] = set()
    for name, text in plan.published.texts.items():
        for _, fences in peoples_fences.sections_with(name, plan.request.feature, text, ids):
            for fence in fences:
                rejection = screening.rejection("\t".join((fence.language, *fence.lines)))
                if rejection is not None:
                    removed.append(Problem(name, fence.line, *rejection))
                    gone.add(fact_text.fence_id(name, fence.lines))
    return frozenset(ids - gone), tuple(removed)


def _joined(services: Services, plan: Plan) -> Iterator[str]:
    """The file and heading of each published fence of which git joined the lines of two sides."""
    if plan.published is None or not services.tree.is_git:
        return
    feature, texts = plan.request.feature, plan.published.texts
    edited = {name: texts.get(name, "") for name in plan.published.edited}
    edited = {name: text for name, text in edited.items() if "\n```" in text}
    joined = merged_sides.merged(services, feature).joined_fences if edited else ()
    for name, text in edited.items() if joined else ():
        found = peoples_fences.sections_with(name, feature, text, joined)
        yield from (f'{name}, "{section.heading}"' for section, _ in found)


def by_hand(plan: Plan) -> tuple[str, ...]:
    """The published files that a person edited, now or before, and did not empty."""
    if plan.published is None or plan.published.manifest is None:
        return ()
    edited = {*plan.published.edited, *plan.published.manifest.by_hand}
    texts = plan.published.texts.items()
    return tuple(name for name, text in texts if name in edited and text.strip())


def ids_of(drafts: Iterable[Draft]) -> set[str]:
    """The ids of all fences of these drafts."""
    return {fact_text.fence_id(draft.name, fence.lines) for draft, _, fence in _all(drafts)}


def without_replaced(drafts: Iterable[Draft], theirs: PeoplesFences) -> tuple[Draft, ...]:
    """The drafts without fences for which a person's counts instead."""
    return tuple(
        _without(draft, _replaced(draft, theirs), theirs.ids)
        if draft.name in theirs.texts
        else draft
        for draft in drafts
    )


def _ids(plan: Plan, manifest: Manifest, drafts: list[Draft]) -> Iterator[str]:
    """If the manifest does not say which fences builds wrote, none of the drafts' is a person's.

    One with another source is a person's. One that has the lines of a draft's under the same
    heading is the build's, unless it was a person's before: a person may have put it back.
    """
    new_ids, new_keys = ids_of(drafts), {*keys(drafts)}
    same = {(one.name, section.heading, fence.lines) for one, section, fence in _all(drafts)}
    theirs = peoples_fences.ids_of(manifest.peoples_fences)
    texts = plan.published.texts.items() if plan.published else ()
    published_drafts = [markdown.parse(name, manifest.feature, text)[0] for name, text in texts]
    for draft, section, fence in _all(published_drafts):
        id_ = fact_text.fence_id(draft.name, fence.lines)
        key = fact_text.fence_key(draft.name, section, fence)
        if id_ in (new_ids if manifest.fences is None else manifest.fences):
            is_built = (
                manifest.fences is None
                or published.is_built_fence(manifest, draft.name, section, fence)
                or key in new_keys
            )
        else:
            is_theirs = id_ in theirs and key not in new_keys
            is_built = (draft.name, section.heading, fence.lines) in same and not is_theirs
        if not is_built:
            yield id_


def keys(drafts: Iterable[Draft]) -> Iterator[str]:
    """The keys of all fences of these drafts."""
    return (fact_text.fence_key(one.name, section, fence) for one, section, fence in _all(drafts))


def dropped(before: Iterable[Draft], after: Iterable[Draft]) -> Iterator[LostFact]:
    """The fences that only the drafts before a check have."""
    left = ids_of(after)
    for draft, section, fence in _all(before):
        if fact_text.fence_id(draft.name, fence.lines) not in left:
            yield source_tracking.lost_fence(draft.name, section, is_changed=True)


def _all(drafts: Iterable[Draft]) -> Iterator[tuple[Draft, Section, Fence]]:
    for draft in drafts:
        for section in draft.sections:
            for fence in section.fences:
                yield draft, section, fence


def _valid(
    services: Services, plan: Plan, texts: dict[str, str], ids: Collection[str]
) -> dict[str, bool]:
    """People's fences -> whether they check out; those without a source claim nothing."""
    feature = plan.request.feature
    drafts, of_nothing = [], []
    for name, text in texts.items():
        found = peoples_fences.sections_with(name, feature, text, ids)
        sections = [replace(one, items=tuple(fences)) for one, fences in found]
        drafts += [Draft(name, feature, tuple(one for one in sections if one.source))]
        of_nothing += [Draft(name, feature, tuple(one for one in sections if not one.source))]
    drafts = [one for one in drafts if one.sections]
    checked = check.check(services, feature, drafts, budget=False) if drafts else None
    valid = {*keys(checked.drafts if checked is not None else ()), *keys(of_nothing)}
    return {key: key in valid for key in (*keys(drafts), *keys(of_nothing))}


def _replaced(draft: Draft, theirs: PeoplesFences) -> set[str]:
    """The headings and sources of a file under which a person's fence is, and no build's."""
    found: dict[bool, set[str]] = {True: set(), False: set()}
    text = theirs.texts[draft.name]
    for section in markdown.parse(draft.name, draft.feature, text)[0].sections:
        for fence in section.fences:
            is_theirs = fact_text.fence_id(draft.name, fence.lines) in theirs.ids
            found[is_theirs] |= _names(section)
    return found[True] - found[False]


def _names(section: Section) -> set[str]:
    """What tells that two fences are versions of each other: any of these is equal."""
    return {f"## {LINES.sub(':', section.heading)}"} | (
        {section.source} if section.source else set()
    )


def _without(draft: Draft, replaced: set[str], ids: Collection[str]) -> Draft:
    sections = []
    for section in draft.sections:
        is_replaced = not replaced.isdisjoint(_names(section))
        items = tuple(
            item
            for item in section.items
            if isinstance(item, Fact)
            or not (is_replaced or fact_text.fence_id(draft.name, item.lines) in ids)
        )
        sections += [replace(section, items=items)] if items else []
    return replace(draft, sections=tuple(sections))
