"""Checks the drafts of all builders and puts them together into one dossier."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from preread import check, dossier, prompt
from preread.build_plan import SUMMARY, Plan
from preread.builders import static
from preread.infra import atomic
from preread.layout import REQUIRED
from preread.models import Checked, Draft, Evidence, Fault, Outcome, Problem
from preread.services import Services

BODY = tuple(name for name in REQUIRED if name != SUMMARY)  # the required files with facts
MAX_LOST = 0.25  # a draft that loses a larger share of its facts goes back to the model


@dataclass(frozen=True)
class Assembled:
    """The files of a new dossier before they are published."""

    checked: Checked
    drafted: tuple[str, ...]  # files with a model's facts
    missing: tuple[str, ...]  # files that the model was to draft now, and did not
    fault: Fault | None
    # Ids of the facts that people did not write: they go when a builder no longer finds them.
    own_facts: tuple[str, ...]
    model_contributed: bool  # whether any draft of the model passed the check

    @property
    def status(self) -> str:
        if not self.missing:
            return "ok"
        body_is_missing = any(name in self.missing for name in BODY)
        return "degraded" if not self.model_contributed or body_is_missing else "partial"


def review(services: Services, plan: Plan, staging: Path, answers: Iterable[str]) -> str:
    """What is wrong with the model's drafts, in words for the model; empty if they will do."""
    drafts, checked = _check_model_drafts(services, plan, staging, answers)
    facts = {draft.name: len(draft.facts) for draft in checked.drafts}
    missing = [name for name in plan.to_draft if name in BODY and not facts.get(name)]
    lost = [
        draft.name
        for draft in drafts
        if facts.get(draft.name, 0) < (1 - MAX_LOST) * len(draft.facts)
    ]
    if not (missing or lost):
        return ""
    absent = (
        Problem(name, 1, "E_FILE_MISSING", "is required, and has no fact that checks out")
        for name in missing
    )
    return prompt.review_message((*absent, *checked.problems))


def assemble(
    services: Services, plan: Plan, evidence: Evidence, staging: Path, outcome: Outcome
) -> Assembled:
    """Check the files together: the model's, those that were there before, the static builder's."""
    services.progress.say("checking every source", 4, 5)
    _, alone = _check_model_drafts(services, plan, staging, outcome.external)
    valid = {draft.name: draft for draft in alone.drafts if draft.facts}
    fault = outcome.fault or _fault_of_empty_drafts(plan, valid)
    lacking = [name for name in plan.to_draft if name not in valid] if fault else []
    earlier = [plan.earlier[name] for name in lacking if name in plan.earlier]
    still_valid = _still_valid(services, plan, (*earlier, *plan.kept))
    chosen = {draft.name: draft for draft in (*still_valid, *valid.values())}
    others = [d for d in static.drafts(plan.request, evidence) if d.name not in chosen]
    drafts = (*chosen.values(), *others)
    checked, own_facts = _check_together(services, plan, evidence, drafts, alone, outcome)
    _write(staging, checked.drafts)
    written = {draft.name for draft in checked.drafts if draft.facts}
    return Assembled(
        checked=checked,
        drafted=tuple(sorted(name for name in chosen if name in written)),
        missing=tuple(name for name in lacking if name in written or name in REQUIRED),
        fault=fault,
        own_facts=own_facts,
        model_contributed=bool(valid),
    )


def _check_model_drafts(
    services: Services, plan: Plan, staging: Path, answers: Iterable[str]
) -> tuple[tuple[Draft, ...], Checked]:
    """The model's drafts, as written and as checked.

    External sources count only if servers gave them among the `answers` of this run.
    """
    drafts, problems = _model_drafts(services, plan, staging)
    feature = plan.request.feature
    checked = check.check(
        services,
        feature,
        drafts,
        problems=problems,
        budget=False,
        external=answers,
        trust_published=False,
    )
    return drafts, checked


def _model_drafts(
    services: Services, plan: Plan, staging: Path
) -> tuple[tuple[Draft, ...], tuple[Problem, ...]]:
    """The drafts that were asked for; every other file is a problem."""
    drafts, problems = check.read_staged(services, plan.request.feature, staging)
    unasked = tuple(
        Problem(draft.name, 1, "E_FILE_NAME", "was not asked for")
        for draft in drafts
        if draft.name not in plan.to_draft
    )
    return tuple(draft for draft in drafts if draft.name in plan.to_draft), problems + unasked


def _still_valid(services: Services, plan: Plan, drafts: tuple[Draft, ...]) -> list[Draft]:
    """The earlier drafts with a fact that still checks out; static drafts replace the others."""
    checked = check.check(services, plan.request.feature, drafts, budget=False)
    return [draft for draft, left in zip(drafts, checked.drafts, strict=True) if left.facts]


def _fault_of_empty_drafts(plan: Plan, valid: dict[str, Draft]) -> Fault | None:
    """The fault of a model that finished but left a required file, or all files, without facts."""
    names = [name for name in plan.to_draft if name not in valid and (name in BODY or not valid)]
    if not names:
        return None
    return Fault(
        code="E_DRAFTS",
        reason=f"no fact of the model's {' and '.join(names)} checks out",
        hint="See what was dropped and why: preread status FEATURE. Build again with force.",
    )


def _check_together(
    services: Services,
    plan: Plan,
    evidence: Evidence,
    drafts: tuple[Draft, ...],
    alone: Checked,
    outcome: Outcome,
) -> tuple[Checked, tuple[str, ...]]:
    """Check all files against one budget, together with what people wrote.

    Returns the ids of the builders' facts as well.
    """
    request = plan.request
    everything, people = check.with_user_facts(services, request.feature, drafts)
    checked = check.check(
        services,
        request.feature,
        everything,
        problems=alone.problems,
        budget=True,
        ranks={finding.text: finding.score for finding in evidence.findings},
        before=replace(alone, drafts=(), verdicts=()),
        external=outcome.external,
    )
    return checked, tuple(sorted(_ids(checked.drafts) - people))


def _ids(drafts: tuple[Draft, ...]) -> set[str]:
    return {dossier.fact_id(draft.name, fact.text) for draft, _, fact in dossier.all_facts(drafts)}


def _write(staging: Path, drafts: tuple[Draft, ...]) -> None:
    """Replace the content of the staging folder by these drafts."""
    for path in staging.iterdir():
        atomic.remove(path)
    for draft in drafts:
        atomic.write(staging / draft.name, dossier.render(draft).encode())
