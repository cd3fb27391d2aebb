"""`worktree.create`: a worktree with its own branch, for an issue or a feature."""

from pathlib import PurePosixPath

from pydantic import Field

from preread.errors import PrereadError
from preread.infra.env_files import is_env_file
from preread.models import Model
from preread.names import feature_name
from preread.operations.registry import Context, Operation, Preview, RequestModel, in_thread
from preread.services import Services
from preread.worktrees import create, records
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository, failed, open_repository

MAX_ISSUE = 10**9


class CreateRequest(RequestModel):
    """What the worktree is for, and where it starts."""

    name: str | None = Field(None, description="Its folder below `.worktrees/`.")
    issue: int | None = Field(None, description="The number of the issue that it is for.")
    feature: str | None = Field(None, description="The feature that it is for.")
    base: str | None = Field(
        None, description="The branch to start from and merge into; default: the one checked out."
    )
    branch: str | None = Field(None, description="Its new branch; default: `preread/<name>`.")
    copy_in: tuple[str, ...] = Field(
        (), description="Files to copy into it that git does not track."
    )
    link_in: tuple[str, ...] = Field(
        (), description="Ignored folders to link into it, like `node_modules`."
    )


class CreateReply(Model):
    """The worktree. It has its own dossiers, gates and state."""

    name: str
    path: str
    branch: str
    base: str
    commit: str
    copied: tuple[str, ...]
    linked: tuple[str, ...]
    shared: tuple[str, ...] = Field(description="What it shares with all other worktrees.")
    notes: tuple[str, ...]


async def run(context: Context, request: CreateRequest) -> CreateReply:
    return await in_thread(context, context.services(), _create, request, agent=context.is_agent)


async def preview(context: Context, request: CreateRequest) -> Preview:
    return await in_thread(context, context.services(), _preview, request, agent=context.is_agent)


def _create(services: Services, request: CreateRequest, *, agent: bool) -> CreateReply:
    repository = open_repository(services)
    wanted = _wanted(repository, request, agent=agent)
    notes = create.create(repository, wanted)
    return CreateReply(
        name=wanted.name,
        path=str(records.path_of(repository, wanted.name)),
        branch=records.short(wanted.branch),
        base=records.short(wanted.base) or wanted.begun_at,
        commit=wanted.begun_at,
        copied=wanted.copies,
        linked=wanted.links,
        shared=(*create.SHARED, *wanted.links),
        notes=notes,
    )


def _preview(services: Services, request: CreateRequest, *, agent: bool) -> Preview:
    repository = open_repository(services)
    wanted = _wanted(repository, request, agent=agent)
    create.check(repository, wanted)
    place = records.path_of(repository, wanted.name)
    return Preview(
        notes=(
            f"{place} would be created on the new branch {records.short(wanted.branch)}.",
            f"It would start at {wanted.begun_at[:12]}.",
        )
    )


def _wanted(repository: Repository, request: CreateRequest, *, agent: bool) -> Record:
    if request.issue is not None and not 0 < request.issue < MAX_ISSUE:
        raise PrereadError(
            "E_ISSUE", f"{request.issue} is not an issue number.", "They start at 1."
        )
    feature = feature_name(request.feature) if request.feature else ""
    name = _name(repository, request, feature)
    if agent:
        _check_copies(request)
    begun_at = repository.commit_of(request.base or "HEAD")
    if not begun_at:
        raise failed(f"There is no commit {ascii(request.base)[:80]}.", "Name a branch or a tag.")
    base = f"refs/heads/{request.base}" if request.base else repository.out("symbolic-ref", "HEAD")
    branch = f"refs/heads/{request.branch or records.BRANCHES + records.check_name(name)}"
    return Record(
        name=records.check_name(name),
        branch=branch,
        base=base if repository.commit_of(base) else "",
        begun_at=begun_at,
        issue=request.issue,
        feature=feature,
        copies=request.copy_in,
        links=request.link_in,
    )


def _name(repository: Repository, request: CreateRequest, feature: str) -> str:
    """The worktree's name, by default from its issue or feature. Raises E_USAGE."""
    if request.name is not None:
        return request.name
    if request.issue is None and not feature:
        raise PrereadError("E_USAGE", "`worktree.create` needs `name`, `issue` or `feature`.", "")
    return create.default_name(request.issue, feature, records.all_records(repository.layout))


def _check_copies(request: CreateRequest) -> None:
    """Refuse an agent's request to copy a file that may contain secrets. Raises E_NOT_ALLOWED."""
    for path in request.copy_in:
        if is_env_file(PurePosixPath(path).name):
            raise PrereadError(
                "E_NOT_ALLOWED", f"{path} may contain secrets: only a person may copy it.", ""
            )


OPERATION = Operation(
    name="worktree.create",
    request=CreateRequest,
    reply=CreateReply,
    effect="write",
    doc="Create a worktree for an issue or a feature, on a branch of its own.",
    example="preread worktree create coupon --link-in node_modules",
    run=run,
    preview=preview,
    command="worktree create",
    positional=("name",),
)
