"""Extend a published dossier for another description of its feature, with facts from the map.

No model is involved. What people and a model wrote stays; to make room, the parts of the map's
outline that match the new description least are removed.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from preread import cache, check, publish, versions
from preread.builders import static
from preread.builds import build, recording, replies
from preread.builds.build_plan import SUMMARY, Plan
from preread.dossier import build_records, fact_text, markdown, published, subjects
from preread.dossier.published import Published
from preread.evidence.collect import collect_novel
from preread.infra import atomic
from preread.infra.plural import counted
from preread.layout import REQUIRED
from preread.models import (
    Draft,
    Evidence,
    Fence,
    How,
    LoadReply,
    Manifest,
    Request,
    Section,
    Wording,
)
from preread.services import Services, step

SHARE = 0.3  # maximum share of a dossier's tokens that one description adds
MAX_CANDIDATES = 60
MAX_WORDINGS = 40


@dataclass(frozen=True)
class _Fact:
    """A checked fact of the map, alone in its section."""

    file: str
    section: Section

    @property
    def id(self) -> str:
        return fact_text.fact_id(self.file, self.section.facts[0].text)


@dataclass(frozen=True)
class _Widened:
    """An extended dossier; `drafts` has only the files that changed."""

    manifest: Manifest
    drafts: dict[str, Draft]
    added: tuple[_Fact, ...]


async def widen(services: Services, request: Request, found: Published) -> LoadReply:
    """Make a dossier cover another description; requires the feature's lock."""
    begun, manifest = time.time(), found.manifest or Manifest(feature=request.feature)
    as_published = {key: getattr(manifest, key) for key in ("ticket", "scope", "level")}
    asked = request.model_copy(update=as_published)
    everything, about = await step(collect_novel, services, asked, manifest.description)
    drafts = {
        name: markdown.parse(name, manifest.feature, text)[0] for name, text in found.texts.items()
    }
    if manifest.thin and not everything.thin and manifest.status == "ok":
        # With the name alone the feature was hardly found, so little of the map would remain.
        kept = tuple(draft for name, draft in drafts.items() if name in manifest.drafted)
        plan = Plan(asked, kept=kept, published=found, how="extended")
        reply = await build.draft_and_publish(services, plan, everything, begun)
        await step(versions.keep_copy, services, asked.feature)
        return reply
    widened = await step(_widened, services, asked, manifest, drafts, everything, about)
    await step(_publish, services, found, widened)
    await step(versions.keep_copy, services, asked.feature)
    warnings = []
    if widened.added:
        warnings = [_warning(widened), *await step(build.index_facts, services)]
        await step(_update_record, services, asked.feature)
    now = await step(published.read, services.layout, asked.feature)
    how: How = "extended" if widened.added else "cached"
    reply = replies.from_published(services, asked, now or found, how, time.time() - begun)
    return reply.model_copy(update={"warnings": (*reply.warnings, *warnings)})


def _warning(widened: _Widened) -> str:
    files = ", ".join(sorted(widened.drafts.keys() & {fact.file for fact in widened.added}))
    count = len(widened.added)
    facts = counted(count, "fact")
    return (
        f"For this description the map added {facts} to {files}, without a model; "
        "`force` has a model read again."
    )


def _widened(
    services: Services,
    request: Request,
    manifest: Manifest,
    drafts: dict[str, Draft],
    everything: Evidence,
    about: Evidence,
) -> _Widened:
    spans, candidates = _candidates(services, request, manifest, drafts, about)
    ranks = {finding.text: finding.score for finding in everything.findings}
    added, gone = _fitted(services, drafts, candidates, _expendable(manifest, drafts, ranks))
    merged = _merged(drafts, added, gone)
    changed = {name: draft for name, draft in merged.items() if draft != drafts.get(name)}
    cited = {
        source for _, _, fact in markdown.all_facts(merged.values()) for source in fact.sources
    }
    cited |= {section.source for draft in merged.values() for section in draft.sections}
    ids = tuple(sorted(fact.id for fact in added))
    new = {
        fact_text.cited_digest(draft.name, fact)
        for draft in changed.values()
        for fact in markdown.parse(draft.name, manifest.feature, markdown.render(draft))[0].facts
        if fact_text.fact_id(draft.name, fact.text) in ids
    }
    wordings = [one for one in manifest.wordings if not gone.intersection(one.facts)]
    wordings.append(Wording(digest=cache.wording(request.description), facts=ids))
    update = {
        "facts": tuple(dict.fromkeys(one for one in (*manifest.facts, *ids) if one not in gone)),
        "cited": tuple(dict.fromkeys((*manifest.cited, *sorted(new)))) if manifest.cited else (),
        "spans": {key: value for key, value in (manifest.spans | spans).items() if key in cited},
        "wordings": tuple(wordings[-MAX_WORDINGS:]),
    }
    return _Widened(manifest.model_copy(update=update), changed, tuple(added))


def _candidates(
    services: Services,
    request: Request,
    manifest: Manifest,
    drafts: dict[str, Draft],
    about: Evidence,
) -> tuple[dict[str, str], list[_Fact]]:
    """The map's facts about the new description that the dossier lacks, and what they cite.

    Lines that a model's dossier cites are skipped: it describes them in its own words.
    """
    single = []
    for finding in about.findings[:MAX_CANDIDATES]:
        if finding.file != SUMMARY and not finding.fence:
            one = about.model_copy(update={"findings": (finding,)})
            single += [d for d in static.drafts(request, one) if d.name == finding.file]
    about_ids = subjects.of_findings(about.findings)
    checked = check.check(services, request.feature, single, budget=False, subjects=about_ids)
    present = {
        fact_text.fact_id(d.name, fact.text) for d, _, fact in markdown.all_facts(drafts.values())
    }
    present |= _replaced(manifest, about_ids)
    found = []
    for draft, section, fact in markdown.all_facts(checked.drafts):
        is_cited_already = manifest.drafted and manifest.spans.keys() >= set(fact.sources)
        candidate = _Fact(draft.name, replace(section, items=(fact,)))
        if candidate.id not in present and not is_cited_already:
            present.add(candidate.id)
            found.append(candidate)
    return checked.spans, found


def _replaced(manifest: Manifest, about_ids: Mapping[str, str]) -> set[str]:
    """The ids of facts instead of which people's count."""
    known = manifest.replaced.keys()
    return {*known, *(id_ for id_, subject in about_ids.items() if subject in known)}


def _expendable(manifest: Manifest, drafts: dict[str, Draft], ranks: dict[str, float]) -> list[str]:
    """Ids of the facts that may be removed: outlines, and facts added before; lowest rank first."""
    added = {key for one in manifest.wordings for key in one.facts}
    own = set(manifest.facts)
    found = []
    for draft, section, fact in markdown.all_facts(drafts.values()):
        key = fact_text.fact_id(draft.name, fact.text)
        outlines = markdown.heading_source(section.heading) and draft.name not in manifest.drafted
        if key in added or (outlines and key in own):
            found.append((ranks.get(fact.text, 0.0), key))
    return [key for _, key in sorted(found)]


def _fitted(
    services: Services, drafts: dict[str, Draft], candidates: list[_Fact], expendable: list[str]
) -> tuple[list[_Fact], set[str]]:
    """The facts to add, and the ids of those removed to make room."""
    limit, most = services.settings.max_tokens, services.settings.max_facts
    left, added = limit * SHARE, []
    for fact in candidates:
        left -= fact_text.tokens(markdown.render(Draft(fact.file, "", (fact.section,))))
        if left < 0:
            break
        added.append(fact)
    gone: set[str] = set()
    while added:
        services.progress.check()
        merged = _merged(drafts, added, gone).values()
        sizes = (
            fact_text.tokens(markdown.render(draft))
            for draft in merged
            if draft.sections or draft.name in REQUIRED
        )
        if sum(sizes) <= limit and sum(len(draft.facts) for draft in merged) <= most:
            return added, gone
        if expendable:
            gone.add(expendable.pop(0))
        else:
            added.pop()
    return [], set()


def _merged(drafts: dict[str, Draft], added: Iterable[_Fact], gone: set[str]) -> dict[str, Draft]:
    merged = {name: _without(draft, gone) for name, draft in drafts.items()} if gone else {**drafts}
    for fact in added:
        draft = merged.get(fact.file, Draft(fact.file, next(iter(drafts.values())).feature))
        merged[fact.file] = replace(draft, sections=tuple(_with(draft.sections, fact.section)))
    return merged


def _without(draft: Draft, gone: set[str]) -> Draft:
    """The draft without these facts; the same object if it has none of them."""
    ids = {fact_text.fact_id(draft.name, fact.text) for fact in draft.facts}
    if not ids & gone:
        return draft
    sections = [
        replace(
            section,
            items=tuple(
                item
                for item in section.items
                if isinstance(item, Fence) or fact_text.fact_id(draft.name, item.text) not in gone
            ),
        )
        for section in draft.sections
    ]
    return replace(draft, sections=tuple(section for section in sections if section.items))


def _with(sections: tuple[Section, ...], new: Section) -> Iterator[Section]:
    """The sections with the new one's fact, in the section of the same heading if there is one."""
    placed = False
    for section in sections:
        shows_code = any(isinstance(item, Fence) for item in section.items)
        if not placed and section.heading == new.heading and not shows_code:
            placed = True
            section = replace(section, items=(*section.items, *new.items))  # noqa: PLW2901
        yield section
    if not placed:
        yield new


def _publish(services: Services, found: Published, widened: _Widened) -> None:
    staging = publish.stage(services, widened.manifest.feature)
    try:
        for name, text in found.texts.items():
            if name not in widened.drafts:
                atomic.write(staging / name, text.encode("utf-8", "surrogatepass"))
        for name, draft in widened.drafts.items():
            atomic.write(staging / name, markdown.render(draft).encode())
        publish.publish(services, staging, widened.manifest, "widened")
    finally:
        atomic.remove(staging)


def _update_record(services: Services, feature: str) -> None:
    """Update the counts of facts in the record of the last build."""
    run, found = (
        build_records.read(services.layout, feature),
        published.read(services.layout, feature),
    )
    if run is None or found is None:
        return
    drafts = [markdown.parse(name, feature, text)[0] for name, text in found.texts.items()]
    counted = recording.counts(check.check_unbudgeted(services, feature, drafts))
    stats = run.stats.model_copy(update=counted)
    build_records.write(services.layout, feature, run.model_copy(update={"stats": stats}))
