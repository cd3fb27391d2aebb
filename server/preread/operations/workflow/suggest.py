"""`workflow.suggest`: the workflow for a task in words, or a feature's next step."""

import re
from collections.abc import Iterable

from pydantic import Field

from preread import aliases
from preread.models import Model
from preread.operations.registry import FEATURE, Operation, RequestModel, threaded
from preread.operations.workflow import definitions
from preread.operations.workflow.definitions import Workflow
from preread.operations.workflow.progress import Progress, Project
from preread.operations.workflow.state import filled, of_feature
from preread.services import Services

ENOUGH = 2  # words of a workflow in a task, after which more add no confidence


class SuggestRequest(RequestModel):
    """The task, or the feature."""

    task: str | None = Field(None, description="The task, in words.")
    feature: str | None = Field(None, description=FEATURE)
    training_mode: bool = Field(
        False, description="Only explain what fits, without the commands that start it."
    )


class Suggestion(Model):
    """One workflow that may fit."""

    workflow: str
    doc: str
    confidence: float = Field(description="0 to 1: its share of the words that match workflows.")
    reasons: tuple[str, ...]
    start: str = Field("", description="What starts it; empty in training mode.")


class SuggestReply(Model):
    """What to do, best first."""

    suggestions: tuple[Suggestion, ...]
    stage: str = Field("", description="The feature's stage, if it was begun.")
    next: str


def _suggest(services: Services, request: SuggestRequest) -> SuggestReply:
    workflows = definitions.all_workflows(services.layout)
    name = request.feature and aliases.resolve(services.layout, request.feature).feature
    progress = Progress(Project(services), name) if name else None
    fitting = list(_fitting(workflows.values(), request.task or ""))
    if progress is not None and (progress.has_dossier or progress.text or not fitting):
        reply = _continued(progress, workflows, fitting)
    elif fitting:
        reply = _begun(fitting, name)
    elif request.task:
        following = "No workflow matches the task. Begin with its feature: `preread load …`"
        reply = SuggestReply(suggestions=(), next=following)
    else:
        following = "Name the task or the feature, for instance: tests of the login page."
        reply = SuggestReply(suggestions=(), next=following)
    return _only_explained(reply) if request.training_mode else reply


def _continued(
    progress: Progress, workflows: dict[str, Workflow], fitting: list[Suggestion]
) -> SuggestReply:
    """The workflow that the feature is in and its next step first, then others for the task."""
    feature = progress.feature
    state = of_feature(progress, workflows)
    workflow = workflows[state.workflow]
    own = Suggestion(
        workflow=state.workflow,
        doc=workflow.doc,
        confidence=1.0,
        reasons=(
            f"{feature} is at its stage {state.stage}",
            *(f"it lacks: {condition}" for condition in state.left),
        ),
        start=filled(workflow.start, {"feature": feature}),
    )
    others = (one for one in fitting if one.workflow != own.workflow)
    return SuggestReply(suggestions=(own, *others), stage=state.stage, next=state.next)


def _begun(fitting: list[Suggestion], feature: str | None) -> SuggestReply:
    """The workflows for the task, and how to begin the best of them."""
    values = {"feature": feature or "…"}
    found = [one.model_copy(update={"start": filled(one.start, values)}) for one in fitting]
    following = f"Begin {found[0].workflow}, in Claude Code by {found[0].start}"
    following += "" if feature else ", with the feature's name."
    return SuggestReply(suggestions=tuple(found), next=following)


def _only_explained(reply: SuggestReply) -> SuggestReply:
    """The reply for training mode, without what starts a workflow."""
    found = tuple(one.model_copy(update={"start": ""}) for one in reply.suggestions)
    following = f"{found[0].workflow} would fit: {found[0].doc}" if found else None
    return SuggestReply(
        suggestions=found, stage=reply.stage, next=following or "No workflow would fit."
    )


def _fitting(workflows: Iterable[Workflow], task: str) -> Iterable[Suggestion]:
    """The workflows with words in the task, the best first."""
    words = re.findall(r"\w+", task.lower())
    hits = {one.name: sorted(set(words) & set(one.words)) for one in workflows}
    total = sum(map(len, hits.values()))
    ranked = sorted(workflows, key=lambda one: -len(hits[one.name]))
    for one in ranked:
        if said := hits[one.name]:
            share = len(said) / total * min(1.0, len(said) / ENOUGH)
            reasons = tuple(f"the task says `{word}`" for word in said)
            yield Suggestion(
                workflow=one.name, doc=one.doc, confidence=round(share, 2), reasons=reasons,
                start=one.start,
            )  # fmt: skip


OPERATION = Operation(
    name="workflow.suggest",
    request=SuggestRequest,
    reply=SuggestReply,
    effect="read",
    doc="Suggest the workflow for a task, or a feature's next step, with reasons.",
    example="""preread call workflow.suggest '{"task": "the login test is flaky"}'""",
    run=threaded(_suggest),
)
