"""One build: evidence, drafts, checks, the new dossier in place. Its caller holds the feature's lock."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from preread import (
    cache,
    check,
    dossier,
    facts,
    prompt,
    publish,
    published,
    replies,
    similar,
    spending,
)
from preread.build_key import recipe
from preread.builders import CLAUDE, DRAFTED, STATIC, static, summary
from preread.errors import Cancelled, PrereadError
from preread.evidence.collect import collect
from preread.infra import atomic
from preread.layout import BY_NAME, FILES, REQUIRED
from preread.models import (
    Checked,
    Draft,
    Evidence,
    Fault,
    How,
    LoadReply,
    Manifest,
    Order,
    Outcome,
    Problem,
    Request,
)
from preread.published import Published
from preread.services import Services, step

SUMMARY = "summary.md"
BODY = tuple(name for name in REQUIRED if name != SUMMARY)  # required, and no index of the others
HISTORY = {"reported", "failed", "again"}  # findings that are a history of failures
MOST_LOST = 0.25  # of a draft's facts; with more it is rejected
BACKGROUND = "A deeper dossier is being built in the background; call load_context again in a minute or two for it."


@dataclass(frozen=True)
class Plan:
    """Who makes which file: the model drafts `asked`, `kept` stands as it is, the static builder writes the others."""

    request: Request
    asked: tuple[str, ...] = ()
    kept: tuple[Draft, ...] = ()
    before: dict[str, Draft] = field(
        default_factory=dict
    )  # what a model drafted earlier for the same request
    standing: Published | None = None
    how: How = "built"


@dataclass(frozen=True)
class Made:
    """What came of a build before it is published."""

    checked: Checked
    drafted: tuple[str, ...]  # files that hold a model's facts
    missing: tuple[str, ...]  # files that the model was to draft now, and did not
    fault: Fault | None
    own: tuple[
        str, ...
    ]  # ids of the facts that are not people's: those go when the builder no longer finds them
    came: bool  # whether the model drafted anything that holds


async def build(services: Services, request: Request) -> LoadReply:
    """Make the dossier that is asked for, or add files to the one that stands.

    Where the setting `deepen` wants it, a dossier without the model's new drafts is offered first.
    """
    started = time.time()
    evidence = await step(collect, services, request)
    plan = await step(_plan, services, request, evidence)
    offer = services.progress.offer
    if plan.asked and services.settings.deepen == "background" and offer is not None:
        reply = await _early(services, plan, evidence, started)
        offer(reply.model_copy(update={"warnings": (*reply.warnings, BACKGROUND)}))
    return await _make(services, plan, evidence, started)


async def _early(services: Services, plan: Plan, evidence: Evidence, started: float) -> LoadReply:
    """What serves until the model has drafted: what stands, if files are only added to it."""
    if plan.standing is not None and plan.how == "extended":
        return replies.standing(
            services, plan.request, plan.standing, "cached", time.time() - started
        )
    light = plan.request.model_copy(update={"level": "light"})
    early = replace(plan, request=light, asked=(), kept=tuple(plan.before.values()))
    return await _make(services, early, evidence, started)


def _plan(services: Services, request: Request, evidence: Evidence) -> Plan:
    if request.auto and any(finding.kind in HISTORY for finding in evidence.findings):
        request = request.model_copy(update={"level": "full"})
    asked = DRAFTED[request.level]
    found = published.read(services.layout, request.feature)
    manifest = found.manifest if found is not None else None
    if found is None or manifest is None:
        return Plan(request, _in_order(request.extend or asked))
    same = all(
        getattr(request, key) == getattr(manifest, key)
        for key in ("ticket", "description", "scope")
    )
    texts = {name: text for name, text in found.texts.items() if same and name in manifest.drafted}
    before = {name: dossier.parse(name, request.feature, text)[0] for name, text in texts.items()}
    extend = request.extend or (_lacking(services, request, manifest) if before else ())
    if extend:
        extend = _in_order((*extend, SUMMARY))
        kept = tuple(draft for name, draft in before.items() if name not in extend)
        return Plan(request, extend, kept, before, found, "extended")
    if request.force:
        return Plan(request, asked, before=before, standing=found)
    # What the model drafted is not given up for a build at a lower level.
    kept = () if asked else tuple(before.values())
    return Plan(request, _in_order((*asked, *before)) if asked else (), kept, before, found)


def _in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(row.name for row in FILES if row.name in names)


def _lacking(services: Services, request: Request, manifest: Manifest) -> tuple[str, ...]:
    """The files that a deeper level adds to a dossier that holds in all other respects; none for a rebuild."""
    if request.force or manifest.status != "ok" or manifest.level == "light":
        return ()
    shallower = request.model_copy(update={"level": manifest.level, "auto": False})
    if not cache.lookup(services, shallower, partial(recipe, services)).covers:
        return ()
    there = {*DRAFTED[manifest.level], *manifest.drafted}
    return tuple(name for name in DRAFTED[request.level] if name not in there)


async def _make(services: Services, plan: Plan, evidence: Evidence, started: float) -> LoadReply:
    request = plan.request
    staging = await step(publish.stage, services, request.feature)
    try:
        outcome = await _draft(services, plan, evidence, staging)
        made = await step(_assemble, services, plan, evidence, staging, outcome)
        manifest = _manifest(services, plan, evidence, outcome, made)
        in_vain = request.extend and not made.came
        if not in_vain:
            await step(publish.publish, services, staging, manifest)
    finally:
        import anyio.to_thread

        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(atomic.remove, staging)
    run = replies.run_record(
        manifest, made.checked, outcome.model_copy(update={"fault": made.fault}), started
    )
    published.record(services.layout, request.feature, run)
    warnings = [*evidence.notes, *outcome.warnings]
    if plan.standing is None:
        warnings += await step(similar.warnings, services.layout, manifest)
    if in_vain and made.fault is not None:
        return replies.not_extended(services, request, run, made.fault, warnings)
    return replies.built(services, request, run, plan.how, [*warnings, *await _index(services)])


def _manifest(
    services: Services, plan: Plan, evidence: Evidence, outcome: Outcome, made: Made
) -> Manifest:
    request, earlier = plan.request, plan.standing.manifest if plan.standing else None
    return Manifest(
        feature=request.feature,
        ticket=request.ticket,
        description=request.description,
        scope=request.scope,
        level=request.level,
        builder=CLAUDE.name if made.drafted else STATIC.name,
        model=outcome.model if made.came else earlier.model if earlier and made.drafted else "",
        status=_status(made),
        fault=made.fault if made.missing else None,
        drafted=made.drafted,
        missing=made.missing,
        recipe=recipe(services, request.level),
        used=evidence.used,
        spans=made.checked.spans,
        facts=made.own,
    )


async def _index(services: Services) -> list[str]:
    """Index the facts; the index is derived, and the dossier stands without it."""
    try:
        await step(facts.index, services, check.check_unbudgeted)
    except Cancelled:
        raise
    except PrereadError as error:
        return [f"Its facts could not be indexed: {error.message}"]
    return []


async def _draft(services: Services, plan: Plan, evidence: Evidence, staging: Path) -> Outcome:
    """Have the model draft what it is asked for; what each run of it costs is written down, however it ends."""
    if not plan.asked:
        return Outcome()
    standing = {draft.name: dossier.render(draft) for draft in plan.kept}
    text = await step(prompt.later, services, plan.request, evidence, staging, plan.asked, standing)
    if not await step(spending.allows, services):
        return Outcome(fault=spending.refusal(services))
    review, spent = (
        partial(_review, services, plan, staging),
        partial(spending.add, services, plan.request.feature),
    )
    return await CLAUDE.build(
        services, Order(plan.request, evidence, staging, plan.asked, text, review, spent)
    )


def _drafted(
    services: Services, plan: Plan, staging: Path
) -> tuple[tuple[Draft, ...], tuple[Problem, ...]]:
    """The drafts that were asked for; others are named as problems."""
    drafts, problems = check.read_staged(services, plan.request.feature, staging)
    unasked = [draft for draft in drafts if draft.name not in plan.asked]
    problems += tuple(
        Problem(draft.name, 1, "E_FILE_NAME", "was not asked for") for draft in unasked
    )
    return tuple(draft for draft in drafts if draft.name in plan.asked), problems


def _alone(
    services: Services, plan: Plan, staging: Path, answers: Iterable[str]
) -> tuple[tuple[Draft, ...], Checked]:
    """The drafts as they are and as they hold; external sources only by what servers answered in this run."""
    drafts, problems = _drafted(services, plan, staging)
    feature = plan.request.feature
    checked = partial(check.check, services, feature, drafts, problems=problems, budget=False)
    return drafts, checked(external=answers, trust_published=False)


def _review(services: Services, plan: Plan, staging: Path, answers: Iterable[str]) -> str:
    """What is wrong with the drafts, for who drafted them; empty when all that matters holds."""
    drafts, checked = _alone(services, plan, staging, answers)
    held = {draft.name: len(draft.facts) for draft in checked.drafts}
    missing = [name for name in plan.asked if name in BODY and not held.get(name)]
    lost = [
        draft.name
        for draft in drafts
        if held.get(draft.name, 0) < (1 - MOST_LOST) * len(draft.facts)
    ]
    if not (missing or lost):
        return ""
    absent = tuple(
        Problem(name, 1, "E_FILE_MISSING", "is required, and holds no fact") for name in missing
    )
    return prompt.findings((*absent, *checked.problems))


def _assemble(
    services: Services, plan: Plan, evidence: Evidence, staging: Path, outcome: Outcome
) -> Made:
    """The files of all builders, checked together: the model's that hold, what stood before, the static builder's."""
    services.progress.say("checking every source", 4, 5)
    request = plan.request
    _, alone = _alone(services, plan, staging, outcome.external)
    held = {draft.name: draft for draft in alone.drafts if draft.facts}
    fault = outcome.fault or _left_out(plan, held)
    lacking = [name for name in plan.asked if name not in held] if fault else []
    earlier = [plan.before[name] for name in lacking if name in plan.before]
    chosen = {
        draft.name: draft
        for draft in (*_that_hold(services, plan, (*earlier, *plan.kept)), *held.values())
    }
    others = [draft for draft in static.drafts(request, evidence) if draft.name not in chosen]
    alone = replace(
        alone, cut=alone.cut + static.left_out(evidence, BY_NAME.keys() - chosen.keys())
    )
    checked, own = _together(services, plan, evidence, (*chosen.values(), *others), alone, outcome)
    _restage(staging, checked.drafts)
    written = {draft.name for draft in checked.drafts if draft.facts}
    missing = tuple(name for name in lacking if name in written or name in REQUIRED)
    drafted = tuple(sorted(name for name in chosen if name in written))
    return Made(checked, drafted, missing, fault, own, bool(held))


def _that_hold(services: Services, plan: Plan, drafts: tuple[Draft, ...]) -> list[Draft]:
    """Of earlier drafts, those of which anything still holds: the static builder writes the others."""
    checked = check.check(services, plan.request.feature, drafts, budget=False)
    return [draft for draft, held in zip(drafts, checked.drafts, strict=True) if held.facts]


def _left_out(plan: Plan, held: dict[str, Draft]) -> Fault | None:
    """A model that finished, and left a required file, or all that is to be added, without one fact that holds."""
    names = [name for name in plan.asked if name not in held and (name in BODY or not held)]
    if not names:
        return None
    return Fault(
        code="E_DRAFTS",
        reason=f"no fact of the model's {' and '.join(names)} holds",
        hint="See what was dropped and why: preread status FEATURE. Build again with force.",
    )


def _status(made: Made) -> str:
    if not made.missing:
        return "ok"
    return "degraded" if not made.came or any(name in made.missing for name in BODY) else "partial"


def _together(
    services: Services,
    plan: Plan,
    evidence: Evidence,
    drafts: tuple[Draft, ...],
    alone: Checked,
    outcome: Outcome,
) -> tuple[Checked, tuple[str, ...]]:
    """Check everything against the budget, with what people wrote; the summary comes last if nobody drafted it."""
    request = plan.request
    everything, people = check.with_user_facts(services, request.feature, drafts)
    ranks = {finding.text: finding.score for finding in evidence.findings}
    checking = partial(
        check.check, services, request.feature, budget=True, ranks=ranks, external=outcome.external
    )
    before = replace(alone, drafts=(), verdicts=())
    checked = checking(everything, problems=alone.problems, before=before)
    if not any(draft.name == SUMMARY and draft.facts for draft in checked.drafts):
        index = summary.summarise(request, evidence, checked)
        others = tuple(draft for draft in checked.drafts if draft.name != SUMMARY)
        checked = checking((*others, index), problems=checked.problems, before=checked)
    return checked, tuple(sorted(_ids(checked.drafts) - people))


def _ids(drafts: tuple[Draft, ...]) -> set[str]:
    return {dossier.fact_id(draft.name, fact.text) for draft, _, fact in dossier.all_facts(drafts)}


def _restage(staging: Path, drafts: tuple[Draft, ...]) -> None:
    for path in staging.iterdir():
        atomic.remove(path)
    for draft in drafts:
        atomic.write(staging / draft.name, dossier.render(draft).encode())
