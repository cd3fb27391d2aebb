"""`worktree.prune`: repair worktrees that a kill or a full disk left half-done."""

from pydantic import Field

from preread.models import Model
from preread.operations.registry import NothingRequest, Operation, Preview, threaded
from preread.services import Services
from preread.worktrees import repair
from preread.worktrees.repository import open_repository


class PruneReply(Model):
    """What was repaired."""

    repaired: tuple[str, ...] = Field(description="A line for each; empty if all was well.")


def _prune(services: Services, _: NothingRequest) -> PruneReply:
    return PruneReply(repaired=tuple(repair.repair(open_repository(services, committed=False))))


def _preview(services: Services, _: NothingRequest) -> Preview:
    repository = open_repository(services, committed=False)
    notes = [f"{record.name}: would {what}" for record, what in repair.broken(repository)]
    notes += [f"would remove {lock}" for lock in repair.stale_locks(repository)]
    return Preview(notes=tuple(notes))


OPERATION = Operation(
    name="worktree.prune",
    request=NothingRequest,
    reply=PruneReply,
    effect="write",
    doc="Repair worktrees that a kill or a full disk left half-created or half-removed.",
    example="preread worktree prune",
    run=threaded(_prune),
    preview=threaded(_preview),
    command="worktree prune",
)
