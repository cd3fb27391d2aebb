"""The manifest of a build."""

from collections import Counter
from collections.abc import Iterator

from preread import cache, inputs
from preread.builders import CLAUDE, STATIC
from preread.builds.assembly import Assembled
from preread.builds.build_key import build_key
from preread.builds.build_plan import Plan
from preread.dossier import fact_text
from preread.errors import Unreadable
from preread.models import Evidence, Fault, LostFact, Manifest, Outcome, Wording
from preread.services import Services

MAX_LOST = 100  # facts that a manifest lists as lost


def make_manifest(
    services: Services, plan: Plan, evidence: Evidence, outcome: Outcome, made: Assembled
) -> Manifest:
    """The manifest of a build; that of a refresh says the same as before about the model's part."""
    request, earlier = plan.request, plan.published.manifest if plan.published else None
    incomplete = why_incomplete(services)
    model = outcome.model
    if not made.model_contributed:
        model = earlier.model if earlier and made.drafted else ""
    manifest = Manifest(
        feature=request.feature,
        ticket=request.ticket,
        description=request.description,
        scope=request.scope,
        level=request.level,
        builder=CLAUDE.name if made.drafted else STATIC.name,
        model=model,
        status=made.status if incomplete is None else "degraded",
        fault=incomplete or (made.fault if made.missing else None),
        drafted=made.drafted,
        missing=made.missing,
        recipe=build_key(services, request.level),
        cut=services.tree.cut,
        used=evidence.used | inputs.unreadable(services.tree),
        spans=made.spans,
        marks=made.marks,
        unverified=tuple(_unverified(made)),
        facts=made.own_facts,
        cited=made.cited,
        fences=made.fences,
        cited_by_fences=made.cited_by_fences,
        cut_lines=made.cut_lines,
        peoples_fences=made.peoples_fences,
        headings=made.headings,
        wordings=_wordings(plan, made),
        thin=evidence.thin,
        subjects=made.subjects,
        replaced=made.replaced,
        order=made.order,
        sought=made.sought,
        by_hand=made.by_hand,
        lost=_lost(plan, made),
    )
    if plan.how == "refreshed" and earlier is not None:
        kept = ("status", "fault", "missing", "model")
        return manifest.model_copy(update={name: getattr(earlier, name) for name in kept})
    return manifest


def _unverified(made: Assembled) -> Iterator[str]:
    counts = Counter(one.fact.text for one in made.checked.verdicts)
    for one in made.checked.verdicts:
        if one.state == "unverified":
            is_only = counts[one.fact.text] == 1
            yield one.fact.text if is_only else fact_text.with_sources(one.fact)


def dropped(plan: Plan, made: Assembled) -> tuple[LostFact, ...]:
    """What the refresh kept but the check dropped: the lines exist, without what is quoted."""
    if plan.how != "refreshed":
        return ()
    checked = made.checked
    valid = {(one.file, one.fact.text) for one in (*checked.verdicts, *checked.over_budget)}
    facts = (
        LostFact(file=draft.name, text=fact.text, is_changed=True)
        for draft in plan.kept
        for fact in draft.facts
        if (draft.name, fact.text) not in valid
    )
    return (*facts, *made.lost_fences)


def _lost(plan: Plan, made: Assembled) -> tuple[LostFact, ...]:
    """Facts missing from drafts that were kept; newly drafted files lack nothing."""
    kept = {draft.name for draft in plan.kept} & {*made.drafted}
    lost = (one for one in (*plan.lost_before, *plan.lost) if one.file in kept)
    return tuple(dict.fromkeys(lost))[-MAX_LOST:]


def why_incomplete(services: Services) -> Fault | None:
    """Why the evidence is incomplete. An unreadable file loses only its own facts."""
    if not services.tree.failed:
        return None
    reason = "; ".join(services.tree.failed)
    return Fault(code=Unreadable.CODE, reason=reason, hint="Fix that, then try again.")


def _wordings(plan: Plan, made: Assembled) -> tuple[Wording, ...]:
    """The other descriptions that a dossier still covers after files were added to it."""
    earlier = plan.published.manifest if plan.published else None
    if earlier is None or plan.how not in {"extended", "refreshed"}:
        return ()
    now = cache.wording(plan.request.description)
    left = [one for one in earlier.wordings if set(one.facts) <= set(made.own_facts)]
    if earlier.description:
        left.append(Wording(digest=cache.wording(earlier.description)))
    return tuple(one for one in left if one.digest != now)
