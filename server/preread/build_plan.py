"""Who drafts which file of a new dossier: the model, an earlier draft, or the static builder."""

from dataclasses import dataclass, field
from functools import partial

from preread import cache, dossier, published
from preread.build_key import build_key
from preread.builders import DRAFTED
from preread.layout import FILES
from preread.models import Draft, Evidence, How, Manifest, Request
from preread.published import Published
from preread.services import Services

SUMMARY = "summary.md"
HISTORY = frozenset({"failing", "flaky"})  # rules whose findings are a history of failures


@dataclass(frozen=True)
class Plan:
    """The model drafts `to_draft`, `kept` stays as it is, the static builder writes the rest."""

    request: Request
    to_draft: tuple[str, ...] = ()
    kept: tuple[Draft, ...] = ()
    # What a model drafted earlier for the same request.
    earlier: dict[str, Draft] = field(default_factory=dict)
    published: Published | None = None
    how: How = "built"


def make_plan(services: Services, request: Request, evidence: Evidence) -> Plan:
    if request.auto and any(finding.rule in HISTORY for finding in evidence.findings):
        request = request.model_copy(update={"level": "full"})
    to_draft = DRAFTED[request.level]
    found = published.read(services.layout, request.feature)
    manifest = found.manifest if found is not None else None
    if found is None or manifest is None:
        return Plan(request, _in_order(request.extend or to_draft))
    earlier = _earlier_drafts(request, found, manifest)
    extend = request.extend
    if earlier and not extend:
        extend = _files_of_deeper_level(services, request, manifest)
    if extend:
        extend = _in_order((*extend, SUMMARY))
        kept = tuple(draft for name, draft in earlier.items() if name not in extend)
        return Plan(request, extend, kept, earlier, found, "extended")
    if request.force:
        return Plan(request, to_draft, earlier=earlier, published=found)
    # A build at a lower level does not throw away what a model has drafted.
    kept = () if to_draft else tuple(earlier.values())
    to_draft = _in_order((*to_draft, *earlier)) if to_draft else ()
    return Plan(request, to_draft, kept, earlier, found)


def _earlier_drafts(request: Request, found: Published, manifest: Manifest) -> dict[str, Draft]:
    """The published files that a model drafted for the same request."""
    asked_for = ("ticket", "description", "scope")
    if any(getattr(request, key) != getattr(manifest, key) for key in asked_for):
        return {}
    return {
        name: dossier.parse(name, request.feature, text)[0]
        for name, text in found.texts.items()
        if name in manifest.drafted
    }


def _in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(row.name for row in FILES if row.name in names)


def _files_of_deeper_level(
    services: Services, request: Request, manifest: Manifest
) -> tuple[str, ...]:
    """The files that a deeper level adds to a dossier which is valid otherwise; none to rebuild."""
    if request.force or manifest.status != "ok" or manifest.level == "light":
        return ()
    shallower = request.model_copy(update={"level": manifest.level, "auto": False})
    if not cache.lookup(services, shallower, partial(build_key, services)).covers:
        return ()
    existing = {*DRAFTED[manifest.level], *manifest.drafted}
    return tuple(name for name in DRAFTED[request.level] if name not in existing)
