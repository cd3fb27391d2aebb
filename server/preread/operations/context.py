"""Operations that look at dossiers and at what they would be made of: show, status, evidence."""

import time
from functools import partial

from pydantic import Field

from preread import cache, dossier, pipeline, published, resolve, spending, stale_hints
from preread.build_key import recipe
from preread.gates import aliases
from preread.layout import BY_NAME
from preread.models import Evidence, Model
from preread.operations.registry import (
    DESCRIPTION,
    FEATURE,
    SCOPE,
    TICKET,
    Asked,
    Context,
    Operation,
    in_thread,
)
from preread.operations.standing import missing, serving, standing
from preread.replies import INLINE_ORDER
from preread.services import Services
from preread.spending import Spent


class ShowRequest(Asked):
    """Which published dossier, and how much of it."""

    feature: str = Field(description=FEATURE)
    file: str | None = Field(
        None, description="One file of it, like `patterns.md`. Default: all of them."
    )
    ids: bool = Field(False, description="List the facts with the ids that `wrong` takes.")


class ShownFact(Model):
    """One fact with the id that `wrong` takes, and where it stands."""

    id: str
    file: str
    line: int
    text: str


class ShowReply(Model):
    """A published dossier, as it stands on disk."""

    feature: str
    path: str
    files: tuple[str, ...]
    edited: tuple[str, ...] = Field(
        description="Files that a person changed since they were published."
    )
    builder: str
    level: str
    status: str
    reason: str
    ticket: str
    description: str
    text: str
    facts: tuple[ShownFact, ...] | None = None
    warnings: tuple[str, ...] = ()


async def show(context: Context, request: ShowRequest) -> ShowReply:
    services = context.services()
    return await in_thread(context, services, _show, request)


def _show(services: Services, request: ShowRequest) -> ShowReply:
    found = serving(services, request.feature)
    feature, texts, manifest = found.feature, found.texts, found.manifest
    if request.file is not None:
        name = request.file if request.file in BY_NAME else f"{request.file}.md"
        if name not in texts:
            raise missing(services.layout, feature, request.file, tuple(texts))
        texts = {name: texts[name]}
    facts = [
        ShownFact(id=dossier.fact_id(name, fact.text), file=name, line=fact.line, text=fact.text)
        for name, text in texts.items()
        for fact in dossier.parse(name, feature, text)[0].facts
    ]
    return ShowReply(
        feature=feature,
        path=found.path,
        files=tuple(name for name in BY_NAME if name in found.texts),
        edited=found.edited,
        builder=manifest.builder,
        level=manifest.level,
        status=manifest.status,
        reason=manifest.fault.reason if manifest.fault else "",
        ticket=manifest.ticket,
        description=manifest.description,
        text="\n".join(texts[name].rstrip("\n") + "\n" for name in INLINE_ORDER if name in texts),
        facts=tuple(facts) if request.ids else None,
        warnings=found.warnings,
    )


class StatusRequest(Asked):
    """Every dossier, or one."""

    feature: str | None = Field(None, description="One feature. Default: all that have a dossier.")


class DossierStatus(Model):
    """What is known of one dossier without building anything."""

    feature: str
    path: str
    fresh: bool = Field(description="Whether the same request would be answered from it.")
    why: str = Field(description="Why it is not fresh; empty when it is.")
    builder: str
    level: str
    status: str
    facts: int
    tokens: int = Field(description="An estimate: 4 characters each.")
    edited: tuple[str, ...] = Field(
        description="Files that a person changed since they were published."
    )
    age: float | None = Field(
        description="Seconds since the last build; none when that was elsewhere."
    )
    run: published.RunRecord | None = Field(description="The last build here.")


class StatusReply(Model):
    """The dossiers of a resolve."""

    root: str
    dossiers: tuple[DossierStatus, ...]
    spent: Spent = Field(description="What builds cost here today and this calendar month.")
    month_usd: float = Field(description="The limit of a month; 0 is none.")
    warnings: tuple[str, ...] = ()


async def status(context: Context, request: StatusRequest) -> StatusReply:
    services = context.services()
    served = aliases.served(services.layout, request.feature) if request.feature else None
    names = [served.feature] if served else published.features(services.layout)
    found = await in_thread(
        context, services, lambda own: tuple(_status(own, name) for name in names)
    )
    return StatusReply(
        root=str(services.layout.root),
        dossiers=found,
        spent=await in_thread(context, services, lambda own: spending.totals(own.layout)),
        month_usd=services.settings.month_usd,
        warnings=served.warnings if served else (),
    )


def _status(services: Services, feature: str) -> DossierStatus:
    services.progress.say(f"looking at {feature}")
    found = standing(services, feature)
    manifest = found.manifest
    looked = cache.lookup(services, pipeline.as_built(manifest), partial(recipe, services))
    if looked.covers:
        stale_hints.clear(services.layout, found.feature)
    else:
        stale_hints.mark(services.layout, found.feature, looked.why)
    drafts = [dossier.parse(name, feature, text)[0] for name, text in found.texts.items()]
    run = published.recorded(services.layout, found.feature)
    return DossierStatus(
        feature=found.feature,
        path=found.path,
        fresh=looked.covers,
        why=looked.why,
        builder=manifest.builder,
        level=manifest.level,
        status=manifest.status,
        facts=sum(len(draft.facts) for draft in drafts),
        tokens=sum(dossier.tokens(text) for text in found.texts.values()),
        edited=found.edited,
        age=round(max(0.0, time.time() - run.finished), 1) if run is not None else None,
        run=run,
    )


class EvidenceRequest(Asked):
    """What evidence is wanted for."""

    feature: str = Field(description=FEATURE)
    description: str | None = Field(None, description=DESCRIPTION)
    ticket: str | None = Field(None, description=TICKET)
    limit: int = Field(
        20,
        ge=1,
        le=1000,
        description="At most so many of files, of tests, of documents and of findings.",
    )
    scope: str | None = Field(None, description=SCOPE)
    include: tuple[str, ...] = Field(
        (),
        description="What is left out and is to be in: `generated`, `vendored`, `minified`, `lock`, or a glob.",
    )


async def collect(context: Context, request: EvidenceRequest) -> Evidence:
    from preread.evidence import collect as evidence  # heavy, and no part of a cached load

    services = context.services()
    if request.include:
        services = context.services(include=[*services.settings.include, *request.include])
    served = aliases.served(services.layout, request.feature)
    given = request.model_dump(exclude={"limit", "include"})
    asked = resolve.resolve(services, **(given | {"feature": served.feature}))
    found = await in_thread(context, services, evidence.collect, asked)
    warnings = (*served.warnings, *resolve.warnings(request.description))
    found = found.model_copy(update={"notes": (*warnings, *found.notes)})
    lists = {
        name: getattr(found, name)[: request.limit]
        for name in ("files", "tests", "docs", "findings")
    }
    return found.model_copy(update=lists)


SHOW = Operation(
    name="context.show",
    request=ShowRequest,
    reply=ShowReply,
    effect="read",
    doc="Show a published dossier as it stands, without building anything.",
    example="preread show checkout patterns.md",
    run=show,
    command="show",
    positional=("feature", "file"),
)
STATUS = Operation(
    name="context.status",
    request=StatusRequest,
    reply=StatusReply,
    effect="read",
    doc="List the dossiers: by whom, how old, how large, and whether each is still true.",
    example="preread status",
    run=status,
    command="status",
    positional=("feature",),
)
EVIDENCE = Operation(
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
OPERATIONS = (SHOW, STATUS, EVIDENCE)
