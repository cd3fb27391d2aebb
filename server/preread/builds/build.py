"""One build: evidence, drafts, checks, publishing. The caller holds the feature's lock."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from preread import (
    cache,
    check,
    facts,
    inputs,
    passed_checks,
    prompt,
    publish,
    signatures,
    similar,
    versions,
)
from preread.builders import CLAUDE
from preread.builds import assembly, manifests, recording, replies
from preread.builds.assembly import Assembled
from preread.builds.build_plan import Plan, make_plan, refresh_plan
from preread.dossier import build_records, markdown, published
from preread.dossier.build_records import BuildRecord
from preread.dossier.published import Published
from preread.errors import Cancelled, PrereadError
from preread.evidence.collect import collect
from preread.infra import atomic
from preread.models import (
    Evidence,
    Fault,
    LoadReply,
    Manifest,
    Order,
    Outcome,
    Request,
)
from preread.records import spending
from preread.services import Services, step
from preread.versions import State, Version

BACKGROUND = (
    "A deeper dossier is being built in the background; "
    "`preread load {feature}` gets it in a minute or two."
)


class RefreshDeferred(Exception):  # noqa: N818 - a state, not a failure
    """A refresh would lose facts or, without a caller that waits for it, pay for a model."""


async def build(
    services: Services, request: Request, stale: Published | None = None, *, careful: bool = False
) -> LoadReply:
    """Build the requested dossier, add files to the published one, or refresh it if it is `stale`.

    Raises RefreshDeferred if a refresh cannot read what could be read before; with `careful`, also
    if a model would have to draft or anything cannot be read.

    With the setting `deepen = "background"`, a dossier without the model's new drafts is offered
    to the caller first.
    """
    started = time.time()
    services.progress.say("reading the project's files", 0, 5)
    signature = await step(_project_signature, services)
    now = await step(versions.state, services, request)
    restored = await step(_restore, services, request, stale, now) if stale else None
    if restored is not None:
        passed_checks.note_computed(services, request.feature, signature)
        return restored
    may_draft = stale is None and request.level != "light"
    evidence = await step(collect, services, request, located=may_draft)
    if stale is None:
        plan = await step(make_plan, services, request, evidence)
    else:
        plan = await step(refresh_plan, services, request, stale)
    if plan.to_draft and careful:
        raise RefreshDeferred
    if plan.to_draft and not may_draft:
        evidence = await step(collect, services, request)
    if plan.to_draft and services.settings.deepen == "background":
        await _offer(services, plan, evidence, started)
    reply = await draft_and_publish(services, plan, evidence, started, careful=careful)
    passed_checks.note_computed(services, request.feature, signature)
    await step(versions.keep, services, request.feature, stale, now)
    return reply


def _project_signature(services: Services) -> str:
    return signatures.of_project(services.tree)


def restorable(
    services: Services, request: Request, stale: Published, now: State
) -> Version | None:
    """The stored generation for exactly this state of the project, if its sources are valid."""
    version = versions.find(services, stale, now)
    if version is None:
        return None
    is_fresh = cache.is_fresh(services, request, Published(version.manifest, version.texts, ()))
    return version if is_fresh else None


def _restore(
    services: Services, request: Request, stale: Published, now: State
) -> LoadReply | None:
    """Publish the stored generation for exactly this state of the project, if there is one."""
    begun = time.time()
    version = restorable(services, request, stale, now)
    if version is None:
        return None
    staging = publish.stage(services, request.feature)
    try:
        for name, text in version.texts.items():
            atomic.write(staging / name, text.encode("utf-8", "surrogatepass"))
        publish.publish(services, staging, version.manifest, "refreshed")
    finally:
        atomic.remove(staging)
    lost = recording.lost_since(stale, Published(version.manifest, version.texts, ()))
    shown = published.read(services.layout, request.feature)
    found = recording.refresh_result(services.layout, stale, shown, lost)
    earlier = build_records.read(services.layout, request.feature)
    if (run := version.run or earlier) is not None:
        run = recording.with_refresh(run, found, earlier)
        build_records.write(services.layout, request.feature, run)
    versions.keep(services, request.feature, stale, now)
    warnings = index_facts(services)
    reply = replies.built(services, request, time.time() - begun, "refreshed", warnings)
    return replies.refreshed(reply, lost, found)


async def _offer(
    services: Services, plan: Plan, evidence: Evidence, started: float, fault: Fault | None = None
) -> None:
    """Offer a dossier without the model's new drafts; `fault` says why the model takes longer."""
    offer = services.progress.offer
    if offer is None:
        return
    reply = await _early(services, plan, evidence, started)
    later = BACKGROUND.format(feature=plan.request.feature)
    update: dict[str, object] = {"warnings": (*reply.warnings, later)}
    if fault is not None:
        why = f"This is the static builder's stand-in: {fault.reason}."
        update = {"status": "degraded", "code": fault.code, "hint": fault.hint or None}
        update["warnings"] = (*reply.warnings, why, later)
    offer(reply.model_copy(update=update))


async def _early(services: Services, plan: Plan, evidence: Evidence, started: float) -> LoadReply:
    """The reply to use until the model is done.

    It is the published dossier if the model only adds files to it, otherwise a static one.
    """
    if plan.published is not None and plan.how == "extended":
        seconds = time.time() - started
        return replies.from_published(services, plan.request, plan.published, "cached", seconds)
    light = plan.request.model_copy(update={"level": "light"})
    early = replace(plan, request=light, to_draft=(), kept=tuple(plan.earlier.values()))
    return await draft_and_publish(services, early, evidence, started)


async def draft_and_publish(
    services: Services, plan: Plan, evidence: Evidence, started: float, *, careful: bool = False
) -> LoadReply:
    """Draft, check and publish what the plan says. Raises RefreshDeferred as `build` does."""
    staging = await step(publish.stage, services, plan.request.feature)
    try:
        outcome = await _draft(services, plan, evidence, staging, started)
        made = await step(assembly.assemble, services, plan, evidence, staging, outcome)
        plan = replace(plan, lost=(*plan.lost, *manifests.dropped(plan, made)))
        returned = await step(replies.returned_facts, services, plan.published, made)
        await step(publish.put_staged, staging, made.texts)
        _refuse_poorer(services, plan, careful=careful)
        manifest = manifests.make_manifest(services, plan, evidence, outcome, made)
        if made.model_contributed or not plan.request.extend:
            await step(publish.publish, services, staging, manifest, plan.how)
    finally:
        import anyio.to_thread

        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(atomic.remove, staging)
    outcome = outcome.model_copy(update={"fault": made.fault})
    run = recording.record_of(manifest, made.checked, outcome, started)
    warnings = [
        *evidence.notes,
        *outcome.warnings,
        *returned,
        *replies.removed(made),
        *replies.renumbered(made),
        *replies.joined(made),
    ]
    return await _recorded(services, plan, made, manifest, run, warnings)


async def _recorded(
    services: Services,
    plan: Plan,
    made: Assembled,
    manifest: Manifest,
    run: BuildRecord,
    warnings: list[str],
) -> LoadReply:
    """Record the run, index what was published, and compose the reply."""
    request, seconds = plan.request, run.stats.seconds
    before = plan.published if plan.how == "refreshed" else None
    if before is not None:
        now = published.read(services.layout, request.feature)
        refresh = recording.refresh_result(services.layout, before, now, plan.lost)
        earlier = build_records.read(services.layout, request.feature)
        run = recording.after_refresh(earlier, run, refresh)
    build_records.write(services.layout, request.feature, run)
    if services.tree.unreadable:
        warnings.append(f"Without what cannot be read: {services.tree.troubles}.")
    if plan.published is None:
        warnings += await step(similar.warnings, services.layout, manifest)
    if request.extend and not made.model_contributed and made.fault is not None:
        return replies.not_extended(services, request, run, made.fault, warnings)
    warnings += await step(index_facts, services)
    reply = replies.built(services, request, seconds, plan.how, warnings)
    return reply if before is None else replies.refreshed(reply, plan.lost, refresh)


async def without_publishing(
    services: Services, request: Request, error: PrereadError
) -> LoadReply:
    """A reply with the static builder's dossier, which is not saved because of `error`.

    Raises what reading the project raises.
    """
    started = time.time()
    light = request.model_copy(update={"level": "light", "extend": ()})
    evidence = await step(collect, services, light)
    plan = await step(make_plan, services, light, evidence)
    staging = services.layout.staging  # unused, because no model drafts anything
    made = await step(assembly.assemble, services, plan, evidence, staging, Outcome())
    seconds = time.time() - started
    return replies.unsaved(services, made.texts, made.checked, seconds, error)


def _refuse_poorer(services: Services, plan: Plan, *, careful: bool) -> None:
    """Raise RefreshDeferred if a refresh would drop facts from files that cannot be read now."""
    tree, earlier = services.tree, plan.published.manifest if plan.published else None
    if plan.how == "refreshed" and earlier is not None:
        careful = careful or bool(
            tree.failed or inputs.unreadable(tree).keys() - earlier.used.keys()
        )
    if careful and tree.troubles:
        raise RefreshDeferred


def index_facts(services: Services) -> list[str]:
    """Index the facts. The index is derived, so the dossier is published even if this fails."""
    try:
        facts.index(services, check.check_unbudgeted)
    except Cancelled:
        raise
    except PrereadError as error:
        return [f"Its facts could not be indexed: {error.message}"]
    return []


async def _draft(
    services: Services, plan: Plan, evidence: Evidence, staging: Path, started: float
) -> Outcome:
    """Have the model draft its files; the cost of each run is recorded, however it ends."""
    if not plan.to_draft or services.tree.failed:  # do not pay a model for partial evidence
        return Outcome(fault=manifests.why_incomplete(services))
    existing = {draft.name: markdown.render(draft) for draft in plan.kept}
    changed = tuple(f"{one.file}: {one.text}" for one in (*plan.lost_before, *plan.lost))
    await step(publish.require_place, services, plan.request.feature)
    prepare = partial(prompt.prepare, services, plan.request, evidence, staging, plan.to_draft)
    render = partial(prepare, existing, changed=changed)
    warnings: tuple[str, ...] = ()
    try:
        text = await step(render)
    except PrereadError as error:
        if error.code != "E_PROMPT":
            raise
        warnings = (f"{error.message} {error.hint} Preread's own template was used instead.",)
        text = await step(render, own=False)
    review = partial(assembly.review, services, plan, staging)
    spent = partial(spending.add, services, plan.request.feature)
    delayed = partial(_offer_delayed, services, plan, evidence, started)
    order = Order(plan.request, evidence, staging, plan.to_draft, text, review, spent, delayed)
    with spending.reservation(services) as fits:
        if not fits:
            return Outcome(fault=await step(spending.refusal, services))
        outcome = await CLAUDE.build(services, order)
    return outcome.model_copy(update={"warnings": (*warnings, *outcome.warnings)})


def _offer_delayed(
    services: Services, plan: Plan, evidence: Evidence, started: float, fault: Fault
) -> None:
    """Offer a static dossier, unless `deepen = "background"` has done so. In the builder's thread.

    Runs an event loop of its own: the caller's may be cancelled while its thread waits here.
    """
    import anyio

    if services.settings.deepen == "wait":
        anyio.run(_offer, services, plan, evidence, started, fault)
