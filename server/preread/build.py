"""One build: evidence, drafts, checks, publishing. The caller holds the feature's lock."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from preread import (
    assembly,
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
from preread.assembly import Assembled
from preread.build_key import build_key
from preread.build_plan import Plan, make_plan
from preread.builders import CLAUDE, STATIC
from preread.errors import Cancelled, PrereadError
from preread.evidence.collect import collect
from preread.infra import atomic
from preread.models import Evidence, LoadReply, Manifest, Order, Outcome, Request
from preread.services import Services, step

BACKGROUND = (
    "A deeper dossier is being built in the background; "
    "call load_context again in a minute or two to get it."
)


async def build(services: Services, request: Request) -> LoadReply:
    """Build the requested dossier, or add files to the published one.

    With the setting `deepen = "background"`, a dossier without the model's new drafts is offered
    to the caller first.
    """
    started = time.time()
    evidence = await step(collect, services, request)
    plan = await step(make_plan, services, request, evidence)
    offer = services.progress.offer
    if plan.to_draft and services.settings.deepen == "background" and offer is not None:
        reply = await _early(services, plan, evidence, started)
        offer(reply.model_copy(update={"warnings": (*reply.warnings, BACKGROUND)}))
    return await _make(services, plan, evidence, started)


async def _early(services: Services, plan: Plan, evidence: Evidence, started: float) -> LoadReply:
    """The reply until the model is done: the published dossier if files are only added to it."""
    if plan.published is not None and plan.how == "extended":
        seconds = time.time() - started
        return replies.from_published(services, plan.request, plan.published, "cached", seconds)
    light = plan.request.model_copy(update={"level": "light"})
    early = replace(plan, request=light, to_draft=(), kept=tuple(plan.earlier.values()))
    return await _make(services, early, evidence, started)


async def _make(services: Services, plan: Plan, evidence: Evidence, started: float) -> LoadReply:
    request = plan.request
    staging = await step(publish.stage, services, request.feature)
    try:
        outcome = await _draft(services, plan, evidence, staging)
        made = await step(assembly.assemble, services, plan, evidence, staging, outcome)
        manifest = _manifest(services, plan, evidence, outcome, made)
        nothing_added = request.extend and not made.model_contributed
        if not nothing_added:
            await step(publish.publish, services, staging, manifest)
    finally:
        import anyio.to_thread

        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(atomic.remove, staging)
    outcome = outcome.model_copy(update={"fault": made.fault})
    run = replies.run_record(manifest, made.checked, outcome, started)
    published.record(services.layout, request.feature, run)
    warnings = [*evidence.notes, *outcome.warnings]
    if plan.published is None:
        warnings += await step(similar.told, services.layout, manifest)
    if nothing_added and made.fault is not None:
        return replies.not_extended(services, request, run, made.fault, warnings)
    return replies.built(services, request, run, plan.how, [*warnings, *await _index(services)])


def _manifest(
    services: Services, plan: Plan, evidence: Evidence, outcome: Outcome, made: Assembled
) -> Manifest:
    request, earlier = plan.request, plan.published.manifest if plan.published else None
    model = outcome.model
    if not made.model_contributed:
        model = earlier.model if earlier and made.drafted else ""
    return Manifest(
        feature=request.feature,
        ticket=request.ticket,
        description=request.description,
        scope=request.scope,
        level=request.level,
        builder=CLAUDE.name if made.drafted else STATIC.name,
        model=model,
        status=made.status,
        fault=made.fault if made.missing else None,
        drafted=made.drafted,
        missing=made.missing,
        recipe=build_key(services, request.level),
        used=evidence.used,
        spans=made.checked.spans,
        facts=made.own_facts,
        thin=evidence.thin,
    )


async def _index(services: Services) -> list[str]:
    """Index the facts. The index is derived, so the dossier is published even if this fails."""
    try:
        await step(facts.index, services, check.check_unbudgeted)
    except Cancelled:
        raise
    except PrereadError as error:
        return [f"Its facts could not be indexed: {error.message}"]
    return []


async def _draft(services: Services, plan: Plan, evidence: Evidence, staging: Path) -> Outcome:
    """Have the model draft its files; the cost of each run is recorded, however it ends."""
    if not plan.to_draft:
        return Outcome()
    existing = {draft.name: dossier.render(draft) for draft in plan.kept}
    text = await step(
        prompt.prepare, services, plan.request, evidence, staging, plan.to_draft, existing
    )
    if not await step(spending.allows, services):
        return Outcome(fault=spending.refused(services))
    review = partial(assembly.review, services, plan, staging)
    spent = partial(spending.add, services, plan.request.feature)
    order = Order(plan.request, evidence, staging, plan.to_draft, text, review, spent)
    return await CLAUDE.build(services, order)
