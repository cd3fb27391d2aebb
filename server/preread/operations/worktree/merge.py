"""`worktree.merge`: merge a worktree's branch; conflicts are returned, and stay in the worktree."""

from typing import Literal

from pydantic import Field

from preread.models import Model
from preread.operations.registry import Operation, Preview, RequestModel, threaded
from preread.operations.worktree.remove import NAME
from preread.services import Services
from preread.worktrees import merging, records
from preread.worktrees.merging import How
from preread.worktrees.repository import open_repository


class MergeRequest(RequestModel):
    """Which worktree to merge, and how."""

    name: str = Field(description=NAME)
    how: How = Field(
        "merge", description="`merge` fast-forwards if it can; `ff` only fast-forwards."
    )
    into: str | None = Field(None, description="The branch to merge into; default: its base.")
    action: Literal["start", "continue", "abort"] = Field(
        "start", description="`continue` or `abort` a merge that had conflicts."
    )


class Conflict(Model):
    """A file that both sides changed."""

    path: str
    kind: str


class MergeReply(Model):
    """The outcome. With conflicts, the branch to merge into has not moved."""

    status: Literal["merged", "conflicts", "up_to_date", "aborted"]
    name: str
    commit: str = ""
    conflicts: tuple[Conflict, ...] = ()
    next: str


def _merge(services: Services, request: MergeRequest) -> MergeReply:
    repository = open_repository(services)
    if request.action == "abort":
        merged = merging.abort(repository, request.name)
    else:
        act = merging.start if request.action == "start" else merging.proceed
        merged = act(repository, request.name, request.how, request.into or "")
    go_on = (
        f"Resolve them in {records.path_of(repository, request.name)}, then: `preread worktree "
        f"merge {request.name} --how {request.how} --action continue` (or `abort`)"
    )
    return MergeReply(
        status=merged.status,
        name=request.name,
        commit=merged.commit,
        conflicts=tuple(Conflict(**one) for one in merged.conflicts),
        next=go_on if merged.conflicts else "Nothing is left to do.",
    )


def _preview(services: Services, request: MergeRequest) -> Preview:
    repository = open_repository(services)
    record = records.need(repository, request.name)
    base = merging.target(repository, record, request.into or "")
    if request.action == "abort":
        return Preview(notes=("The merge in progress would be aborted.",))
    clean = merging.merged_tree(repository, base, record.branch)
    how = "without conflicts" if clean else "with conflicts, left in the worktree"
    return Preview(notes=(f"{request.name} would be merged into {records.short(base)} {how}.",))


OPERATION = Operation(
    name="worktree.merge",
    request=MergeRequest,
    reply=MergeReply,
    effect="write",
    doc="Merge a worktree's branch into its base; conflicts stay in the worktree; then it exits 1.",
    example="preread worktree merge coupon",
    run=threaded(_merge),
    preview=threaded(_preview),
    command="worktree merge",
    positional=("name",),
)
