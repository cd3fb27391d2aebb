"""What a refresh would change in a published dossier: all of its steps but publishing."""

from preread import passed_checks, signatures, versions
from preread.builds import assembly, manifests, staleness
from preread.builds.build import restorable
from preread.builds.build_plan import refresh_plan
from preread.dossier import published
from preread.dossier.published import Published
from preread.evidence.collect import collect
from preread.models import Manifest, Outcome, Request
from preread.services import Services


def would_change(services: Services, feature: str) -> bool | None:
    """Whether a refresh would change a text of a dossier whose sources are valid.

    None if that is not known: its sources are not valid, only a model can bring it up to date, or
    something cannot be read. If not even the manifest would change, the dossier counts as computed
    from the present files.
    """
    found = published.read(services.layout, feature)
    if found is None or found.manifest is None:
        return None
    lookup = staleness.look_up(services, found.manifest)
    if lookup.doubt or not lookup.covers:
        return None
    if staleness.is_current(services, lookup):
        return False
    signature = signatures.of_project(services.tree)
    after = _refreshed(services, staleness.as_built(found.manifest), found)
    if after is None or services.tree.troubles:
        return None
    texts, manifest = after
    if texts != found.texts:
        return True
    files = {"files": found.manifest.files}
    if manifest.model_copy(update=files) == found.manifest and not found.edited:
        passed_checks.note_computed(services, feature, signature)
    return False


def _refreshed(
    services: Services, request: Request, found: Published
) -> tuple[dict[str, str], Manifest] | None:
    """The texts and the manifest that a refresh would publish; None if a model would have to."""
    version = restorable(services, request, found, versions.state(services, request))
    if version is not None:
        return version.texts, version.manifest
    evidence = collect(services, request, located=False)
    plan = refresh_plan(services, request, found)
    if plan.to_draft:
        return None
    outcome = Outcome()
    made = assembly.assemble(services, plan, evidence, services.layout.staging, outcome)
    return made.texts, manifests.make_manifest(services, plan, evidence, outcome, made)
