"""`workflow.execute`: a whole workflow for one feature, without a person, in one worktree."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from preread import aliases
from preread.agents import coordinate, journal, kinds
from preread.agents.journal import Entry
from preread.agents.order import turn
from preread.errors import Cancelled, PrereadError
from preread.gates.feature_names import slug
from preread.operations.agent import coordinator
from preread.operations.agent.execute import dossier, lowered, ticket_text
from preread.operations.registry import Context, Operation, Preview, in_thread
from preread.operations.workflow import definitions
from preread.operations.workflow.definitions import OF_TESTS, Workflow
from preread.operations.workflow.flow import TESTS, Flow, WorkflowOrder
from preread.operations.workflow.run_setup import open_run
from preread.operations.workflow.shapes import AgentRun, ExecuteReply, ExecuteRequest, StageRun
from preread.records import spending
from preread.services import Services
from preread.worktrees import compare, records, repair
from preread.worktrees.repository import Repository, open_repository

KEEPS = "Finished stages are not repeated or paid for again."


async def execute(context: Context, request: ExecuteRequest) -> ExecuteReply:
    begun = time.monotonic()
    services = context.services()
    limits = lowered(services, request.max_usd, request.model)
    limited = replace(services, settings=services.settings.model_copy(update=limits))
    repository, workflow, feature, task = _resolved(services, request)
    needs_tests = any(OF_TESTS & set(stage.done) for stage in workflow.stages)
    suite = (
        await coordinator.suite(context, services, request.test_command) if needs_tests else None
    )
    read = await dossier(context, feature, task)
    order = WorkflowOrder(
        id=name_of(workflow, feature), workflow=workflow, feature=feature, task=task,
        dossier=read.dossier, suite=suite, rounds=request.rounds, links=request.link_in,
        seconds=request.timeout_seconds, usd=limited.settings.max_usd,
    )  # fmt: skip
    own = replace(limited, layout=repository.layout)
    return await in_thread(context, own, _execute, order, begun)


async def preview(context: Context, request: ExecuteRequest) -> Preview:
    services = context.services()
    limits = lowered(services, request.max_usd, request.model)
    repository, workflow, feature, _ = _resolved(services, request)
    tests = coordinator.allowed(context, services, request.test_command)
    name = name_of(workflow, feature)
    is_there = records.read(repository.layout, name) is not None
    stages = [
        f"{stage.name} ({', '.join(stage.all_agents) or 'no agent'})" for stage in workflow.stages
    ]
    notes = (
        f"{workflow.name} would be run for {feature}, model {limits['model']}.",
        f"Its stages: {', '.join(stages)}; those that are done are skipped.",
        f"It would continue in .worktrees/{name}." if is_there
        else f"A worktree .worktrees/{name} would be made from "
        f"{repository.commit_of('HEAD')[:12]}; nothing is merged.",
        f"Between the agents, `{tests.shown}` would be run with your rights." if tests
        else "You would be asked how the tests are run, if a stage needs them.",
        f"It may take {request.timeout_seconds:g} s and cost {limits['max_usd']:.2f} dollars.",
    )  # fmt: skip
    return Preview(notes=notes)


def _resolved(services: Services, request: ExecuteRequest) -> tuple[Repository, Workflow, str, str]:
    """The repository, workflow, feature and task. Raises an error for an invalid request."""
    repository = open_repository(services)
    layout = repository.layout
    workflows = definitions.all_workflows(layout)
    if request.workflow not in workflows:
        raise PrereadError(
            "E_NOT_FOUND", f"There is no workflow {request.workflow[:60]!a}.",
            f"There are: {', '.join(workflows)}.",
        )  # fmt: skip
    workflow = workflows[request.workflow]
    for agent in {name for stage in workflow.stages for name in stage.all_agents}:
        kinds.instructions(layout, agent)
    texts = [request.task]
    if request.ticket:
        texts.append(ticket_text(layout, request.ticket))
    task = "\n\n".join(text for text in texts if text.strip())
    return repository, workflow, aliases.resolve(layout, request.feature).feature, task


def name_of(workflow: Workflow, feature: str) -> str:
    """The name of the run and of its worktree."""
    return slug(f"{workflow.name} {feature}")


def _execute(services: Services, order: WorkflowOrder, begun: float) -> ExecuteReply:
    if not spending.allows(services):
        raise spending.refused(services)
    repository = open_repository(services)
    layout = repository.layout
    with turn(services, layout, order.id, order.seconds) as waited:
        log = journal.of(layout, order.id)
        coordinate.check_own(repository, log)
        for repaired in repair.repair(repository):
            services.progress.say(repaired)
        flow = open_run(services, repository, order, log, begun)
        joined = waited and not flow.remaining()
        with _explained(flow, begun):
            flow.carry_out()
        return _reply(flow, begun, joined=joined)


@contextmanager
def _explained(flow: Flow, begun: float) -> Iterator[None]:
    """Add the state of the run to an error: its stages, cost and worktree, and how to continue."""
    try:
        yield
    except Cancelled:
        raise
    except PrereadError as error:
        name = flow.record.name
        done = _stages(flow)
        error.details |= {
            "workflow": flow.order.workflow.name, "feature": flow.order.feature,
            "worktree": name, "stages": [one.model_dump(mode="json") for one in done],
            "cost_usd": round(sum(one.cost_usd for one in done), 6),
            "execution_time_ms": round((time.monotonic() - begun) * 1000),
            "left": [one.name for one in done if not one.done],
        }  # fmt: skip
        error.hint = (
            f"Its work is kept: `preread worktree diff {name}`. To go on from there: "
            f"`preread run {flow.order.workflow.name} {flow.order.feature}`. {KEEPS}"
        )
        flow.journal.add("finished")
        raise
    flow.journal.add("finished")


def _reply(flow: Flow, begun: float, *, joined: bool) -> ExecuteReply:
    stages = _stages(flow)
    name = flow.record.name
    return ExecuteReply(
        status="done",
        workflow=flow.order.workflow.name,
        feature=flow.order.feature,
        worktree=name,
        stages=stages,
        files=compare.compare(flow.repository, flow.record).files,
        cost_usd=round(sum(one.cost_usd for one in stages), 6),
        execution_time_ms=round((time.monotonic() - begun) * 1000),
        joined=joined,
        next=f"Read it: `preread worktree diff {name}`. Merge it: `preread worktree merge {name}`.",
    )


def _stages(flow: Flow) -> tuple[StageRun, ...]:
    limit = compare.MAX_DIFF // len(flow.order.workflow.stages)
    return tuple(_stage(flow, stage, limit) for stage in flow.order.workflow.stages)


def _stage(flow: Flow, stage: definitions.Stage, limit: int) -> StageRun:
    entries = flow.entries(stage.name)
    runs = [_agent_run(entry) for entry in entries if entry.step == "ended"]
    begun = next((one.begun_at for one in entries if one.begun_at), "")
    commit = next((one.commit for one in reversed(entries) if one.commit), "")
    diff = compare.between(flow.repository, begun, commit, limit=limit) if begun and commit else ""
    left = flow.left(stage)
    return StageRun(
        name=stage.name, done=not left, left=left, runs=tuple(runs),
        cost_usd=round(_cost(entries), 6), diff=flow.services.credentials.without(diff),
    )  # fmt: skip


def _agent_run(ended: Entry) -> AgentRun:
    text = ended.text or ("passed" if ended.kind == TESTS else ended.code)
    return AgentRun(agent=ended.kind, text=text, cost_usd=ended.usd)


def _cost(entries: Iterable[Entry]) -> float:
    """What a stage cost; an agent with an unknown cost counts as its limit."""
    cost = reserved = 0.0
    for entry in entries:
        if entry.step == "started":
            cost, reserved = cost + reserved, entry.usd or 0.0
        elif entry.step == "ended":
            cost, reserved = cost + (reserved if entry.usd is None else entry.usd), 0.0
    return cost + reserved


OPERATION = Operation(
    name="workflow.execute",
    request=ExecuteRequest,
    reply=ExecuteReply,
    effect="execute",
    doc="Run the stages of a workflow that a feature has not completed, in one worktree.",
    example="preread run feature-test checkout --task 'Test expired coupons'",
    run=execute,
    preview=preview,
    command="run",
    positional=("workflow", "feature"),
    limit=lambda _, request: request.timeout_seconds + 120,
)
