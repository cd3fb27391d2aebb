"""`worktree.remove`: remove a worktree and its branch without losing work."""

from pydantic import Field

from preread.models import Model
from preread.operations.registry import Operation, Preview, RequestModel, threaded
from preread.services import Services
from preread.worktrees import records, removal
from preread.worktrees.repository import open_repository

NAME = "The worktree's name."


class RemoveRequest(RequestModel):
    """Which worktree to remove."""

    name: str = Field(description=NAME)
    force: bool = Field(
        False, description="Even with changes or commits that are nowhere else; a ref keeps them."
    )


class RemoveReply(Model):
    """What was removed, and where its work is."""

    name: str
    kept: str = Field(description="The ref that keeps its work; empty if it had none of its own.")
    commit: str
    backup: str = Field(
        "", description="The backup of its marks of wrong facts and personal notes, if it had any."
    )
    next: str


def _remove(services: Services, request: RemoveRequest) -> RemoveReply:
    removed = removal.remove(open_repository(services), request.name, force=request.force)
    todo = []
    if removed.kept:
        again = f"`preread worktree create {request.name} --base {removed.kept}`"
        todo.append(f"Get its work back: {again}.")
    if removed.backup:
        todo.append(
            f"Its marks of wrong facts and personal notes are in the backup {removed.backup}; "
            f"`preread restore {removed.backup}` puts them in the place of this project's own."
        )
    return RemoveReply(
        name=request.name,
        kept=removed.kept,
        commit=removed.commit,
        backup=removed.backup,
        next=" ".join(todo) or "Nothing is left to do.",
    )


def _preview(services: Services, request: RemoveRequest) -> Preview:
    repository = open_repository(services)
    record = records.need(repository, request.name)
    work = removal.check(repository, record, force=request.force)
    notes = [f"{records.path_of(repository, record.name)} and its branch would be removed."]
    if work:
        notes.append(f"A ref below {records.REMOVED}{record.name}/ would keep its work.")
    if removal.private_files(repository, record):
        notes.append("A backup would keep its marks of wrong facts and personal notes.")
    return Preview(notes=tuple(notes))


OPERATION = Operation(
    name="worktree.remove",
    request=RemoveRequest,
    reply=RemoveReply,
    effect="write",
    doc="Remove a worktree and its branch; with `force`, a ref keeps work that is nowhere else.",
    example="preread worktree remove coupon",
    run=threaded(_remove),
    preview=threaded(_preview),
    command="worktree remove",
    positional=("name",),
)
