"""`agent.execute`: one agent in a worktree of its own, or a coordinator with several."""

import os
import time
from dataclasses import replace
from typing import Literal

from preread import aliases
from preread.agents import answers, kinds, project_tests, proposals, run, work
from preread.agents.answers import Answer
from preread.agents.budget import Budget
from preread.agents.proposals import Proposal
from preread.agents.work import Job
from preread.errors import PrereadError
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.models import LoadReply
from preread.operations.agent import coordinator, plan
from preread.operations.agent.plan import ResolvedRequest
from preread.operations.agent.shapes import MAX_TEXT, ExecuteReply, ExecuteRequest
from preread.operations.load import LoadRequest, load
from preread.operations.registry import Context, Operation, Preview, in_thread
from preread.operations.workflow import definitions
from preread.services import Services
from preread.worktrees import compare, create, records, removal
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository, open_repository

MAX_ISSUE = 10**9
FORMS: dict[str, type[Answer]] = {"review": answers.Verdict}  # kinds that answer in JSON


async def execute(context: Context, request: ExecuteRequest) -> ExecuteReply:
    begun = time.monotonic()
    services = context.services()
    _, repository, task, feature, settings = _resolved(context, services, request)
    limited = replace(services, settings=settings)
    is_coordinator = request.kind == "coordinator"
    suite = (
        await coordinator.suite(context, services, request.test_command) if is_coordinator else None
    )
    read = await dossier(context, feature, request.task)
    known = work.known(repository.layout, feature, read.dossier)
    if suite is not None:
        order = coordinator.order(repository, settings, request, task, feature, known, suite)
        return await coordinator.carry_out(context, limited, order, begun)
    return await in_thread(context, limited, _execute, request, task, feature, known)


async def preview(context: Context, request: ExecuteRequest) -> Preview:
    services = context.services()
    resolved = _resolved(context, services, request)
    is_coordinator = request.kind == "coordinator"
    tests = coordinator.allowed(context, services, request.test_command) if is_coordinator else None
    return await in_thread(context, services, plan.preview, resolved, tests)


def _resolved(context: Context, services: Services, request: ExecuteRequest) -> ResolvedRequest:
    """The validated request. Raises an error if it is invalid."""
    _check_alone(services, request, agent=context.is_agent)
    _check_commands(request, agent=context.is_agent)
    repository = open_repository(services)
    task = _task(repository.layout, request)
    feature = aliases.resolve(repository.layout, request.feature).feature
    limits = lowered(services, request.max_usd, request.model)
    settings = services.settings.model_copy(update=limits)
    return ResolvedRequest(request, repository, task, feature, settings)


async def dossier(context: Context, feature: str, task: str) -> LoadReply:
    """The dossier, however long its build takes: an agent reads before it starts."""
    patient = replace(context.caller, wait=None, times_out=False, takes_early_reply=False)
    wanted = LoadRequest(feature=feature, description=task[:500] or None)
    return await load(replace(context, caller=patient), wanted)


def _check_alone(services: Services, request: ExecuteRequest, *, agent: bool) -> None:
    """Refuse an agent's call to run a workflow's agent on its own. Raises E_NOT_ALLOWED."""
    for workflow in definitions.all_workflows(services.layout).values():
        if agent and request.kind in workflow.agents:
            raise PrereadError(
                "E_NOT_ALLOWED",
                f"The agent {request.kind} belongs to the workflow {workflow.name}, "
                "which is one call.",
                f"Run it as a whole: `preread run {workflow.name} {request.feature}`",
            )


def _check_commands(request: ExecuteRequest, *, agent: bool) -> None:
    """Refuse `commands` from an agent, or for a kind that does not propose any.

    Raises E_NOT_ALLOWED, E_USAGE.
    """
    policy = kinds.policy(request.kind)
    if request.commands and agent:
        raise PrereadError(
            "E_NOT_ALLOWED", "`commands` are for people to allow.", "Without them, it proposes."
        )
    if request.commands and not policy.proposes:
        raise PrereadError("E_USAGE", f"The agent {request.kind} cannot have commands run.", "")
    for command in request.commands:
        project_tests.parsed(command)


def lowered(services: Services, max_usd: float | None, model: str | None) -> dict[str, object]:
    """The settings that a call changes: a lower limit, or another of the person's two models.

    Raises E_NOT_ALLOWED for any other model.
    """
    settings = services.settings
    wanted = max_usd or settings.max_usd
    allowed = {settings.model, settings.fallback_model}
    if model and model not in allowed:
        raise PrereadError(
            "E_NOT_ALLOWED", f"The model {model[:60]!a} is not set for this project.",
            "PREREAD_MODEL in the person's environment sets it.",
        )  # fmt: skip
    return {"max_usd": min(wanted, settings.max_usd), "model": model or settings.model}


def _task(layout: Layout, request: ExecuteRequest) -> str:
    """The task with the text of its issue or ticket. Raises E_ISSUE, E_NOT_FOUND, E_USAGE."""
    texts = [request.task]
    if request.issue is not None:
        number = _number(request.issue)
        data = plain_bytes(layout.ticket(str(number)), MAX_TEXT) if number else None
        if data is None:
            raise PrereadError(
                "E_ISSUE",
                f"There is no issue {str(request.issue)[:40]!a} here.",
                "Its text is read from .project/tickets/<number>.md.",
                {"issue": request.issue},
            )
        texts.append(data.decode("utf-8", "replace"))
    if request.ticket:
        texts.append(ticket_text(layout, request.ticket))
    task = "\n\n".join(text for text in texts if text.strip())
    if not task:
        hint = 'Like: `preread agent codegen --task "Round coupons half up" --feature checkout`'
        raise PrereadError("E_USAGE", "An agent needs a task: `task`, `issue` or `ticket`.", hint)
    return task


def ticket_text(layout: Layout, ticket: str) -> str:
    """The text of a ticket in `.project/tickets/`. Raises E_NOT_FOUND."""
    data = plain_bytes(layout.ticket(ticket), MAX_TEXT)
    if data is None:
        raise PrereadError("E_NOT_FOUND", f"There is no ticket {ticket} here.", "")
    return data.decode("utf-8", "replace")


def _number(issue: int | str) -> int:
    """The number of an issue; 0 if the text is not one."""
    text = str(issue)
    is_number = text.isascii() and text.isdecimal() and len(text) < len(str(MAX_ISSUE))
    return int(text) if is_number else 0


def _execute(
    services: Services, request: ExecuteRequest, task: str, feature: str, known: dict[str, str]
) -> ExecuteReply:
    begun = time.monotonic()
    repository = open_repository(services)
    layout, policy = repository.layout, kinds.policy(request.kind)
    budget = Budget(services.settings.max_usd, begun + request.timeout_seconds)
    record, is_new = _worktree(repository, request, feature)
    own = replace(services, layout=layout)
    try:
        job = _job(repository, request, record, task, feature, known)
        ended = work.do(own, repository, record, job)
        done = _carried_out(own, repository, request, record, ended.text, budget)
    except PrereadError as error:
        error.details["worktree"] = record.name  # with what it did, if it did anything
        raise
    finally:
        if is_new and not (policy.writes and _has_work(repository, record)):
            work.leave(repository, record)
    worktree = record.name if records.read(layout, record.name) else ""
    compared = compare.compare(repository, record) if worktree and policy.writes else None
    return ExecuteReply(
        status=_status(policy, done),
        kind=request.kind,
        text=own.credentials.without(ended.text)[:MAX_TEXT],
        worktree=worktree,
        files=compared.files if compared else (),
        diff=compared.diff if compared else "",
        denials=ended.outcome.denials,
        ran=done.steps if done else (),
        cost_usd=ended.outcome.cost_usd,
        execution_time_ms=round((time.monotonic() - begun) * 1000),
        next=_next(done, worktree if compared else ""),
    )


def _status(
    policy: kinds.Policy, done: proposals.Done | None
) -> Literal["done", "proposed", "incomplete"]:
    """`proposed` if none of a proposal's commands was run; `incomplete` if one failed."""
    if policy.proposes and not (done and done.steps):
        return "proposed"
    return "incomplete" if done and done.stopped else "done"


def _next(done: proposals.Done | None, changed: str) -> str:
    """What to do next; `changed` is the worktree with changes to merge, if any."""
    if done and done.stopped:
        return done.stopped
    return f"Merge it: `preread worktree merge {changed}`" if changed else "Nothing was changed."


def _job(
    repository: Repository,
    request: ExecuteRequest,
    record: Record,
    task: str,
    feature: str,
    known: dict[str, str],
) -> Job:
    change = compare.compare(repository, record).diff if request.worktree else ""
    sources = {**known, "The change": change, proposals.ALLOWED: "\n".join(request.commands)}
    form = Proposal if request.commands else FORMS.get(request.kind)
    text = run.prompt(repository.layout, request.kind, task, sources, form)
    return Job(request.kind, text, task, feature, request.timeout_seconds, form)


def _carried_out(
    services: Services,
    repository: Repository,
    request: ExecuteRequest,
    record: Record,
    text: str,
    budget: Budget,
) -> proposals.Done | None:
    """What was run of a proposal's commands; None if no command was allowed."""
    if not request.commands:
        return None
    try:
        proposal = answers.read(Proposal, text)
    except ValueError as error:
        return proposals.Done((), f"The proposal cannot be used: {error}.")
    root = records.path_of(repository, record.name) / repository.prefix
    return proposals.carry_out(services, root, proposal, request.commands, budget)


def _worktree(repository: Repository, request: ExecuteRequest, feature: str) -> tuple[Record, bool]:
    """The worktree to work in, and whether it is a new one."""
    if request.worktree:
        return records.need(repository, request.worktree), False
    name = f"{request.kind}-{os.urandom(4).hex()}"
    base = repository.out("symbolic-ref", "-q", "HEAD")
    record = Record(
        name=name, branch=f"refs/heads/{records.BRANCHES}{name}", base=base,
        begun_at=repository.commit_of("HEAD"), issue=_issue(request), feature=feature,
    )  # fmt: skip
    create.create(repository, record)
    return record.model_copy(update={"stage": "ready"}), True


def _issue(request: ExecuteRequest) -> int | None:
    return None if request.issue is None else _number(request.issue)


def _has_work(repository: Repository, record: Record) -> bool:
    return bool(removal.work_in(repository.uncancelled(), record))


OPERATION = Operation(
    name="agent.execute",
    request=ExecuteRequest,
    reply=ExecuteReply,
    effect="execute",
    doc="Run an agent in its own worktree; a coordinator runs several, and merges what passes.",
    example='preread agent codegen --task "Round coupons half up" --feature checkout',
    run=execute,
    preview=preview,
    command="agent",
    positional=("kind",),
    limit=lambda _, request: request.timeout_seconds + 120,
)
