"""`status`: the dossiers of a project, and what their builds cost. Refreshes stale ones."""

import functools
import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from pydantic import Field

from preread import aliases, cache, passed_checks, signatures
from preread.builds import staleness
from preread.builds.build_key import build_key
from preread.check_cache import CachedCheck, CheckCache
from preread.dossier import build_records, fact_text, published
from preread.errors import Unreadable
from preread.infra import db
from preread.models import Manifest, Model
from preread.operations import published_dossier
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.operations.show import EDITED
from preread.records import spending, stale_hints
from preread.records.spending import Spent
from preread.services import Services
from preread.settings import Level

# After this many seconds, a call refreshes no further stale dossier; it always refreshes one.
REFRESH_SECONDS = 0.5
TO_COMPUTE = f"{stale_hints.COMPUTED}; the next load checks them"


class StatusRequest(RequestModel):
    """Every dossier, or one."""

    feature: str | None = Field(None, description="One feature. Default: all that have a dossier.")


class DossierStatus(Model):
    """What is known about one dossier without building anything."""

    feature: str
    path: str
    fresh: bool = Field(description="Whether it still covers the request that it was built for.")
    why: str = Field(description="Why it is not fresh, or may not be; empty when it is.")
    refreshed: str = Field(description="Why it was stale until this call refreshed it.")
    builder: str
    level: str
    status: str
    facts: int
    tokens: int = Field(description="An estimate: 4 characters each.")
    edited: tuple[str, ...] = Field(description=EDITED)
    age: float | None = Field(
        description="Seconds since the last build; null if that was on another machine."
    )
    run: build_records.BuildRecord | None = Field(description="The last build on this machine.")


class StatusReply(Model):
    """The dossiers of a project."""

    root: str
    dossiers: tuple[DossierStatus, ...]
    spent: Spent = Field(description="What builds cost here today and this calendar month.")
    month_usd: float = Field(description="The limit for a month; 0: none.")
    warnings: tuple[str, ...] = ()


async def status(context: Context, request: StatusRequest) -> StatusReply:
    services, begun = context.services(), time.monotonic()
    served = aliases.resolve(services.layout, request.feature) if request.feature else None
    names = [served.feature] if served else published.features(services.layout)
    found = await in_thread(context, context.services(), _statuses, names)
    refreshed = await _refreshed(context, services, found, begun + REFRESH_SECONDS)
    if refreshed:
        again = await in_thread(context, context.services(), _statuses, refreshed)
        now = {one.feature: one for one in again}
        found = [now.get(one.feature, one) for one in found]
    return StatusReply(
        root=str(services.layout.root),
        dossiers=tuple(
            one.model_copy(update={"refreshed": refreshed.get(one.feature, "")}) for one in found
        ),
        spent=await in_thread(context, services, lambda own: spending.totals(own.layout)),
        month_usd=services.settings.month_usd,
        warnings=(*services.settings.broken, *(served.warnings if served else ())),
    )


async def _refreshed(
    context: Context, services: Services, found: list[DossierStatus], end: float
) -> dict[str, str]:
    """Refresh dossiers that are stale or that a killed build left; returns why each was stale."""
    layout = services.layout
    by_need = sorted(found, key=lambda one: one.why in {"", TO_COMPUTE})
    stale = [one.feature for one in by_need if one.why or published.pending(layout, one.feature)]
    if not stale:
        return {}
    # Imported here: it imports the whole build pipeline, which would double the time of a status.
    from preread.builds import refreshing

    return await refreshing.refresh(context.services, stale, end - time.monotonic())


def _statuses(services: Services, features: Iterable[str]) -> list[DossierStatus]:
    names, signature = list(features), _signature(services)
    build_key_of = functools.cache(functools.partial(build_key, services))
    checks = CheckCache(services, signatures.of_head([], services.tree), build_key_of)
    found = {one.feature: one for one in _cached(checks, names)}
    with db.shared(services.layout):
        checked = [_status(services, name, build_key_of) for name in names if name not in found]
    checks.put(
        CachedCheck(manifest, one.model_dump_json(exclude={"age"}))
        for one, manifest in checked
        if one.fresh
    )
    found |= {one.feature: one for one, _ in checked}
    fresh = [name for name in names if found[name].fresh]
    computed = passed_checks.with_unchanged_files(services, fresh, signature)
    for name in computed:
        stale_hints.clear(services.layout, name)
    return [
        one.model_copy(update={"fresh": False, "why": TO_COMPUTE})
        if one.fresh and one.feature not in computed
        else one
        for one in map(found.__getitem__, names)
    ]


def _signature(services: Services) -> str | None:
    """The project's signature; None if the project cannot be read."""
    try:
        return signatures.of_project(services.tree)
    except Unreadable:
        return None


def _cached(checks: CheckCache, names: list[str]) -> Iterator[DossierStatus]:
    """The status of those dossiers for which nothing has changed since they were checked."""
    for text in checks.get(names).values():
        with suppress(ValueError, TypeError):  # the database may be damaged
            one = DossierStatus.model_validate({**json.loads(text), "age": None})
            yield one.model_copy(update={"age": _age(one.run)})


def _age(run: build_records.BuildRecord | None) -> float | None:
    return round(max(0.0, time.time() - run.finished), 1) if run is not None else None


def _status(
    services: Services, feature: str, build_key_of: Callable[[Level], str]
) -> tuple[DossierStatus, Manifest]:
    services.progress.say(f"checking {feature}")
    found = published_dossier.find(services, feature)
    manifest = found.manifest
    lookup = cache.lookup(services, staleness.as_built(manifest), build_key_of)
    if lookup.covers:
        stale_hints.clear_cited(services.layout, found.feature)
    else:
        stale_hints.mark(services.layout, found.feature, lookup.why)
    why = lookup.why or lookup.doubt
    run = build_records.read(services.layout, found.feature)
    status = DossierStatus(
        feature=found.feature,
        path=found.path,
        fresh=not why,
        why=why,
        refreshed="",
        builder=manifest.builder,
        level=manifest.level,
        status=manifest.status,
        facts=sum(len(draft.facts) for draft in found.parsed()[0]),
        tokens=sum(fact_text.tokens(text) for text in found.texts.values()),
        edited=found.edited if manifest.files else (),  # not known without its manifest
        age=_age(run),
        run=run,
    )
    return status, manifest


OPERATION = Operation(
    name="context.status",
    request=StatusRequest,
    reply=StatusReply,
    effect="read",
    doc="List the dossiers: who built them, their age and size, and whether they are still valid.",
    example="preread status",
    run=status,
    command="status",
    positional=("feature",),
)
