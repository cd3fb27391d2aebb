"""`worktree.diff`: what a worktree changed since it left its base."""

from pydantic import Field

from preread.operations.registry import Operation, RequestModel, threaded
from preread.operations.worktree.remove import NAME
from preread.services import Services
from preread.worktrees import compare, records
from preread.worktrees.compare import Compared
from preread.worktrees.repository import open_repository


class DiffRequest(RequestModel):
    """Which worktree."""

    name: str = Field(description=NAME)


def _diff(services: Services, request: DiffRequest) -> Compared:
    repository = open_repository(services)
    return compare.compare(repository, records.need(repository, request.name))


OPERATION = Operation(
    name="worktree.diff",
    request=DiffRequest,
    reply=Compared,
    effect="read",
    doc="Show what a worktree changed since its base: commits, files and diff.",
    example="preread worktree diff coupon",
    run=threaded(_diff),
    command="worktree diff",
    positional=("name",),
)
