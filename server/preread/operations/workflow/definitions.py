"""Workflows: files that say in which stages something is done, and when a stage is."""

import tomllib

from pydantic import Field, ValidationError

from preread.errors import PrereadError
from preread.infra import assets
from preread.infra.reading import listed, plain_bytes
from preread.layout import Layout
from preread.models import Model
from preread.runlog import STAGES

LOG = "log "  # before the name of a run log's stage
CONDITIONS = {
    "dossier": "the feature has a complete dossier",
    **{f"{LOG}{stage}": f"its run log has come to {stage}" for stage in STAGES},
    "log valid": "`preread check --run` finds no problem in its run log",
    "last run passed": "the newest recorded run of its tests passed",
    "no test fails": "none of its tests failed when it last ran, by reports and recorded runs",
}
DEFAULT = "feature-test"
MAX_WORKFLOWS, MAX_BYTES = 50, 100_000


class Stage(Model):
    """One stage: it is done when all of its conditions are met."""

    name: str = Field(min_length=1, max_length=60)
    done: tuple[str, ...] = Field(min_length=1, max_length=10)
    next: str = Field(min_length=1, max_length=600)


class Workflow(Model):
    """A way of working. Its agents belong to it, and are not offered one by one."""

    name: str
    doc: str = Field(min_length=1, max_length=300)
    words: tuple[str, ...] = Field((), max_length=100)
    agents: tuple[str, ...] = Field((), max_length=30)
    start: str = Field("", max_length=200)
    stages: tuple[Stage, ...] = Field(min_length=1, max_length=20)


def every(layout: Layout) -> dict[str, Workflow]:
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
        raise _invalid(path, f"`{place[:60]}`: {first['msg']}") from error
    for stage in workflow.stages:
        for condition in stage.done:
            if condition not in CONDITIONS:
                known = ", ".join(CONDITIONS)
                raise _invalid(path, f"`{condition[:60]}` is not a condition. There are: {known}")
    return workflow


def _invalid(path: str, why: str) -> PrereadError:
    return PrereadError(
        "E_SETTINGS", f"{path} is not a workflow: {why}.", "See docs/workflows.md for the format."
    )


def log_path(layout: Layout, feature: str) -> str:
    return layout.relative(layout.run_log(feature))
