"""`worktree.list`: every checkout of the repository, and what is going on in it."""

from preread.models import Model
from preread.operations.registry import NothingRequest, Operation, threaded
from preread.services import Services
from preread.worktrees import listing
from preread.worktrees.listing import Worktree
from preread.worktrees.repository import open_repository


class ListReply(Model):
    """The worktrees that Preread made, then all others, the main one last."""

    worktrees: tuple[Worktree, ...]


def _list(services: Services, _: NothingRequest) -> ListReply:
    return ListReply(
        worktrees=tuple(listing.all_worktrees(open_repository(services, committed=False)))
    )


OPERATION = Operation(
    name="worktree.list",
    request=NothingRequest,
    reply=ListReply,
    effect="read",
    doc="List worktrees: branch, changes, distance from the base, agent at work, last dossier.",
    example="preread worktree list",
    run=threaded(_list),
    command="worktree list",
    pages="worktrees",
)
