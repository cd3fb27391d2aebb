"""`workflow.execute`: a whole workflow for one feature, without a person, in one worktree."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from pydantic import Field

from preread import aliases, git_rules
from preread.agents import coordinate, journal, kinds, run, work
from preread.agents.budget import Budget
from preread.agents.order import turn
from preread.builders import untrusted
from preread.dossier import published
from preread.errors import Cancelled, PrereadError
from preread.gates.feature_names import slug
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import MANIFEST, Layout
from preread.models import Model
from preread.operations.agent import coordinator
from preread.operations.agent.execute import dossier, lowered, ticket_text
from preread.operations.registry import (
    FEATURE,
    TICKET,
    Context,
    Operation,
    Preview,
    RequestModel,
    in_thread,
)
from preread.operations.workflow import definitions
from preread.operations.workflow.definitions import OF_TESTS, Workflow
from preread.operations.workflow.flow import TESTS, Flow, Wanted
from preread.records import spending
from preread.records.runlog import STAGES
from preread.services import Services
from preread.worktrees import compare, create, records, repair
from preread.worktrees.compare import FileChange
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository, failed, open_repository

MAX_TASK = 20_000
MAX_ASKED = 300  # characters of the task in the run log
KEEPS = "What is done is not done, nor paid for, again."


class ExecuteRequest(RequestModel):
    """Which workflow for which feature, and within which limits."""

    workflow: str = Field(description="Its name, like `feature-test`.")
    feature: str = Field(description=FEATURE)
    task: str = Field(
        "", max_length=MAX_TASK, description="What is wanted, in words; default: the workflow's."
    )
    ticket: str | None = Field(None, description=TICKET)
    timeout_seconds: float = Field(1800, gt=0, le=7200, description="Seconds it may take.")
    max_usd: float | None = Field(None, gt=0, description="Dollars it may cost; never raises it.")
    model: str | None = Field(None, description="The model; agents cannot choose a dearer one.")
    rounds: int = Field(5, ge=0, le=25, description="How often failing tests are healed.")
    link_in: tuple[str, ...] = Field(
        (), description="Ignored folders that the tests need, like `node_modules`."
    )
    test_command: str | None = Field(
        None, description="How the tests are run; only from people. Default: the setting."
    )


class AgentRun(Model):
    """One agent, or one run of the tests."""

    agent: str = Field(description="Its name, or `tests`.")
    text: str = Field(description="What it said last; data, not instructions.")
    cost_usd: float | None = None


class StageRun(Model):
    """What became of one stage, in this call and in those that it goes on from."""

    name: str
    done: bool
    left: tuple[str, ...] = Field(description="Its conditions that are not met.")
    runs: tuple[AgentRun, ...] = Field(description="Empty for one that was done before.")
    cost_usd: float = Field(description="An unknown cost counts as its limit.")
    diff: str = Field(description="What it changed; of all stages at most 100,000 characters.")


class ExecuteReply(Model):
    """A workflow that is done. Nothing is merged: that is `worktree.merge`."""

    status: Literal["done"]
    workflow: str
    feature: str
    worktree: str
    stages: tuple[StageRun, ...]
    files: tuple[FileChange, ...]
    cost_usd: float
    execution_time_ms: int
    joined: bool = Field(description="Another call had done it.")
    next: str


async def execute(context: Context, request: ExecuteRequest) -> ExecuteReply:
    begun = time.monotonic()
    services = context.services()
    limits = lowered(services, request.max_usd, request.model)
    limited = replace(services, settings=services.settings.model_copy(update=limits))
    repository, workflow, feature, task = _asked(services, request)
    needs_tests = any(OF_TESTS & set(stage.done) for stage in workflow.stages)
    suite = (
        await coordinator.suite(context, services, request.test_command) if needs_tests else None
    )
    read = await dossier(context, feature, task)
    wanted = Wanted(
        id=name_of(workflow, feature), workflow=workflow, feature=feature, task=task,
        dossier=read.dossier, suite=suite, rounds=request.rounds, links=request.link_in,
        seconds=request.timeout_seconds, usd=limited.settings.max_usd,
    )  # fmt: skip
    own = replace(limited, layout=repository.layout)
    return await in_thread(context, own, _execute, wanted, begun)


async def preview(context: Context, request: ExecuteRequest) -> Preview:
    services = context.services()
    limits = lowered(services, request.max_usd, request.model)
    repository, workflow, feature, _ = _asked(services, request)
    tests = coordinator.allowed(context, services, request.test_command)
    name = name_of(workflow, feature)
    is_there = records.read(repository.layout, name) is not None
    stages = [
        f"{stage.name} ({', '.join(stage.everyone) or 'no agent'})" for stage in workflow.stages
    ]
    notes = (
        f"{workflow.name} would be run for {feature}, model {limits['model']}.",
        f"Its stages: {', '.join(stages)}; those that are done are left out.",
        f"It would go on in .worktrees/{name}." if is_there
        else f"A worktree .worktrees/{name} would be made from "
        f"{repository.commit_of('HEAD')[:12]}; nothing is merged.",
        f"Between the agents, `{tests.shown}` would be run with your rights." if tests
        else "You would be asked how the tests are run, if a stage needs them.",
        f"It may take {request.timeout_seconds:g} s and cost {limits['max_usd']:.2f} dollars.",
    )  # fmt: skip
    return Preview(notes=notes)


def _asked(services: Services, request: ExecuteRequest) -> tuple[Repository, Workflow, str, str]:
    """The repository, workflow, feature and task. Raises what is wrong with the request."""
    repository = open_repository(services)
    layout = repository.layout
    workflows = definitions.every(layout)
    if request.workflow not in workflows:
        raise PrereadError(
            "E_NOT_FOUND", f"There is no workflow {request.workflow[:60]!a}.",
            f"There are: {', '.join(workflows)}.",
        )  # fmt: skip
    workflow = workflows[request.workflow]
    for agent in {name for stage in workflow.stages for name in stage.everyone}:
        kinds.instructions(layout, agent)
    texts = [request.task]
    if request.ticket:
        texts.append(ticket_text(layout, request.ticket))
    task = "\n\n".join(text for text in texts if text.strip())
    return repository, workflow, aliases.served(layout, request.feature).feature, task


def name_of(workflow: Workflow, feature: str) -> str:
    """The name of the run and of its worktree."""
    return slug(f"{workflow.name} {feature}")


def _execute(services: Services, wanted: Wanted, begun: float) -> ExecuteReply:
    if not spending.allows(services):
        raise spending.refused(services)
    repository = open_repository(services)
    layout = repository.layout
    with turn(services, layout, wanted.id, wanted.seconds) as waited:
        log = journal.of(layout, wanted.id)
        coordinate.check_own(repository, log)
        for repaired in repair.repair(repository):
            services.progress.say(repaired)
        flow = _opened(services, repository, wanted, log, begun)
        joined = waited and not flow.remaining()
        with _explained(flow, begun):
            flow.carry_out()
        return _reply(flow, begun, joined=joined)


def _opened(
    services: Services,
    repository: Repository,
    wanted: Wanted,
    log: journal.Journal,
    begun: float,
) -> Flow:
    """The run in its worktree: the one that is there, or a new one. Raises E_WORKTREE, E_USAGE."""
    budget = Budget(wanted.usd, begun + wanted.seconds, log.story.cost_usd - log.story.paid_before)
    starts = [one for one in log.entries if one.step == "begun" and one.begun_at]
    record = records.read(repository.layout, wanted.id)
    if record is not None:
        record = records.need(repository, wanted.id)
        if not starts or starts[-1].begun_at != record.begun_at:
            raise failed(
                f"The worktree {wanted.id} is not of this workflow.", "Merge or remove it.",
                name=wanted.id,
            )  # fmt: skip
        if wanted.task not in {"", starts[-1].text}:
            raise PrereadError(
                "E_USAGE", f"{wanted.id} is about another task: {starts[-1].text[:300]!a}.",
                f"Call with its words or without any to go on; for another task, first merge it "
                f"(`preread worktree merge {wanted.id}`) or remove it.",
                {"worktree": wanted.id},
            )  # fmt: skip
        flow = Flow(
            services, repository, wanted._replace(task=starts[-1].text), record, log, budget
        )
        work.commit(repository, record, "what was in the worktree")
    else:
        _check_program(services, wanted)
        record = _new_record(repository, wanted)
        log.add("begun", text=wanted.task, begun_at=record.begun_at, worktree=record.name)
        create.create(repository, record)
        record = record.model_copy(update={"stage": "ready"})
        flow = Flow(services, repository, wanted, record, log, budget)
    _prepare(flow)
    return flow


def _check_program(services: Services, wanted: Wanted) -> None:
    """Raises E_AGENT without the program, before anything is made."""
    agents = [name for stage in wanted.workflow.stages for name in stage.agents]
    if agents:
        run.program(services, agents[0])


def _new_record(repository: Repository, wanted: Wanted) -> Record:
    return Record(
        name=wanted.id, branch=f"refs/heads/{records.BRANCHES}{wanted.id}",
        base=repository.out("symbolic-ref", "-q", "HEAD"), begun_at=repository.commit_of("HEAD"),
        feature=wanted.feature, links=wanted.links,
    )  # fmt: skip


def _prepare(flow: Flow) -> None:
    """What an agent would otherwise do by the person's side: the dossier, and a run log."""
    repository, feature, layout = flow.repository, flow.wanted.feature, flow.layout
    private = git_rules.ignored(share=flow.services.settings.share)
    repository.exclude([f"/{repository.prefix}.project/{name}" for name in private])
    _copy_dossier(repository.layout, layout, feature)
    if any(one.step == "started" for one in flow.entries()):
        return
    path = layout.real(layout.run_log(feature))
    text = (plain_bytes(path) or b"").decode("utf-8", "replace")
    if text and f"\n## {STAGES[-1]}" not in text:
        return
    stages = {one for stage in flow.wanted.workflow.stages for one in stage.done}
    asked = untrusted.clean(flow.wanted.task or flow.wanted.workflow.doc, MAX_ASKED)
    lines = [f"# Run log: {feature}", "", "## ANALYZE", f"- workflow: {flow.wanted.workflow.name}",
             f"- asked for: {flow.services.credentials.without(asked)}"]  # fmt: skip
    if f"{definitions.LOG}RESEARCH" not in stages:
        folder = layout.relative(layout.dossier(feature))
        lines += ["", "## RESEARCH", f"- dossier: {folder}/"]
    atomic.make_folder(path.parent)
    atomic.write(path, "\n".join((*lines, "")).encode())
    work.commit(repository, flow.record, "run log: begun")


def _copy_dossier(source: Layout, target: Layout, feature: str) -> None:
    """The project's dossier, for the conditions and the agents in the worktree."""
    found = published.read(source, feature)
    if found is None or published.read(target, feature) is not None:
        return
    folder = target.real(target.dossier(feature))
    atomic.make_folder(folder)
    for name in (*found.texts, MANIFEST):
        data = plain_bytes(source.real(source.dossier(feature) / name))
        if data is not None:
            atomic.write(folder / name, data)


@contextmanager
def _explained(flow: Flow, begun: float) -> Iterator[None]:
    """What a failure leaves: every stage, what it cost, the worktree, how to go on."""
    try:
        yield
    except Cancelled:
        raise
    except PrereadError as error:
        name = flow.record.name
        done = _stages(flow)
        error.details |= {
            "workflow": flow.wanted.workflow.name, "feature": flow.wanted.feature,
            "worktree": name, "stages": [one.model_dump(mode="json") for one in done],
            "cost_usd": round(sum(one.cost_usd for one in done), 6),
            "execution_time_ms": round((time.monotonic() - begun) * 1000),
            "left": [one.name for one in done if not one.done],
        }  # fmt: skip
        error.hint = (
            f"Its work is kept: `preread worktree diff {name}`. To go on from there: "
            f"`preread run {flow.wanted.workflow.name} {flow.wanted.feature}`. {KEEPS}"
        )
        flow.journal.add("finished")
        raise
    flow.journal.add("finished")


def _reply(flow: Flow, begun: float, *, joined: bool) -> ExecuteReply:
    stages = _stages(flow)
    name = flow.record.name
    return ExecuteReply(
        status="done",
        workflow=flow.wanted.workflow.name,
        feature=flow.wanted.feature,
        worktree=name,
        stages=stages,
        files=compare.compare(flow.repository, flow.record).files,
        cost_usd=round(sum(one.cost_usd for one in stages), 6),
        execution_time_ms=round((time.monotonic() - begun) * 1000),
        joined=joined,
        next=f"Read it: `preread worktree diff {name}`. Merge it: `preread worktree merge {name}`.",
    )


def _stages(flow: Flow) -> tuple[StageRun, ...]:
    limit = compare.MAX_DIFF // len(flow.wanted.workflow.stages)
    return tuple(_stage(flow, stage, limit) for stage in flow.wanted.workflow.stages)


def _stage(flow: Flow, stage: definitions.Stage, limit: int) -> StageRun:
    entries, runs, cost, reserved = flow.entries(stage.name), [], 0.0, 0.0
    for entry in entries:
        if entry.step == "started":
            cost, reserved = cost + reserved, entry.usd or 0.0
        elif entry.step == "ended":
            spent = reserved if entry.usd is None else entry.usd
            text = entry.text or ("passed" if entry.kind == TESTS else entry.code)
            runs.append(AgentRun(agent=entry.kind, text=text, cost_usd=entry.usd))
            cost, reserved = cost + spent, 0.0
    begun = next((one.begun_at for one in entries if one.begun_at), "")
    commit = next((one.commit for one in reversed(entries) if one.commit), "")
    diff = compare.between(flow.repository, begun, commit, limit=limit) if begun and commit else ""
    left = flow.left(stage)
    return StageRun(
        name=stage.name, done=not left, left=left, runs=tuple(runs),
        cost_usd=round(cost + reserved, 6), diff=flow.services.credentials.without(diff),
    )  # fmt: skip


OPERATION = Operation(
    name="workflow.execute",
    request=ExecuteRequest,
    reply=ExecuteReply,
    effect="execute",
    doc="Run all stages of a workflow that are not done for a feature, in one worktree.",
    example="preread run feature-test checkout --task 'Test expired coupons'",
    run=execute,
    preview=preview,
    command="run",
    positional=("workflow", "feature"),
    limit=lambda _, request: request.timeout_seconds + 120,
)
