"""Set up a run of a workflow: its worktree, the dossier in it, its run log."""

from pathlib import Path

from preread import git_rules
from preread.agents import journal, run, work
from preread.agents.budget import Budget
from preread.builders import untrusted
from preread.dossier import published
from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import MANIFEST, Layout
from preread.operations.workflow import definitions
from preread.operations.workflow.flow import Flow, WorkflowOrder
from preread.records.runlog import STAGES
from preread.services import Services
from preread.worktrees import create, records
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository, failed

MAX_ASKED = 300  # characters of the task in the run log


def open_run(
    services: Services,
    repository: Repository,
    order: WorkflowOrder,
    log: journal.Journal,
    begun: float,
) -> Flow:
    """The run in its worktree: the existing one or a new one. Raises E_WORKTREE, E_USAGE."""
    budget = Budget(
        order.usd, begun + order.seconds, log.run_state.cost_usd - log.run_state.paid_before
    )
    if records.read(repository.layout, order.id) is not None:
        record, task = _resumed(repository, order, log)
        flow = Flow(services, repository, order._replace(task=task), record, log, budget)
        work.commit(repository, record, "what was in the worktree")
    else:
        _check_program(services, order)
        record = _new_record(repository, order)
        log.add("begun", text=order.task, begun_at=record.begun_at, worktree=record.name)
        create.create(repository, record)
        record = record.model_copy(update={"stage": "ready"})
        flow = Flow(services, repository, order, record, log, budget)
    _prepare(flow)
    return flow


def _resumed(
    repository: Repository, order: WorkflowOrder, log: journal.Journal
) -> tuple[Record, str]:
    """The record of the existing worktree, and the task of its run. Raises E_WORKTREE, E_USAGE."""
    starts = [one for one in log.entries if one.step == "begun" and one.begun_at]
    record = records.need(repository, order.id)
    if not starts or starts[-1].begun_at != record.begun_at:
        raise failed(
            f"The worktree {order.id} does not belong to this workflow.", "Merge or remove it.",
            name=order.id,
        )  # fmt: skip
    if order.task not in {"", starts[-1].text}:
        raise PrereadError(
            "E_USAGE", f"{order.id} is about another task: {starts[-1].text[:300]!a}.",
            f"To continue it, give the same task or none; for another task, first merge it "
            f"(`preread worktree merge {order.id}`) or remove it.",
            {"worktree": order.id},
        )  # fmt: skip
    return record, starts[-1].text


def _check_program(services: Services, order: WorkflowOrder) -> None:
    """Raise E_AGENT before anything is created if the agents' program is missing."""
    agents = [name for stage in order.workflow.stages for name in stage.agents]
    if agents:
        run.program(services, agents[0])


def _new_record(repository: Repository, order: WorkflowOrder) -> Record:
    return Record(
        name=order.id, branch=f"refs/heads/{records.BRANCHES}{order.id}",
        base=repository.out("symbolic-ref", "-q", "HEAD"), begun_at=repository.commit_of("HEAD"),
        feature=order.feature, links=order.links,
    )  # fmt: skip


def _prepare(flow: Flow) -> None:
    """Copy the dossier and begin a run log, as an agent working with a person would."""
    repository, feature, layout = flow.repository, flow.order.feature, flow.layout
    private = git_rules.ignored(share=flow.services.settings.share)
    repository.exclude([f"/{repository.prefix}.project/{name}" for name in private])
    _copy_dossier(repository.layout, layout, feature)
    if any(one.step == "started" for one in flow.entries()):
        return
    path = layout.real(layout.run_log(feature))
    if _has_open_log(path):
        return
    atomic.make_folder(path.parent)
    atomic.write(path, _first_log(flow).encode())
    work.commit(repository, flow.record, "run log: begun")


def _has_open_log(path: Path) -> bool:
    """Whether a run log exists whose last stage has not begun."""
    text = (plain_bytes(path) or b"").decode("utf-8", "replace")
    return bool(text) and f"\n## {STAGES[-1]}" not in text


def _first_log(flow: Flow) -> str:
    """A run log with what is known before the first agent."""
    feature, layout = flow.order.feature, flow.layout
    stages = {one for stage in flow.order.workflow.stages for one in stage.done}
    asked = untrusted.clean(flow.order.task or flow.order.workflow.doc, MAX_ASKED)
    lines = [f"# Run log: {feature}", "", "## ANALYZE", f"- workflow: {flow.order.workflow.name}",
             f"- asked for: {flow.services.credentials.without(asked)}"]  # fmt: skip
    if f"{definitions.LOG}RESEARCH" not in stages:
        folder = layout.relative(layout.dossier(feature))
        lines += ["", "## RESEARCH", f"- dossier: {folder}/"]
    return "\n".join((*lines, ""))


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
