"""`workflow`: how far each feature is, and what comes next."""

from pydantic import Field

from preread import aliases
from preread.dossier import published
from preread.gates.feature_names import is_feature
from preread.infra.reading import listed
from preread.models import Model
from preread.operations.registry import FEATURE, Operation, RequestModel, threaded
from preread.operations.workflow import definitions
from preread.operations.workflow.definitions import Workflow, log_path
from preread.operations.workflow.progress import Progress, Project
from preread.services import Services

FINISHED = "finished"


class StateRequest(RequestModel):
    """Which feature."""

    feature: str | None = Field(None, description=FEATURE + " Default: all that were begun.")


class FeatureState(Model):
    """How far one feature is."""

    feature: str
    workflow: str
    stage: str = Field(description="The first stage that is not done; `finished` after the last.")
    done: tuple[str, ...] = Field(description="The stages before it.")
    left: tuple[str, ...] = Field(description="What the stage still needs.")
    next: str = Field(description="What to do now.")
    last_run: str = Field("", description="How its tests last ended; empty if they never ran.")
    rounds: int = Field(0, description="Rounds of fixes in its run log.")


class StateReply(Model):
    """The features with started work."""

    features: tuple[FeatureState, ...]
    workflows: dict[str, str] = Field(description="Every workflow, with what it is for.")


def _state(services: Services, request: StateRequest) -> StateReply:
    workflows = definitions.all_workflows(services.layout)
    if request.feature is not None:
        names = [aliases.resolve(services.layout, request.feature).feature]
    else:
        names = begun(services)
    project = Project(services)
    found = [of_feature(Progress(project, name), workflows) for name in names]
    docs = {workflow.name: workflow.doc for workflow in workflows.values()}
    return StateReply(features=tuple(found), workflows=docs)


def begun(services: Services) -> list[str]:
    """The features with a dossier or a run log."""
    layout = services.layout
    paths = listed(layout.real(layout.run_logs), ".md")
    logs = {path.stem for path in paths if is_feature(path.stem)}
    return sorted({*published.features(layout), *logs} - {"_project"})


def of_feature(progress: Progress, workflows: dict[str, Workflow]) -> FeatureState:
    workflow = workflows.get(progress.workflow) or workflows[definitions.DEFAULT]
    current = progress.current(workflow)
    names = [stage.name for stage in workflow.stages]
    done = names if current is None else names[: names.index(current.name)]
    run, log = progress.last_run, progress.log
    values = {
        "feature": progress.feature,
        "log": log_path(progress.services.layout, progress.feature),
    }
    return FeatureState(
        feature=progress.feature,
        workflow=workflow.name,
        stage=current.name if current else FINISHED,
        done=tuple(done),
        left=progress.left(current) if current else (),
        next=filled(current.next, values) if current else "Nothing is left to do.",
        last_run=run.outcome if run else "",
        rounds=log.rounds if log else 0,
    )


def filled(text: str, values: dict[str, str]) -> str:
    """A text with `{name}` replaced; other braces stay, because a project wrote the text."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


OPERATION = Operation(
    name="workflow.state",
    request=StateRequest,
    reply=StateReply,
    effect="read",
    doc="Say how far each feature is in its workflow, and what comes next.",
    example="preread workflow checkout",
    run=threaded(_state),
    command="workflow",
    pages="features",
    positional=("feature",),
)
