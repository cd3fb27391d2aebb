"""`status`: the dossiers of a project, and what their builds cost. Refreshes stale ones."""

import time
from collections.abc import Iterable
from functools import partial

from pydantic import Field

from preread import aliases, cache, dossier, pipeline, published, spending, stale_hints
from preread.build_key import build_key
from preread.models import Model
from preread.operations import published_dossier
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.operations.show import EDITED
from preread.services import Services
from preread.spending import Spent

REFRESH_SECONDS = 2.0  # until then it begins to refresh another stale dossier


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
        description="Seconds since the last build; none if that was on another machine."
    )
    run: published.RunRecord | None = Field(description="The last build on this machine.")


class StatusReply(Model):
    """The dossiers of a project."""

    root: str
    dossiers: tuple[DossierStatus, ...]
    spent: Spent = Field(description="What builds cost here today and this calendar month.")
    month_usd: float = Field(description="The limit of a month; 0 is none.")
    warnings: tuple[str, ...] = ()


async def status(context: Context, request: StatusRequest) -> StatusReply:
    services = context.services()
    served = aliases.served(services.layout, request.feature) if request.feature else None
    names = [served.feature] if served else published.features(services.layout)
    found = await in_thread(context, context.services(), _statuses, names)
    refreshed = await _refreshed(context, services, found)
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
    context: Context, services: Services, found: list[DossierStatus]
) -> dict[str, str]:
    """Refresh what is stale or was left by a killed build; why it was."""
    layout = services.layout
    stale = [one.feature for one in found if one.why or published.pending(layout, one.feature)]
    if not stale:
        return {}
    from preread import refreshing  # it imports all that builds: half of the time of a status

    return await refreshing.refresh(context.services, stale, REFRESH_SECONDS)


def _statuses(services: Services, features: Iterable[str]) -> list[DossierStatus]:
    names = list(features)
    found = [_status(services, name) for name in names]
    computed = cache.computed(services, [one.feature for one in found if one.fresh])
    why = "files changed since its facts were computed; the next load looks at them"
    return [
        one.model_copy(update={"fresh": False, "why": why})
        if one.fresh and one.feature not in computed
        else one
        for one in found
    ]


def _status(services: Services, feature: str) -> DossierStatus:
    services.progress.say(f"looking at {feature}")
    found = published_dossier.find(services, feature)
    manifest = found.manifest
    looked = cache.lookup(services, pipeline.as_built(manifest), partial(build_key, services))
    if looked.covers:
        stale_hints.clear(services.layout, found.feature)
    else:
        stale_hints.mark(services.layout, found.feature, looked.why)
    why = looked.why or looked.doubt
    run = published.recorded(services.layout, found.feature)
    return DossierStatus(
        feature=found.feature,
        path=found.path,
        fresh=not why,
        why=why,
        refreshed="",
        builder=manifest.builder,
        level=manifest.level,
        status=manifest.status,
        facts=sum(len(draft.facts) for draft in found.parsed()[0]),
        tokens=sum(dossier.tokens(text) for text in found.texts.values()),
        edited=found.edited,
        age=round(max(0.0, time.time() - run.finished), 1) if run is not None else None,
        run=run,
    )


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
