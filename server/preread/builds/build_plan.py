"""Who drafts which file of a new dossier: the model, an earlier draft, or the static builder."""

from dataclasses import dataclass, field, replace
from functools import partial

from preread import cache
from preread.builders import DRAFTED, DRAFTING_ORDER
from preread.builds.build_key import build_key
from preread.dossier import drafted_fences, markdown, published, source_tracking
from preread.dossier.published import Published
from preread.dossier.source_tracking import SourceChanges
from preread.models import Draft, Evidence, Fact, Fence, How, LostFact, Manifest, Request, Section
from preread.services import Services

SUMMARY = "summary.md"
HISTORY = frozenset({"failing", "flaky"})  # rules whose findings are a history of failures


@dataclass(frozen=True)
class Plan:
    """The model drafts `to_draft`, `kept` stays as it is, the static builder writes the rest."""

    request: Request
    to_draft: tuple[str, ...] = ()
    kept: tuple[Draft, ...] = ()
    # What a model drafted earlier for the same request.
    earlier: dict[str, Draft] = field(default_factory=dict)
    published: Published | None = None
    how: How = "built"
    # Where the published dossier's sources are now; people's facts follow them.
    source_changes: SourceChanges = field(default_factory=SourceChanges)
    # The model's facts and fences that lost their sources: now, and since it drafted their file.
    lost: tuple[LostFact, ...] = ()
    lost_before: tuple[LostFact, ...] = ()

    @property
    def published_drafts(self) -> list[Draft]:
        """The published files, if there are any, parsed."""
        texts = self.published.texts if self.published is not None else {}
        return [markdown.parse(name, self.request.feature, text)[0] for name, text in texts.items()]


def make_plan(services: Services, request: Request, evidence: Evidence) -> Plan:
    """The plan of a build: a new dossier, other files for one, or a deeper one."""
    if raises_level(request, evidence):
        request = request.model_copy(update={"level": "full"})
    to_draft = DRAFTED[request.level]
    found = published.read(services.layout, request.feature)
    manifest = found.manifest if found is not None else None
    if found is None or manifest is None:
        return Plan(request, _in_order(request.extend or to_draft))
    changes = source_tracking.follow(services, manifest)
    earlier = _earlier_drafts(services, request, found, manifest, changes)
    extend = request.extend
    if earlier and not extend:
        extend = _files_of_deeper_level(services, request, manifest)
    if extend:
        extend = _in_order((*extend, SUMMARY))
        kept = tuple(draft for name, draft in earlier.items() if name not in extend)
        return Plan(request, extend, kept, earlier, found, "extended", changes)
    if request.force:
        return Plan(request, to_draft, earlier=earlier, published=found, source_changes=changes)
    # A build at a lower level does not throw away what a model has drafted.
    kept = () if to_draft else tuple(earlier.values())
    to_draft = _in_order((*to_draft, *earlier)) if to_draft else ()
    return Plan(request, to_draft, kept, earlier, found, source_changes=changes)


def raises_level(request: Request, evidence: Evidence) -> bool:
    """Whether a history of failures raises an unspecified level."""
    found = any(finding.rule in HISTORY for finding in evidence.findings)
    return request.auto and request.level != "full" and found


def refresh_plan(services: Services, request: Request, found: Published) -> Plan:
    """The plan that brings a published dossier up to date; `request` is the one it was built for.

    Only if it has lost too many facts does a model draft the files that lost them.
    """
    manifest = found.manifest
    if manifest is None:
        raise ValueError("only a dossier with a manifest can be refreshed")
    changes = source_tracking.follow(services, manifest)
    code = drafted_fences.Follower(services.tree, manifest)
    kept: list[Draft] = []
    lost: list[LostFact] = []
    drafted = _drafted(found, manifest)
    before = tuple(one for one in manifest.lost if one.file in drafted)
    facts = len(before)
    for draft in drafted.values():
        now, lost_now = source_tracking.updated_draft(draft, changes, code)
        kept.append(now)
        lost += lost_now
        facts += sum(len(section.items) for section in draft.sections)
    again = {one.file for one in (*before, *lost)} if lost else set()
    is_cut = services.tree.cut != manifest.cut  # what is not checked out is not gone for good
    if is_cut or len(before) + len(lost) <= services.settings.rebuild_after * facts:
        again = set()
    to_draft = _in_order(tuple(again))
    return Plan(
        request,
        to_draft,
        tuple(draft for draft in kept if draft.name not in again),
        {draft.name: draft for draft in kept},
        found,
        "built" if to_draft else "refreshed",
        changes,
        tuple(lost),
        before,
    )


def _earlier_drafts(
    services: Services,
    request: Request,
    found: Published,
    manifest: Manifest,
    changes: SourceChanges,
) -> dict[str, Draft]:
    """What is still valid of the files that a model drafted for the same ticket and scope."""
    if (request.ticket, request.scope) != (manifest.ticket, manifest.scope):
        return {}
    code = drafted_fences.Follower(services.tree, manifest)
    drafted = _drafted(found, manifest).items()
    update = source_tracking.updated_draft
    return {name: update(draft, changes, code)[0] for name, draft in drafted}


def _drafted(found: Published, manifest: Manifest) -> dict[str, Draft]:
    """The published files that a model drafted, without what people wrote into them."""
    drafts = {
        name: markdown.parse(name, manifest.feature, text)[0]
        for name, text in found.texts.items()
        if name in manifest.drafted
    }
    if not manifest.facts:  # it does not say who wrote them
        return drafts
    return {name: _without_people(manifest, draft) for name, draft in drafts.items()}


def _without_people(manifest: Manifest, draft: Draft) -> Draft:
    sections = []
    for section in draft.sections:
        items = tuple(
            item for item in section.items if _is_built(manifest, draft.name, section, item)
        )
        sections += [replace(section, items=items)] if items else []
    return replace(draft, sections=tuple(sections))


def _is_built(manifest: Manifest, name: str, section: Section, item: Fact | Fence) -> bool:
    if isinstance(item, Fact):
        return published.is_built(manifest, name, item)
    return manifest.fences is None or published.is_built_fence(manifest, name, section, item)


def _in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in DRAFTING_ORDER if name in names)


def _files_of_deeper_level(
    services: Services, request: Request, manifest: Manifest
) -> tuple[str, ...]:
    """The files that a deeper level adds to an otherwise valid dossier; empty to rebuild it."""
    if request.force or manifest.status != "ok" or manifest.level == "light":
        return ()
    # Another description alone is no reason to build the existing files again.
    update = {"level": manifest.level, "auto": False, "description": ""}
    shallower = request.model_copy(update=update)
    if not cache.lookup(services, shallower, partial(build_key, services)).covers:
        return ()
    existing = {*DRAFTED[manifest.level], *manifest.drafted}
    return tuple(name for name in DRAFTED[request.level] if name not in existing)
