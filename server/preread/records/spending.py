"""The cost of builds: a ledger with one line per run, totals by day and month, monthly limits.

A line is `{"time": …, "cost_usd": …, "feature": …, "model": …, "turns": …, "tokens": {…},
"seconds": …, "run": …}`. Times are in epoch seconds; `cost_usd` is null when the run ended before
it reported its cost. Any other line is ignored.
"""

import json
import math
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pydantic import Field, TypeAdapter, ValidationError

from preread.errors import PrereadError
from preread.infra import atomic, processes
from preread.infra.locks import FileLock
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.models import Fault, Model, Outcome
from preread.services import Services

LOCK = "_spending"  # no feature has this name
LOCK_SECONDS = 10.0
MAX_BYTES = 2_000_000
MAX_TEXT = 400  # characters of a name, so that a line stays under 4 KB
MONTHS = 13  # kept in a shortened ledger: this month, and back to the same month a year ago
# Matches a line exactly as it is written. Every cached reply includes today's total, and parsing
# JSON takes ten times as long.
LINE = re.compile(
    rb'^\{"time": (\d{1,12}(?:\.\d{1,6})?), "cost_usd": (null|\d{1,9}(?:\.\d{1,9})?(?:e-\d\d?)?),'
    rb' "feature": [^\n]*+(?<="\})$',
    re.MULTILINE,
)


class Spent(Model):
    """What the headless builder's runs cost on this machine, in dollars."""

    today: float = 0.0
    month: float = Field(0.0, description="This calendar month, in local time.")
    runs_today: int = 0
    runs_month: int = 0
    unknown: int = Field(
        0, description="Runs of this month that ended before they reported their cost."
    )


class Reserved(Model):
    """The money that one build may cost, and its process."""

    id: str
    pid: int
    born: processes.Born
    usd: float


RESERVATIONS = TypeAdapter(list[Reserved])


def totals(layout: Layout, now: float | None = None) -> Spent:
    """The totals of the local day and month of `now`. An unreadable ledger has no runs."""
    now = time.time() if now is None else now
    day, month = _day_start(now), _month_start(now)
    runs = [run for run in _runs(plain_bytes(layout.spending) or b"") if run[0] >= month]
    today = [run for run in runs if run[0] >= day]
    return Spent(
        today=sum(cost or 0.0 for _, cost in today),
        month=sum(cost or 0.0 for _, cost in runs),
        runs_today=len(today),
        runs_month=len(runs),
        unknown=sum(cost is None for _, cost in runs),
    )


def _runs(data: bytes) -> list[tuple[float, float | None]]:
    """When each run ended and what it cost."""
    return [
        (float(when), None if cost == b"null" else float(cost)) for when, cost in LINE.findall(data)
    ]


def _day_start(now: float) -> float:
    """When the local day of `now` began."""
    at = time.localtime(now)
    return time.mktime((at.tm_year, at.tm_mon, at.tm_mday, 0, 0, 0, 0, 0, -1))


def _month_start(now: float, back: int = 0) -> float:
    """When the local month of `now` began, or the one that many months back."""
    at = time.localtime(now)
    return time.mktime((at.tm_year, at.tm_mon - back, 1, 0, 0, 0, 0, 0, -1))


def add(
    services: Services, feature: str, outcome: Outcome, run: str = "", now: float | None = None
) -> None:
    """Record what a run cost, unless it started no child. Raises E_WRITE."""
    if not (outcome.cost_usd is None or outcome.cost_usd > 0 or outcome.turns or outcome.seconds):
        return
    now = time.time() if now is None else now
    known = outcome.cost_usd is not None and math.isfinite(outcome.cost_usd)
    record = {
        "time": round(now, 3),
        "cost_usd": round(max(0.0, outcome.cost_usd or 0.0), 6) if known else None,
        "feature": feature[:MAX_TEXT],
        "model": outcome.model[:MAX_TEXT],
        "turns": outcome.turns,
        "tokens": {kind[:40]: count for kind, count in list(outcome.tokens.items())[:8]},
        "seconds": round(outcome.seconds, 3),
        "run": re.sub(r"[^\w.-]", "", run)[:MAX_TEXT],
    }
    layout = services.layout
    with _locked(layout):
        atomic.append(layout.spending, json.dumps(record).encode(), durable=True)
        if layout.spending.stat().st_size > MAX_BYTES:
            _shorten(layout, now)


def _shorten(layout: Layout, now: float) -> None:
    """Drop invalid lines and the oldest months, but never this month. Requires the lock."""
    lines = [match[0] for match in LINE.finditer(plain_bytes(layout.spending) or b"")]
    for back in range(MONTHS - 1, -1, -1):
        since = _month_start(now, back)
        recent = b"".join(line + b"\n" for line in lines if _runs(line)[0][0] >= since)
        if len(recent) <= MAX_BYTES * 3 // 4:  # leave room, or the next run would shorten again
            break
    atomic.write(layout.spending, recent, durable=True)


def allows(services: Services, now: float | None = None) -> bool:
    """Whether one more build fits the month's limit, or a person agreed to exceed it.

    A run of unknown cost counts as `max_usd`.
    """
    limit, max_usd = services.settings.month_usd, services.settings.max_usd
    if not limit:
        return True
    spent = totals(services.layout, now)
    possible = spent.month + reserved(services.layout) + (spent.unknown + 1) * max_usd
    return possible <= limit + 1e-9 or _has_agreed(services, now)


@contextmanager
def reservation(services: Services) -> Iterator[bool]:
    """Reserve what one build may cost while it runs; yields false if it exceeds the month's limit.

    Every process counts the reservation. The caller records the cost before the reservation ends,
    so that no dollar is available to two builds. Raises E_WRITE.
    """
    if not services.settings.month_usd:
        yield True
        return
    own = Reserved(
        id=os.urandom(8).hex(),
        pid=os.getpid(),
        born=processes.born(os.getpid()),
        usd=services.settings.max_usd,
    )
    with _locked(services.layout):
        fits = allows(services)
        if fits:
            _reserve(services.layout, [*_reserved(services.layout), own])
    try:
        yield fits
    finally:
        if fits:
            with suppress(PrereadError), _locked(services.layout):  # it expires with this process
                rest = [one for one in _reserved(services.layout) if one.id != own.id]
                _reserve(services.layout, rest)


def reserved(layout: Layout) -> float:
    """The money reserved by running builds, in dollars."""
    return sum(one.usd for one in _reserved(layout))


def _reserved(layout: Layout) -> list[Reserved]:
    """The reservations of live processes."""
    data = plain_bytes(layout.reserved)
    try:
        found = RESERVATIONS.validate_json(data or b"[]")
    except ValidationError:
        return []
    return [one for one in found if processes.lives(one.pid, one.born)]


def _reserve(layout: Layout, reservations: list[Reserved]) -> None:
    atomic.write(layout.reserved, RESERVATIONS.dump_json(reservations))


@contextmanager
def _locked(layout: Layout) -> Iterator[None]:
    atomic.make_folder(layout.lock(LOCK).parent)
    with atomic.write_errors(layout.spending), FileLock(layout.lock(LOCK), timeout=LOCK_SECONDS):
        yield


def agree(services: Services, now: float | None = None) -> None:
    """Record that a person agreed to exceed the limit: until the month ends or the limit changes.

    Raises E_WRITE.
    """
    atomic.write(services.layout.agreement, _agreement(services, now))


def _has_agreed(services: Services, now: float | None) -> bool:
    return plain_bytes(services.layout.agreement) == _agreement(services, now)


def _agreement(services: Services, now: float | None) -> bytes:
    month = time.strftime("%Y-%m", time.localtime(now))
    return f"{month} {services.settings.month_usd!r}\n".encode()


def _state(services: Services) -> str:
    spent, settings = totals(services.layout), services.settings
    builds = "build" if spent.unknown == 1 else "builds"
    unknown = f" ({spent.unknown} {builds} of unknown cost not included)" if spent.unknown else ""
    running = reserved(services.layout)
    more = f", ${running:.2f} is reserved by running builds" if running else ""
    return (
        f"${spent.month:.2f} of this month's limit of ${settings.month_usd:.2f} is spent{unknown}"
        f"{more}, and one more build may cost ${settings.max_usd:.2f}"
    )


def question(services: Services) -> str:
    """The question to a person before the month's limit is exceeded."""
    return f"{_state(services)}. Go beyond the limit this month?"


def refusal(services: Services) -> Fault:
    """Why no child is started: it would exceed the month's limit, and nobody agreed to that."""
    return Fault(
        code="E_MONEY",
        reason=_state(services),
        hint="Raise `month_usd` in .project/config.toml, or run `preread load {feature} --force` "
        "in a terminal, which asks.",
    )


def refused(services: Services) -> PrereadError:
    """The refusal as an error: nothing replaces an agent's run."""
    fault = refusal(services)
    return PrereadError(fault.code, f"{fault.reason}.", fault.hint)
