"""Whether a published dossier is up to date for the request that it was built for."""

from contextlib import suppress
from functools import partial

from preread import cache
from preread.builds.build_key import build_key
from preread.dossier import published
from preread.errors import PrereadError
from preread.models import Manifest, Request
from preread.passed_checks import files_unchanged
from preread.records import stale_hints
from preread.services import Services


def as_built(manifest: Manifest) -> Request:
    """The request that the dossier with this manifest was built for."""
    return Request(
        feature=manifest.feature,
        ticket=manifest.ticket,
        description=manifest.description,
        scope=manifest.scope,
        level=manifest.level,
    )


def look_up(services: Services, manifest: Manifest) -> cache.Lookup:
    """What the next load of the same request would find."""
    return cache.lookup(services, as_built(manifest), partial(build_key, services))


def is_current(services: Services, lookup: cache.Lookup) -> bool:
    """Whether the rules need not run again: nothing changed, or something cannot be read now."""
    manifest = lookup.published.manifest if lookup.published else None
    return bool(lookup.doubt) or not manifest or files_unchanged(services, manifest.feature)


def why(services: Services, feature: str) -> str:
    """Why the next load would refresh or rebuild a published dossier; empty if it would not.

    Also empty if that cannot be determined.
    """
    with suppress(PrereadError):
        found = published.read(services.layout, feature)
        if found is None:
            return ""
        lookup = look_up(services, found.manifest or Manifest(feature=feature))
        if not lookup.covers:
            return lookup.why
        if not is_current(services, lookup):
            return stale_hints.COMPUTED
    return ""


def hint(services: Services, feature: str, manifest: Manifest) -> None:
    """Write the hint for the gates if the next load would refresh or rebuild the dossier.

    Publishing removes the hint.
    """
    lookup = look_up(services, manifest)
    if not lookup.covers:
        stale_hints.mark(services.layout, feature, lookup.why)
