"""`status`: the dossiers of a project, and what their builds cost. Refreshes stale ones."""

import time
from functools import partial

from pydantic import Field

from preread import aliases, cache, dossier, pipeline, published, refreshing, spending, stale_hints
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
    refreshed = await refreshing.refresh(context.services, names, REFRESH_SECONDS)
    found = await in_thread(
        context,
        context.services(),
        lambda own: tuple(_status(own, name, refreshed.get(name, "")) for name in names),
    )
    return StatusReply(
        root=str(services.layout.root),
        dossiers=found,
        spent=await in_thread(context, services, lambda own: spending.totals(own.layout)),
        month_usd=services.settings.month_usd,
        warnings=(*services.settings.broken, *(served.warnings if served else ())),
    )


def _status(services: Services, feature: str, refreshed: str) -> DossierStatus:
    services.progress.say(f"looking at {feature}")
    found = published_dossier.find(services, feature)
    manifest = found.manifest
    looked = cache.lookup(services, pipeline.as_built(manifest), partial(build_key, services))
    if looked.covers:
        stale_hints.clear(services.layout, found.feature)
    else:
        stale_hints.mark(services.layout, found.feature, looked.why)
    why = looked.why
    if looked.covers and not looked.doubt and not cache.is_computed(services, found.feature):
        why = "files changed since its facts were computed; the next load looks at them"
    run = published.recorded(services.layout, found.feature)
    return DossierStatus(
        feature=found.feature,
        path=found.path,
        fresh=not why,
        why=why or looked.doubt,
        refreshed=refreshed,
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
