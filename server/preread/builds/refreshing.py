"""Bring stale dossiers up to date in the background: without a model, and without a caller.

Dossiers that git tracks are left alone: only an explicit load changes tracked files.
"""

import time
from collections.abc import Callable, Iterable

from preread import cache, publish
from preread.builds import feature_lock, staleness
from preread.builds.build import RefreshDeferred, build
from preread.dossier import published
from preread.errors import Cancelled, PrereadError
from preread.passed_checks import files_unchanged
from preread.records import stale_hints
from preread.services import Services


async def refresh(
    services: Callable[[], Services], features: Iterable[str], seconds: float
) -> dict[str, str]:
    """Refresh the stale ones among these dossiers; returns each with the reason why it was stale.

    After `seconds`, no further refresh is started. A dossier is skipped if it is being built, if
    only a model can bring it up to date, or if something it needs cannot be read.
    """
    end = time.monotonic() + seconds
    done = {}
    for number, feature in enumerate(features):
        if number and time.monotonic() > end:
            break
        try:
            if why := await _refresh(services(), feature):
                done[feature] = why
        except (RefreshDeferred, PrereadError) as error:
            if isinstance(error, Cancelled):
                raise
    return done


async def _refresh(services: Services, feature: str) -> str:
    with feature_lock.hold_if_free(services, feature) as is_free:
        if not is_free:
            return ""
        publish.recover(services, feature)
        found = published.read(services.layout, feature)
        if found is None or found.manifest is None:
            return ""
        if found.edited or found.lost:  # a person may be editing it; a load says what is lost
            return ""
        lookup = staleness.look_up(services, found.manifest)
        is_current = lookup.doubt or (lookup.covers and files_unchanged(services, feature))
        if is_current or lookup.needs == "build" or cache.is_tracked(services, feature):
            return ""
        await build(services, staleness.as_built(found.manifest), found, careful=True)
        return lookup.why or stale_hints.COMPUTED
