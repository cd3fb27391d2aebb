"""Checks the drafts of all builders and puts them together into one dossier."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from preread import check, prompt
from preread.builders import static
from preread.builds import fences, preferences
from preread.builds.build_plan import SUMMARY, Plan
from preread.check import People
from preread.dossier import (
    drafted_fences,
    fact_text,
    hand_edits,
    markdown,
    published,
    sources,
    subjects,
)
from preread.dossier.committed import Committed
from preread.dossier.published import Published
from preread.dossier.relocation import Relocator
from preread.layout import FILES, REQUIRED
from preread.models import (
    Checked,
    Draft,
    Evidence,
    Fact,
    Fault,
    LostFact,
    Outcome,
    Problem,
    SpanMark,
)
from preread.services import Services

BODY = tuple(name for name in REQUIRED if name != SUMMARY)  # the required files with facts
# Problems that cost no fact that the model could correct.
HARMLESS = frozenset({"E_FACT_TWICE", "E_FACT_WRONG", "E_FILE_NAME", "E_TITLE"})


@dataclass(frozen=True)
class Assembled:
    """The files of a new dossier before they are published."""

    checked: Checked
    texts: dict[str, str]
    drafted: tuple[str, ...]  # files with a model's facts
    missing: tuple[str, ...]  # files that the model should have drafted, but did not
    fault: Fault | None
    # Ids of the facts that builds wrote, in order: those that no builder finds again are dropped.
    own_facts: tuple[str, ...]
    cited: tuple[str, ...]  # digests of these facts with what they cite
    model_contributed: bool  # whether any draft of the model passed the check
    spans: dict[str, str]  # digests of the cited lines
    marks: dict[str, SpanMark]
    subjects: dict[str, str]  # as in the manifest
    replaced: dict[str, str]  # as in the manifest
    order: tuple[str, ...]  # if there are such versions: each file's name and the ids of its facts
    sought: dict[str, SpanMark]  # the content of the lines that unverified facts, or fences, cited
    by_hand: tuple[str, ...]  # files that a person edited
    fences: tuple[str, ...]  # ids of the fences that builds wrote
    cited_by_fences: tuple[str, ...]  # these fences with their sources, as in the manifest
    cut_lines: dict[str, tuple[int, ...]]  # as in the manifest
    lost_fences: tuple[
        LostFact, ...
    ]  # those of kept drafts that do not check out, or whose file has no fact
    peoples_fences: dict[str, bool]  # as in the manifest
    renumbered: tuple[str, ...]  # edits of people that a build undid
    removed_fences: tuple[Problem, ...]  # why others of people are left out
    joined_fences: tuple[str, ...]  # file and heading of those of which a merge joined two versions
    headings: tuple[str, ...]  # and of the headings

    @property
    def status(self) -> str:
        if not self.missing:
            return "ok"
        body_is_missing = any(name in self.missing for name in BODY)
        return "degraded" if not self.model_contributed or body_is_missing else "partial"


def review(
    services: Services, plan: Plan, staging: Path, answers: Iterable[str], *, in_own_run: bool
) -> str:
    """The message that sends the model's drafts back to be corrected; empty if no fact is lost.

    `in_own_run`: the model corrects in another run, in which it has not seen the drafts.
    """
    checked = _check_model_drafts(services, plan, staging, answers)
    with_facts = {draft.name for draft in checked.drafts if draft.facts}
    missing = tuple(
        Problem(name, 1, "E_FILE_MISSING", "is required, and has no fact that checks out")
        for name in plan.to_draft
        if name in BODY and name not in with_facts
    )
    problems = tuple(problem for problem in checked.problems if problem.code not in HARMLESS)
    return prompt.review_message((*missing, *problems), staging if in_own_run else None)


def assemble(
    services: Services, plan: Plan, evidence: Evidence, staging: Path, outcome: Outcome
) -> Assembled:
    """Check all files together: the model's, the earlier ones, the static builder's."""
    services.progress.say("checking every source", 4, 5)
    model_check = _check_model_drafts(services, plan, staging, outcome.external)
    valid = {draft.name: draft for draft in model_check.drafts if draft.facts}
    fault = _fault(plan, outcome, valid)
    lacking = [name for name in plan.to_draft if name not in valid] if fault else []
    chosen = _of_models(services, plan, valid, lacking)
    others = [d for d in static.drafts(plan.request, evidence) if d.name not in chosen]
    drafts = (*chosen.values(), *others)
    theirs = fences.of_people(services, plan, drafts)
    drafts = fences.without_replaced(drafts, theirs)
    about = subjects.of_findings(evidence.findings)
    checked, people = _check_together(services, plan, evidence, drafts, model_check, outcome, about)
    headings = _headings(checked.drafts)
    headings_of_people = _headings_of_people(plan, headings)
    texts = _texts(plan, checked.drafts, theirs.texts, theirs.ids | headings_of_people)
    built = list(_of_builds(plan, texts, checked))
    own_facts = tuple(fact_text.fact_id(name, fact.text) for name, fact in built)
    written = {draft.name for draft in checked.drafts if draft.facts}
    return Assembled(
        checked=checked,
        texts=texts,
        drafted=tuple(sorted(name for name in chosen if name in written)),
        missing=tuple(name for name in lacking if name in written or name in REQUIRED),
        fault=fault,
        own_facts=own_facts,
        cited=tuple(fact_text.cited_digest(name, one) for name, one in built),
        model_contributed=bool(valid),
        spans=checked.spans | theirs.spans,
        marks=_marks(services, chosen, own_facts, checked, theirs.spans),
        subjects={id_: it for id_, it in about.items() if id_ in own_facts},
        replaced=people.replaced,
        order=tuple(check.reading_order(plan.request.feature, texts) if people.replaced else ()),
        sought=_still_unverified(people.sought, checked) | theirs.sought,
        by_hand=tuple(name for name in theirs.texts if name in texts),
        fences=tuple(sorted(fences.ids_of(checked.drafts) - theirs.ids)),
        cited_by_fences=tuple(sorted({*fences.keys(checked.drafts)})),
        cut_lines=drafted_fences.cut_lines(
            services.tree, (one for one in checked.drafts if one.name in chosen)
        ),
        lost_fences=tuple(
            fences.dropped(fences.without_replaced(plan.kept, theirs), checked.drafts)
        ),
        peoples_fences=theirs.valid,
        renumbered=people.renumbered,
        removed_fences=theirs.removed,
        joined_fences=theirs.joined,
        headings=tuple(sorted(_headings_of_builds(plan, texts, headings) - headings_of_people)),
    )


def _check_model_drafts(
    services: Services, plan: Plan, staging: Path, answers: Iterable[str]
) -> Checked:
    """The model's drafts, checked by themselves.

    External sources count only if they are among the servers' `answers` in this run.
    """
    drafts, problems = _model_drafts(services, plan, staging)
    return check.check(
        services,
        plan.request.feature,
        drafts,
        problems=problems,
        budget=False,
        external=answers,
        trust_published=False,
    )


def _model_drafts(
    services: Services, plan: Plan, staging: Path
) -> tuple[tuple[Draft, ...], tuple[Problem, ...]]:
    """The model's drafts of the files that it had to draft, and problems; other files are one."""
    if not plan.to_draft:
        return (), ()
    drafts, problems = check.read_staged(services, plan.request.feature, staging)
    unasked = tuple(
        Problem(draft.name, 1, "E_FILE_NAME", "was not asked for")
        for draft in drafts
        if draft.name not in plan.to_draft
    )
    return tuple(draft for draft in drafts if draft.name in plan.to_draft), problems + unasked


def _of_models(
    services: Services, plan: Plan, valid: dict[str, Draft], lacking: Iterable[str]
) -> dict[str, Draft]:
    """The files with a model's facts: the valid new drafts, the kept files, and for those that the
    model did not finish an earlier draft.
    """
    earlier = [plan.earlier[name] for name in lacking if name in plan.earlier]
    still_valid = _still_valid(services, plan, (*earlier, *plan.kept))
    return {draft.name: draft for draft in (*still_valid, *valid.values())}


def _still_valid(services: Services, plan: Plan, drafts: tuple[Draft, ...]) -> list[Draft]:
    """Those of the earlier drafts in which any fact still checks out.

    A file whose facts people replaced by their own is still a model's.
    """
    checked = check.check(services, plan.request.feature, drafts, budget=False)
    manifest = plan.published.manifest if plan.published else None
    theirs = {
        draft.name
        for draft, _, fact in markdown.all_facts(plan.published_drafts)
        if manifest and not published.is_built(manifest, draft.name, fact)
    }
    theirs -= {one.file for one in (*plan.lost, *plan.lost_before)}
    return [
        draft
        for draft, left in zip(drafts, checked.drafts, strict=True)
        if left.facts or draft.name in theirs
    ]


def _fault(plan: Plan, outcome: Outcome, valid: dict[str, Draft]) -> Fault | None:
    """Why the model's part is incomplete, with the feature's name in the hint."""
    fault = outcome.fault or _fault_of_empty_drafts(plan, valid)
    if fault is None:
        return None
    return fault.model_copy(update={"hint": fault.hint.replace("{feature}", plan.request.feature)})


def _fault_of_empty_drafts(plan: Plan, valid: dict[str, Draft]) -> Fault | None:
    """The fault of a model that finished but left a required file, or all files, without facts."""
    names = [name for name in plan.to_draft if name not in valid and (name in BODY or not valid)]
    if not names:
        return None
    return Fault(
        code="E_DRAFTS",
        reason=f"no fact of the model's {' and '.join(names)} checks out",
        hint="See what was dropped and why: `preread status {feature}`. Build again with `force`.",
    )


def _check_together(
    services: Services,
    plan: Plan,
    evidence: Evidence,
    drafts: tuple[Draft, ...],
    model_check: Checked,
    outcome: Outcome,
    about: Mapping[str, str],
) -> tuple[Checked, People]:
    """Check all files, including what people wrote, against one budget."""
    request = plan.request
    everything, people = check.with_peoples_facts(
        services, request.feature, drafts, plan.source_changes,
        lambda: _generations(services, request.feature), about,
    )  # fmt: skip
    checked = check.check(
        services,
        request.feature,
        everything,
        problems=model_check.problems,
        budget=True,
        level=request.level,
        ranks=preferences.ranks(evidence),
        bonus=preferences.bonus(plan, evidence, everything)
        | preferences.of_conflicts(everything, people),
        before=replace(model_check, drafts=(), verdicts=()),
        external=outcome.external,
        people=people.facts,
        replaced=people.replaced,
        subjects=about,
    )
    return checked, people


def _generations(services: Services, feature: str) -> list[Published]:
    from preread import versions  # a cached load does not need it

    of_git = Committed(services, feature).versions() if services.tree.is_git else ()
    return [*versions.stored(services, feature), *of_git]


def _marks(
    services: Services,
    chosen: Iterable[str],
    own_facts: Iterable[str],
    checked: Checked,
    of_fences: Iterable[str],
) -> dict[str, SpanMark]:
    """The content of the lines that a model or a person cites, to find them again."""
    relocator, own = Relocator(services.tree), set(own_facts)
    cited = {
        source
        for draft, section, fact in markdown.all_facts(checked.drafts)
        if draft.name in chosen or fact_text.fact_id(draft.name, fact.text) not in own
        for source in (*fact.sources, section.source)
        if source in checked.spans
    }
    cited |= {
        section.source
        for draft in checked.drafts
        for section in draft.sections
        if draft.name in chosen and section.fences
    }
    refs = {
        source: ref
        for source in sorted({*cited, *of_fences})
        if (ref := sources.parse(source)) is not None
    }
    found = {source: relocator.mark(ref) for source, ref in refs.items()}
    return {source: mark for source, mark in found.items() if mark is not None}


def _still_unverified(sought: dict[str, SpanMark], checked: Checked) -> dict[str, SpanMark]:
    """The marks of unverified facts, without those of facts that check out after all."""
    ids = {
        fact_text.fact_id(one.file, one.fact.text)
        for one in checked.verdicts
        if one.state == "unverified"
    }
    return {key: mark for key, mark in sought.items() if key.partition(" ")[0] in ids}


def _headings_of_people(plan: Plan, new: set[str]) -> set[str]:
    """The ids of the headings in the published files that no build wrote.

    If the manifest does not say which ones a build wrote, those that are not among the `new` ones.
    """
    if plan.published is None or plan.published.manifest is None:
        return set()
    headings = plan.published.manifest.headings
    return _headings(plan.published_drafts) - (new if headings is None else {*headings})


def _parsed(plan: Plan, texts: Mapping[str, str]) -> list[Draft]:
    return [markdown.parse(name, plan.request.feature, text)[0] for name, text in texts.items()]


def _headings(drafts: Iterable[Draft]) -> set[str]:
    return {
        fact_text.heading_id(draft.name, section.heading)
        for draft in drafts
        for section in draft.sections
        if section.heading
    }


def _headings_of_builds(plan: Plan, texts: Mapping[str, str], new: set[str]) -> set[str]:
    """The ids of the `new` headings, and of earlier builds' that are left for people's lines."""
    manifest = plan.published.manifest if plan.published is not None else None
    earlier = manifest.headings if manifest is not None else None
    return new | (_headings(_parsed(plan, texts)) & {*(earlier or ())})


def _texts(
    plan: Plan, drafts: tuple[Draft, ...], old: Mapping[str, str], of_people: Collection[str]
) -> dict[str, str]:
    """The texts to publish; `of_people` are ids of fences and headings, which stay where they are.

    Edited files keep their `old` text besides the drafts' facts. One that has no facts any more
    stays while it says anything else.
    """
    known = {draft.name for draft in drafts}
    without = (Draft(name, plan.request.feature) for name in old if name not in known)
    texts = {
        draft.name: hand_edits.render_into(old[draft.name], draft, of_people)
        if draft.name in old
        else markdown.render(draft)
        for draft in (*drafts, *without)
    }
    return {
        name: text for name, text in texts.items() if name in known or hand_edits.says_more(text)
    }


def _of_builds(
    plan: Plan, texts: Mapping[str, str], checked: Checked
) -> Iterator[tuple[str, Fact]]:
    """Each fact that no person wrote, with its file, in reading order."""
    keys: dict[bool, set[fact_text.FactKey]] = {True: set(), False: set()}
    for one in checked.verdicts:
        keys[one.by_person].add(fact_text.fact_key(one.file, one.fact))
    built = {id_ for id_, _ in keys[False]}
    for row in FILES:
        draft = markdown.parse(row.name, plan.request.feature, texts.get(row.name, ""))[0]
        for fact in draft.facts:
            key = fact_text.fact_key(row.name, fact)
            if key[0] in built and key not in keys[True]:
                yield row.name, fact
