"""Workflows: files that define the stages of a kind of work, and when a stage is done."""

import tomllib
from typing import Annotated

from pydantic import Field, ValidationError, model_validator

from preread.agents.journal import PLANNER
from preread.agents.kinds import POLICIES
from preread.errors import PrereadError
from preread.infra import assets
from preread.infra.reading import listed, plain_bytes
from preread.layout import Layout
from preread.models import Model
from preread.records.runlog import STAGES

LOG = "log "  # before the name of a run log's stage
CONDITIONS = {
    "dossier": "the feature has a complete dossier",
    **{f"{LOG}{stage}": f"its run log has reached {stage}" for stage in STAGES},
    "log valid": "`preread check --run` finds no problem in its run log",
    "last run passed": "the newest recorded run of its tests passed",
    "no test fails": "none of its tests failed when it last ran, by reports and recorded runs",
}
# Conditions that a run of the tests can meet.
OF_TESTS = frozenset(("log RUN", "last run passed", "no test fails"))
DEFAULT = "feature-test"
NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
MAX_WORKFLOWS, MAX_BYTES = 50, 100_000


class Stage(Model):
    """One stage: it is done when all of its conditions are met."""

    name: str = Field(min_length=1, max_length=60)
    done: tuple[str, ...] = Field(min_length=1, max_length=10)
    next: str = Field(min_length=1, max_length=600)
    agents: tuple[Annotated[str, Field(pattern=NAME, max_length=60)], ...] = Field((), max_length=5)
    heals: str = ""  # the one of `agents` that is run while the tests fail
    explains: str = ""  # the agent that explains why they still fail

    @property
    def all_agents(self) -> tuple[str, ...]:
        """All agents that may be run for this stage."""
        return (*self.agents, self.explains) if self.explains else self.agents

    @model_validator(mode="after")
    def _heals(self) -> "Stage":
        if self.heals and self.heals not in self.agents:
            raise ValueError(f"`heals` names {self.heals[:60]}, which is not one of its agents")
        if self.heals and not OF_TESTS & set(self.done):
            raise ValueError("`heals` needs a condition about tests")
        if self.explains and not self.heals:
            raise ValueError("`explains` needs `heals`")
        return self


class Workflow(Model):
    """A kind of work in stages. Its agents belong to it, and are not offered one by one."""

    name: str
    doc: str = Field(min_length=1, max_length=300)
    words: tuple[str, ...] = Field((), max_length=100)
    agents: tuple[str, ...] = Field((), max_length=30)
    start: str = Field("", max_length=200)
    stages: tuple[Stage, ...] = Field(min_length=1, max_length=20)

    @model_validator(mode="after")
    def _owns(self) -> "Workflow":
        """Check that the stages' agents are the workflow's own, or kinds that also run alone."""
        used = dict.fromkeys(name for stage in self.stages for name in stage.all_agents)
        if PLANNER in used:
            raise ValueError("a coordinator has its own agents and cannot be in a stage")
        own = tuple(name for name in used if name not in POLICIES)
        if missing := [name for name in own if self.agents and name not in self.agents]:
            raise ValueError(f"{missing[0]} is in a stage, but not in the workflow's `agents`")
        return self if self.agents else self.model_copy(update={"agents": own})


def all_workflows(layout: Layout) -> dict[str, Workflow]:
    """All workflows by name: those of the package, and the project's own, which replace them.

    Raises E_SETTINGS for a file that is no workflow.
    """
    shipped = sorted(assets.folder("workflows").glob("*.toml"))
    found = [_parsed(path.stem, assets.text(path).encode(), path.name) for path in shipped]
    for path in listed(layout.real(layout.workflows), ".toml")[:MAX_WORKFLOWS]:
        text = plain_bytes(path, MAX_BYTES)
        if text is None:
            raise _invalid(layout.relative(path), "is not a regular file, or is too large")
        found.append(_parsed(path.stem, text, layout.relative(path)))
    return {workflow.name: workflow for workflow in found}


def _parsed(name: str, text: bytes, path: str) -> Workflow:
    try:
        data = tomllib.loads(text.decode("utf-8"))
        workflow = Workflow.model_validate({**data, "name": name})
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise _invalid(path, f"is not TOML: {str(error)[:120]}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        what = first["msg"].removeprefix("Value error, ")
        raise _invalid(path, f"`{place[:60]}`: {what}" if place else what) from error
    for stage in workflow.stages:
        for condition in stage.done:
            if condition not in CONDITIONS:
                known = ", ".join(CONDITIONS)
                raise _invalid(path, f"`{condition[:60]}` is not a condition. Known: {known}")
    return workflow


def _invalid(path: str, why: str) -> PrereadError:
    return PrereadError(
        "E_SETTINGS", f"{path} is not a workflow: {why}.", "See docs/workflows.md for the format."
    )


def log_path(layout: Layout, feature: str) -> str:
    return layout.relative(layout.run_log(feature))
