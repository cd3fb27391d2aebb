"""`evidence`: what a feature's dossier would be based on."""

from pydantic import Field

from preread import aliases, resolve
from preread.infra import prompt_injection
from preread.infra.secrets import Credentials
from preread.models import Evidence, Finding
from preread.operations.registry import (
    DESCRIPTION,
    FEATURE,
    SCOPE,
    TICKET,
    Context,
    Operation,
    RequestModel,
    in_thread,
)
from preread.services import Services


class EvidenceRequest(RequestModel):
    """What to collect evidence for."""

    feature: str = Field(description=FEATURE)
    description: str | None = Field(None, description=DESCRIPTION)
    ticket: str | None = Field(None, description=TICKET)
    limit: int = Field(
        20,
        ge=1,
        le=1000,
        description="The maximum number of files, tests, documents and findings, each.",
    )
    scope: str | None = Field(None, description=SCOPE)
    include: tuple[str, ...] = Field(
        (),
        description="What to include although it is left out by default: "
        "`generated`, `vendored`, `minified`, `lock`, or a glob.",
    )


async def collect(context: Context, request: EvidenceRequest) -> Evidence:
    from preread.evidence import collect as evidence  # heavy, and not needed for a cached load

    services = context.services()
    if request.include:
        services = context.services(include=[*services.settings.include, *request.include])
    served = aliases.resolve(services.layout, request.feature)
    given = request.model_dump(exclude={"limit", "include"})
    resolved = resolve.resolve(services, **(given | {"feature": served.feature}))
    found = await in_thread(context, services, evidence.collect, resolved)
    found = _publishable(services, found)
    lists = {name: getattr(found, name)[: request.limit] for name in ("files", "tests", "docs")}
    best = sorted(found.findings, key=lambda finding: -finding.score)[: request.limit]
    lists["findings"] = tuple(finding for finding in found.findings if finding in best)
    notes = (*served.warnings, *resolve.warnings(request.description), *found.notes)
    return found.model_copy(update={**lists, "notes": (*services.settings.broken, *notes)})


def _publishable(services: Services, found: Evidence) -> Evidence:
    """The evidence without findings that may not be published, and a note of how many those are."""
    secrets = Credentials(services.layout.root)

    def is_publishable(finding: Finding) -> bool:
        text = "\n".join((finding.section, finding.text, *finding.sources, *finding.fence))
        return not secrets.found(text) and not prompt_injection.found(text)

    kept = tuple(finding for finding in found.findings if is_publishable(finding))
    left_out = len(found.findings) - len(kept)
    if not left_out:
        return found
    note = f"{left_out} findings are left out: they contain secrets or orders to an assistant"
    update = {"findings": kept, "total": found.total - left_out, "notes": (*found.notes, note)}
    return found.model_copy(update=update)


OPERATION = Operation(
    name="context.evidence",
    request=EvidenceRequest,
    reply=Evidence,
    effect="read",
    doc="Show what the project itself says about a feature, best first: files, tests, findings.",
    example='preread evidence checkout --description "coupons with a minimum" --limit 5',
    run=collect,
    command="evidence",
    positional=("feature",),
)
