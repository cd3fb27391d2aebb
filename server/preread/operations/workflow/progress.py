"""How far a feature is in its workflow, by the files on disk: dossier, run log, recorded runs."""

import re
from collections.abc import Callable
from functools import cached_property

from preread.dossier import published
from preread.gates.run_records import Run
from preread.operations.workflow.definitions import DEFAULT, LOG, Stage, Workflow, log_path
from preread.records import runlog
from preread.reports import history, results
from preread.reports.history import Past
from preread.services import Services

# A bullet of the run log that says which workflow this is.
NAMED = re.compile(r"^- workflow: ([a-z0-9-]{1,60})\s*$", re.MULTILINE)


class Project:
    """What all features of one request share: recorded runs, and tests that failed."""

    def __init__(self, services: Services) -> None:
        self.services = services

    @cached_property
    def runs(self) -> list[Run]:
        return results.runs(self.services.tree)

    @cached_property
    def failing(self) -> list[Past]:
        return [past for past in history.pasts(self.services.tree) if past.is_failing]


class Progress:
    """How far one feature is."""

    def __init__(self, project: Project, feature: str) -> None:
        self.project, self.feature = project, feature
        self.services = project.services

    @cached_property
    def text(self) -> str:
        """The feature's run log; empty if it has none."""
        return self.services.tree.text(log_path(self.services.layout, self.feature)) or ""

    @cached_property
    def log(self) -> runlog.Checked | None:
        return runlog.check(self.services, self.feature)

    @property
    def workflow(self) -> str:
        """The workflow that its run log names, or else the default one."""
        match = NAMED.search(self.text)
        return match[1] if match else DEFAULT

    @cached_property
    def last_run(self) -> Run | None:
        """The newest recorded run of the feature's tests."""
        mine = [run for run in self.project.runs if self.feature in run.features]
        return mine[-1] if mine else None

    @property
    def has_dossier(self) -> bool:
        return published.is_complete(self.services.layout, self.feature)

    def has_stage(self, stage: str) -> bool:
        """Whether the run log has reached a stage."""
        if self.log is None or not self.log.stage:
            return False
        return runlog.STAGES.index(self.log.stage) >= runlog.STAGES.index(stage)

    @property
    def failing(self) -> list[str]:
        """The feature's tests that failed when they last ran."""
        return [past.label for past in self.project.failing if self.feature in past.features]

    def is_met(self, condition: str) -> bool:
        """Whether a condition of a stage is met."""
        if condition.startswith(LOG) and condition.removeprefix(LOG) in runlog.STAGES:
            return self.has_stage(condition.removeprefix(LOG))
        return CHECKS[condition](self)

    def left(self, stage: Stage) -> tuple[str, ...]:
        """The conditions of a stage that are not met yet."""
        return tuple(condition for condition in stage.done if not self.is_met(condition))

    def current(self, workflow: Workflow) -> Stage | None:
        """The first stage that is not done; None when all are."""
        return next((stage for stage in workflow.stages if self.left(stage)), None)


CHECKS: dict[str, Callable[[Progress], bool]] = {
    "dossier": lambda progress: progress.has_dossier,
    "last run passed": lambda p: p.last_run is not None and p.last_run.outcome == "passed",
    "no test fails": lambda progress: not progress.failing,
    "log valid": lambda progress: progress.log is not None and not progress.log.problems,
}
