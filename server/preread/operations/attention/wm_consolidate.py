"""`wm_consolidate`: propose what recurs as facts, and keep them if the person agrees."""

from typing import Literal

from pydantic import Field

from preread.errors import PrereadError
from preread.models import Model
from preread.operations.attention import shared
from preread.operations.attention.shared import Proposal
from preread.operations.memory import keeping
from preread.operations.memory.keeping import KeptReply, New
from preread.operations.registry import Context, Operation, Preview, RequestModel, in_thread
from preread.services import Services

COLLECTION = "Lessons"


class ConsolidateRequest(RequestModel):
    """Whether to ask."""

    yes: bool = Field(False, description="Keep the facts without asking.")


class ConsolidateReply(Model):
    """What recurs, and whether it was kept."""

    state: Literal["kept", "proposed", "declined", "nothing"]
    proposed: tuple[Proposal, ...]
    kept: tuple[KeptReply, ...] = ()
    refused: tuple[str, ...] = Field((), description="What cannot be kept, and why.")
    next: str = ""


async def consolidate(context: Context, request: ConsolidateRequest) -> ConsolidateReply:
    found = await in_thread(context, context.services(), _find)
    if not found:
        return ConsolidateReply(state="nothing", proposed=(), next="Nothing recurs yet.")
    facts = [f"{one.text} ({one.why})" for one in found]
    if kept_back := await keeping.refusal(context, facts, "consolidate", yes=request.yes):
        return ConsolidateReply(proposed=found, **kept_back)
    kept, refused = [], []
    for one in found:
        try:
            kept.append(await keeping.keep(context, _new(one)))
        except PrereadError as error:
            refused.append(f"{one.text[:200]}: {error.message}")
    return ConsolidateReply(state="kept", proposed=found, kept=tuple(kept), refused=tuple(refused))


def _find(services: Services) -> tuple[Proposal, ...]:
    return tuple(shared.proposals(shared.events(services)))


def _new(one: Proposal) -> New:
    return New(one.text, COLLECTION, one.sources)


async def preview(context: Context, request: ConsolidateRequest) -> Preview:  # noqa: ARG001
    found = await in_thread(context, context.services(), _find)
    return await keeping.preview(context, *map(_new, found)) if found else Preview()


OPERATION = Operation(
    name="attention.wm_consolidate",
    request=ConsolidateRequest,
    reply=ConsolidateReply,
    effect="write",
    doc="Propose what recurs in several pieces of work as facts; keep them if the person agrees.",
    example="preread consolidate",
    run=consolidate,
    command="consolidate",
    preview=preview,
)
