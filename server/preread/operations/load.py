"""The operation that everything is for: load."""

import time

from pydantic import Field

from preread import pipeline, project, published, witness
from preread.models import LoadReply
from preread.operations.registry import DESCRIPTION, FEATURE, TICKET, Asked, Context, Operation, in_thread
from preread.services import Services
from preread.settings import Level
from preread.witness import Witness


class LoadRequest(Asked):
    """What a dossier is wanted for."""

    feature: str = Field(description=FEATURE)
    ticket: str | None = Field(None, description=TICKET)
    description: str | None = Field(None, description=DESCRIPTION)
    force: bool = Field(False, description="Build again even if a dossier stands.")
    level: Level | None = Field(None, description="How deep. Default: as deep as can be built here.")


async def load(context: Context, request: LoadRequest) -> LoadReply:
    key = (context.start, request)
    if context.remembered is not None and (again := context.remembered.recall(key)) is not None:
        return again
    begun = time.time_ns()
    services = context.services()
    asked = project.resolve(services, **request.model_dump())
    reply = await pipeline.load(services, asked, context.jobs, context.caller)
    if context.remembered is not None and reply.state == "cached" and reply.status == "ok":
        at_root = services.layout.root == context.start
        seen = await in_thread(context, services, _witness, asked.feature, begun) if at_root else None
        context.remembered.keep(key, seen, reply)
    return reply


def standing(services: Services, request: LoadRequest) -> LoadReply | None:
    return pipeline.standing(services, project.resolve(services, **request.model_dump()))


def _witness(services: Services, feature: str, begun: int) -> Witness | None:
    """What the look-up that has just covered rested on."""
    found = published.read(services.layout, feature)
    return witness.of(services, found.manifest, begun) if found is not None and found.manifest is not None else None


LOAD = Operation(
    name="context.load",
    request=LoadRequest,
    reply=LoadReply,
    effect="write",
    doc="Make sure a feature's dossier is there and up to date, and return it.",
    example="preread load checkout --ticket SHOP-142",
    run=load,
    command="load",
    timed=True,
    at_once=standing,
    positional=("feature",),
)
OPERATIONS = (LOAD,)
