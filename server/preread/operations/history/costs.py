"""`costs`: what builds cost, by day and by feature."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import Field

from preread.infra.reading import plain_bytes
from preread.models import Model
from preread.operations.registry import Operation, RequestModel, threaded
from preread.records import spending
from preread.services import Services


class Run(NamedTuple):
    """One run of the headless builder."""

    day: str  # when it ended, in local time
    feature: str
    cost_usd: float | None
    seconds: float


class CostsRequest(RequestModel):
    """Which builds."""

    days: int = Field(30, ge=1, le=400, description="How many days back, today included.")
    feature: str | None = Field(None, description="Only builds of this feature.")


class Cost(Model):
    """What the builds of a day, or of a feature, cost."""

    name: str = Field(description="The day, like 2026-11-23, in local time; or the feature.")
    usd: float
    runs: int
    seconds: float = Field(description="How long the models' processes ran.")
    unknown: int = Field(description="Runs that ended before they reported their cost.")


class CostsReply(Model):
    """What builds with a model cost on this machine."""

    days: tuple[Cost, ...] = Field(description="Days with builds, oldest first.")
    features: tuple[Cost, ...] = Field(description="The most expensive first.")
    spent: spending.Spent
    month_usd: float = Field(description="The limit for a month; 0: none.")


def _costs(services: Services, request: CostsRequest) -> CostsReply:
    runs = [run for run in _runs(services, request.days) if request.feature in {None, run.feature}]
    features = sorted(_sums(runs, lambda run: run.feature), key=lambda one: (-one.usd, one.name))
    return CostsReply(
        days=tuple(sorted(_sums(runs, lambda run: run.day), key=lambda one: one.name)),
        features=tuple(features),
        spent=spending.totals(services.layout),
        month_usd=services.settings.month_usd,
    )


def _runs(services: Services, days: int) -> Iterator[Run]:
    """The runs of the last `days` days, roughly in the order in which they ended."""
    at = time.localtime()
    since = time.mktime((at.tm_year, at.tm_mon, at.tm_mday - days + 1, 0, 0, 0, 0, 0, -1))
    for match in spending.LINE.finditer(plain_bytes(services.layout.spending) or b""):
        if float(match[1]) >= since:
            with suppress(ValueError):
                yield _run(json.loads(match[0]))


def _run(record: dict[str, Any]) -> Run:
    day = time.strftime("%Y-%m-%d", time.localtime(record["time"]))
    seconds = record.get("seconds")
    seconds = float(seconds) if isinstance(seconds, int | float) else 0.0
    return Run(day, str(record["feature"]), record["cost_usd"], seconds)


def _sums(runs: list[Run], by: Callable[[Run], str]) -> list[Cost]:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(by(run), []).append(run)
    return [
        Cost(
            name=name,
            usd=round(sum(run.cost_usd or 0.0 for run in of), 6),
            runs=len(of),
            seconds=round(sum(run.seconds for run in of), 1),
            unknown=sum(run.cost_usd is None for run in of),
        )
        for name, of in groups.items()
    ]


OPERATION = Operation(
    name="history.costs",
    request=CostsRequest,
    reply=CostsReply,
    effect="read",
    doc="Show what builds with a model cost, by day and by feature.",
    example="preread call history.costs '{\"days\": 7}'",
    run=threaded(_costs),
)
