"""`worktree.list`: every checkout of the repository, and what is going on in it."""

from preread.models import Model
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.services import Services
from preread.worktrees import listing
from preread.worktrees.listing import Worktree
from preread.worktrees.repository import open_repository


class ListRequest(RequestModel):
    """Takes no params."""


class ListReply(Model):
    """The worktrees that Preread made, then all others, the main one last."""

    worktrees: tuple[Worktree, ...]


async def run(context: Context, request: ListRequest) -> ListReply:
    return await in_thread(context, context.services(), _list, request)


def _list(services: Services, _: ListRequest) -> ListReply:
    return ListReply(
        worktrees=tuple(listing.all_worktrees(open_repository(services, committed=False)))
    )


OPERATION = Operation(
    name="worktree.list",
    request=ListRequest,
    reply=ListReply,
    effect="read",
    doc="List worktrees: branch, changes, distance from the base, agent at work, last dossier.",
    example="preread worktree list",
    run=run,
    command="worktree list",
    pages="worktrees",
)
