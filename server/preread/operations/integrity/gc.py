"""`gc`: remove old backups, leftovers of killed builds, and cached results without a dossier."""

import time

from pydantic import Field

from preread import backups, passed_checks, publish
from preread.backups import Backup
from preread.builds import feature_lock
from preread.dossier import published
from preread.models import Model
from preread.operations.integrity import check
from preread.operations.registry import (
    Context,
    Operation,
    Preview,
    RequestModel,
    in_thread,
    threaded,
)
from preread.services import Services

DAY = 86_400


class GcRequest(RequestModel):
    """How long backups are kept."""

    days: float = Field(30, ge=0, description="Backups older than this many days are removed.")


class GcReply(Model):
    """What was removed."""

    backups: tuple[str, ...] = Field(description="Ids of the backups that were too old.")
    leftovers: tuple[str, ...] = Field(description="Drafts and temporary files of killed calls.")
    cached: int = Field(description="Cached results that belonged to no dossier.")


async def preview(context: Context, request: GcRequest) -> Preview:
    services = context.services()
    old = await in_thread(context, services, _old, request)
    left = await in_thread(context, services, _leftovers)
    return Preview(
        notes=(
            *(f"The backup {one.id} would be removed." for one in old),
            *(f"{path} would be removed, or published if it is complete." for path in left),
        )
    )


def _gc(services: Services, request: GcRequest) -> GcReply:
    layout = services.layout
    layout.guard()
    old, left = _old(services, request), _leftovers(services)
    for one in old:
        backups.remove(layout, one)
    for feature in check.features(layout):
        layout.guard(feature)
        with feature_lock.hold_if_free(services, feature) as is_free:
            if is_free:
                publish.recover(services, feature)
    feature_lock.remove_unfinished_backups(services)
    return GcReply(
        backups=tuple(one.id for one in old),
        leftovers=tuple(left),
        cached=passed_checks.forget_all_but(services, published.features(layout)),
    )


def _old(services: Services, request: GcRequest) -> list[Backup]:
    services.layout.guard()
    limit = time.time() - request.days * DAY
    return [one for one in backups.list_all(services.layout) if one.at < limit]


def _leftovers(services: Services) -> list[str]:
    """Leftovers of killed calls, without the files of running ones."""
    found = feature_lock.unfinished_backups(services)
    for feature in check.features(services.layout):
        with feature_lock.hold_if_free(services, feature) as is_free:
            if is_free:
                found += publish.leftovers(services, feature)
    return [services.layout.relative(path) for path in found]


OPERATION = Operation(
    name="integrity.gc",
    request=GcRequest,
    reply=GcReply,
    effect="write",
    doc="Remove old backups, leftovers of killed builds, and cached results that belong to no "
    "dossier.",
    example="preread gc --days 7",
    run=threaded(_gc),
    preview=preview,
    command="gc",
    people_only=True,
)
