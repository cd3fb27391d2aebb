"""`worktree.prune`: repair worktrees that a kill or a full disk left half-done."""

from pydantic import Field

from preread.models import Model
from preread.operations.registry import Context, Operation, Preview, RequestModel, in_thread
from preread.services import Services
from preread.worktrees import repair
from preread.worktrees.repository import open_repository


class PruneRequest(RequestModel):
    """Takes no params."""


class PruneReply(Model):
    """What was repaired."""

    repaired: tuple[str, ...] = Field(description="A line for each; empty if all was well.")


async def run(context: Context, request: PruneRequest) -> PruneReply:
    return await in_thread(context, context.services(), _prune, request)


async def preview(context: Context, request: PruneRequest) -> Preview:
    return await in_thread(context, context.services(), _preview, request)


def _prune(services: Services, _: PruneRequest) -> PruneReply:
    return PruneReply(repaired=tuple(repair.repair(open_repository(services, committed=False))))


def _preview(services: Services, _: PruneRequest) -> Preview:
    repository = open_repository(services, committed=False)
    notes = [f"{record.name}: would {what}" for record, what in repair.broken(repository)]
    notes += [f"would remove {lock}" for lock in repair.stale_locks(repository)]
    return Preview(notes=tuple(notes))


OPERATION = Operation(
    name="worktree.prune",
    request=PruneRequest,
    reply=PruneReply,
    effect="write",
    doc="Repair worktrees that a kill or a full disk left half-created or half-removed.",
    example="preread worktree prune",
    run=run,
    preview=preview,
    command="worktree prune",
)
