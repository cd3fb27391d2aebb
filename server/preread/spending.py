"""What builds cost: a ledger of one line a run, its sums by local day and month, and the limit of a month.

A line is `{"time": …, "cost_usd": …, "feature": …, "model": …, "turns": …, "tokens": {…}, "seconds": …, "run": …}`,
times in epoch seconds, `cost_usd` null where the run was cut before it told. A line that is not whole is no run.
"""

import json
import math
import re
import time

from pydantic import Field

from preread import published
from preread.infra import atomic
from preread.layout import Layout
from preread.models import Fault, Model, Outcome
from preread.services import Services

LOCK = "_spending"  # no feature has this name
LOCK_SECONDS = 10.0
MOST_BYTES = 2_000_000
MOST_TEXT = 400  # characters of a name in a line, so that a line stays under 4 KB
MONTHS = 13  # kept when the ledger is shortened: this month, and the same one a year ago
# Found by the form in which it is written: a cached reply tells today's sum, and parsing JSON takes ten times as long.
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
        0, description="Runs of this month that were cut before they told what they cost."
    )


def spent(layout: Layout, now: float | None = None) -> Spent:
    """The sums of the local day and month of `now`; a ledger that cannot be read has no runs."""
    now = time.time() if now is None else now
    day, month = _start(now, months=None), _start(now)
    runs = [run for run in _runs(published.plain_bytes(layout.spending) or b"") if run[0] >= month]
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


def _start(now: float, months: int | None = 0) -> float:
    """When the local month of `now` began, or one so many months before it; with None, when its day did."""
    at = time.localtime(now)
    day, back = (at.tm_mday, 0) if months is None else (1, months)
    return time.mktime((at.tm_year, at.tm_mon - back, day, 0, 0, 0, 0, 0, -1))


def add(
    services: Services, feature: str, outcome: Outcome, run: str = "", now: float | None = None
) -> None:
    """Write down what a run cost, unless no child was started for it. Raises E_WRITE."""
    if not (outcome.cost_usd is None or outcome.cost_usd > 0 or outcome.turns or outcome.seconds):
        return
    now = time.time() if now is None else now
    known = outcome.cost_usd is not None and math.isfinite(outcome.cost_usd)
    record = {
        "time": round(now, 3),
        "cost_usd": round(max(0.0, outcome.cost_usd or 0.0), 6) if known else None,
        "feature": feature[:MOST_TEXT],
        "model": outcome.model[:MOST_TEXT],
        "turns": outcome.turns,
        "tokens": {kind[:40]: count for kind, count in list(outcome.tokens.items())[:8]},
        "seconds": round(outcome.seconds, 3),
        "run": re.sub(r"[^\w.-]", "", run)[:MOST_TEXT],
    }
    layout = services.layout
    atomic.make_folder(layout.lock(LOCK).parent)
    from filelock import FileLock

    with atomic.write_errors(layout.spending), FileLock(layout.lock(LOCK), timeout=LOCK_SECONDS):
        atomic.append(layout.spending, json.dumps(record).encode())
        if layout.spending.stat().st_size > MOST_BYTES:
            _shorten(layout, now)


def _shorten(layout: Layout, now: float) -> None:
    """Leave out what is no run, and the oldest months; of this month everything stays. The lock is held."""
    lines = [match[0] for match in LINE.finditer(published.plain_bytes(layout.spending) or b"")]
    for months in range(MONTHS - 1, -1, -1):
        since = _start(now, months)
        kept = b"".join(line + b"\n" for line in lines if _runs(line)[0][0] >= since)
        if len(kept) <= MOST_BYTES * 3 // 4:  # not again at the next run
            break
    atomic.write(layout.spending, kept)


def allows(services: Services, now: float | None = None) -> bool:
    """Whether one more build stays within the month's limit, or a person agreed to go beyond it this month.

    A run whose cost is not known counts as the most that it may have cost.
    """
    limit, most = services.settings.month_usd, services.settings.max_usd
    if not limit:
        return True
    sums = spent(services.layout, now)
    return sums.month + (sums.unknown + 1) * most <= limit + 1e-9 or _agreed(services, now)


def agree(services: Services, now: float | None = None) -> None:
    """Remember that a person agreed: until the month ends or the limit is set anew. Raises E_WRITE."""
    atomic.write(services.layout.agreement, _agreement(services, now))


def _agreed(services: Services, now: float | None) -> bool:
    return published.plain_bytes(services.layout.agreement) == _agreement(services, now)


def _agreement(services: Services, now: float | None) -> bytes:
    month = time.strftime("%Y-%m", time.localtime(now))
    return f"{month} {services.settings.month_usd!r}\n".encode()


def _state(services: Services) -> str:
    sums, settings = spent(services.layout), services.settings
    builds = "build" if sums.unknown == 1 else "builds"
    unknown = f" and {sums.unknown} {builds} of unknown cost" if sums.unknown else ""
    return (
        f"${sums.month:.2f}{unknown} of the ${settings.month_usd:.2f} for this month are spent, "
        f"and one more build may cost ${settings.max_usd:.2f}"
    )


def question(services: Services) -> str:
    """What a person is asked before the limit of the month is passed."""
    return f"{_state(services)}. Go beyond the limit this month?"


def refused(services: Services) -> Fault:
    """Why no child is started when the month's limit would be passed and nobody agreed to it."""
    return Fault(
        code="E_MONEY",
        reason=_state(services),
        hint="Raise `month_usd` in .project/config.toml; or run `preread load FEATURE --force` in a terminal: it asks.",
    )
