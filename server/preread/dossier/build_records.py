"""The record of a feature's last build: times, counts, cost, what was dropped."""

from typing import Annotated

from pydantic import AfterValidator, ValidationError

from preread.dossier.published import json_bytes
from preread.errors import Unreadable
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.models import Model, Outcome, Refresh, Stats

MAX_PROBLEMS, MAX_PROBLEM = 50, 300  # characters of each


def _bounded(problems: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(problem[:MAX_PROBLEM] for problem in problems[:MAX_PROBLEMS])


class BuildRecord(Model):
    """How the last build of a feature went. Times are in epoch seconds."""

    started: float = 0.0
    finished: float = 0.0
    builder: str = ""
    level: str = ""
    status: str = ""
    reason: str = ""
    stats: Stats = Stats()
    outcome: Outcome = Outcome()
    problems: Annotated[tuple[str, ...], AfterValidator(_bounded)] = ()
    refresh: Refresh | None = None  # the last one since that build


def read(layout: Layout, feature: str) -> BuildRecord | None:
    """How the last build of a feature went; None without a readable record."""
    try:
        data = plain_bytes(layout.run_record(feature))
        return BuildRecord.model_validate_json(data) if data is not None else None
    except (ValidationError, Unreadable):
        return None


def write(layout: Layout, feature: str, record: BuildRecord) -> None:
    """Replace the record of the last build. Raises E_WRITE."""
    atomic.write(layout.run_record(feature), json_bytes(record.model_dump(mode="json")))
