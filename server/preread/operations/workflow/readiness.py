"""`ready`: whether the work can be merged or released, and what blocks it."""

from collections.abc import Iterator

from pydantic import Field

from preread import aliases, inputs
from preread.builds import staleness
from preread.gates.feature_names import PROJECT
from preread.infra.plural import counted
from preread.models import Model
from preread.operations import published_dossier
from preread.operations.registry import FEATURE, Operation, RequestModel, threaded
from preread.operations.workflow import changes, coverage, definitions
from preread.operations.workflow.progress import Progress, Project
from preread.operations.workflow.state import begun
from preread.services import Services

MAX_NAMED = 5  # tests in one message


class ReadinessRequest(RequestModel):
    """Which feature, and since which commit."""

    feature: str | None = Field(None, description=FEATURE + " Default: all that were begun.")
    base: str | None = Field(
        None, description="The commit to count changes from. Default: where this branch began."
    )


class Blocker(Model):
    """One thing that blocks it."""

    code: str = Field(description="`failing`, `stale`, `run-log` or `debt`.")
    feature: str = Field("", description="Whose; empty for the whole project.")
    message: str
    next: str


class Metrics(Model):
    """What was counted. Values that are unknown here are left out."""

    files_changed: int | None = None
    lines_added: int | None = None
    lines_removed: int | None = None
    coverage: float | None = Field(None, description="Covered lines in percent, by a report.")
    failing: int = 0
    stale: int = Field(0, description="Dossiers that no longer cover what they were built for.")
    unfinished: int = Field(0, description="Run logs that are unfinished or have problems.")
    debt: int | None = Field(None, description="TODO, FIXME, HACK and XXX in added lines.")


class ReadinessReply(Model):
    """Whether it is ready; not if there is a blocker."""

    ready: bool
    blockers: tuple[Blocker, ...]
    metrics: Metrics
    base: str = Field("", description="The commit that changes are counted from.")

    @property
    def ok(self) -> bool:
        return self.ready


def _readiness(services: Services, request: ReadinessRequest) -> ReadinessReply:
    named = request.feature
    names = begun(services) if named is None else [_begun(services, named)]
    inputs.reports(services)  # brings the history of tests up to date
    project = Project(services)
    found = [one for name in names for one in _of_feature(Progress(project, name))]
    if request.feature is None:
        found += _failing_elsewhere(project, names)
    changed = changes.since(services.tree, request.base)
    limit = services.settings.max_debt
    if changed is not None and changed.debt > limit:
        message = f"The added lines have {changed.debt} marks of debt; {limit} are allowed."
        found.append(
            Blocker(code="debt", message=message, next="Settle them, or raise `max_debt`.")
        )
    failing = [
        past for past in project.failing if request.feature is None or names[0] in past.features
    ]
    metrics = Metrics(
        files_changed=changed.files if changed else None,
        lines_added=changed.added if changed else None,
        lines_removed=changed.removed if changed else None,
        coverage=coverage.percent(services.layout),
        failing=len(failing),
        stale=sum(one.code == "stale" for one in found),
        unfinished=sum(one.code == "run-log" for one in found),
        debt=changed.debt if changed else None,
    )
    base = changed.base if changed else ""
    return ReadinessReply(ready=not found, blockers=tuple(found), metrics=metrics, base=base)


def _begun(services: Services, feature: str) -> str:
    """A feature with started work; E_NOT_FOUND for any other, which nothing could block."""
    name = aliases.resolve(services.layout, feature).feature
    if name not in {*begun(services), PROJECT}:
        raise published_dossier.not_found(services.layout, name)
    return name


def _of_feature(progress: Progress) -> Iterator[Blocker]:
    feature, services = progress.feature, progress.services
    services.progress.say(f"checking {feature}")
    if failing := progress.failing:
        yield _failing(failing, feature)
    if progress.has_dossier and (why := _stale(services, feature)):
        message = f"The dossier is stale: {why}"
        yield Blocker(
            code="stale", feature=feature, message=message, next=f"`preread load {feature}`"
        )
    log = progress.log
    if log is not None and (log.problems or not log.finished):
        said = (
            f"{len(log.problems)} problems"
            if log.problems
            else f"it ends at {log.stage or 'its title'}"
        )
        message = (
            f"The run log {definitions.log_path(services.layout, feature)} is not finished: {said}."
        )
        following = f"`preread check {feature} --run`"
        yield Blocker(code="run-log", feature=feature, message=message, next=following)


def _failing(labels: list[str], feature: str = "") -> Blocker:
    more = f" and {len(labels) - MAX_NAMED} more" if len(labels) > MAX_NAMED else ""
    tests = counted(len(labels), "test")
    message = f"{tests} failed in the last run: {', '.join(labels[:MAX_NAMED])}{more}."
    following = f"`{f'preread failures {feature}'.rstrip()}`"
    return Blocker(code="failing", feature=feature, message=message, next=following)


def _failing_elsewhere(project: Project, names: list[str]) -> list[Blocker]:
    """The failing tests that belong to no feature with started work, as one blocker."""
    others = [past.label for past in project.failing if not set(past.features) & set(names)]
    return [_failing(others)] if others else []


def _stale(services: Services, feature: str) -> str:
    """Why a dossier is stale; empty if it is not."""
    found = published_dossier.find(services, feature)
    lookup = staleness.look_up(services, found.manifest)
    return "" if lookup.covers else lookup.why


OPERATION = Operation(
    name="workflow.readiness",
    request=ReadinessRequest,
    reply=ReadinessReply,
    effect="read",
    doc="Say whether the work is ready, what blocks it, and what was counted; exits 1 if not.",
    example="preread ready checkout --base main",
    run=threaded(_readiness),
    command="ready",
    positional=("feature",),
)
