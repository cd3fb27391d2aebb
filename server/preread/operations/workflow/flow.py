"""Run a workflow's stages in one worktree. Whether a stage is done depends on the files there."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

from preread.agents import project_tests, run, work
from preread.agents.budget import Budget
from preread.agents.journal import Entry, Journal
from preread.agents.order import DOSSIER
from preread.agents.programs import ProgramResult
from preread.agents.project_tests import Suite
from preread.agents.work import Job
from preread.builders import untrusted
from preread.errors import Cancelled, PrereadError
from preread.gates import failure_kinds, record_run, run_log, run_records, runner_output, secrets
from preread.layout import Layout
from preread.operations.workflow.definitions import (
    CONDITIONS,
    OF_TESTS,
    Stage,
    Workflow,
    log_path,
)
from preread.operations.workflow.progress import Progress, Project
from preread.operations.workflow.state import filled
from preread.services import Report, Services
from preread.worktrees import records
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository

TESTS = "tests"  # the kind of a journal entry about a run of the tests
LIMITS = frozenset({"E_TIMEOUT", "E_MONEY"})  # the stage is continued, not started again
MAX_SUMMARY, MAX_LINE, MAX_PROBLEMS = 4000, 300, 5
HEADLESS = (
    "You work without a person in a worktree on a branch of its own: nobody can answer questions, "
    "and what you write reaches nobody before a person merges it. So nothing is drafted below "
    "`.draft/`: a test goes to its place among the project's tests, where the run log names it. "
    "You have no shell and need not load the dossier: you were given it. "
)


@contextmanager
def writing_errors(what: str) -> Iterator[None]:
    """Raises E_WRITE for a file of Preread's that cannot be written."""
    try:
        yield
    except OSError as error:
        raise PrereadError("E_WRITE", f"{what} cannot be written: {error}.") from error


class WorkflowOrder(NamedTuple):
    """One run of a workflow for a feature, and its limits."""

    id: str  # of the run; its worktree has the same name
    workflow: Workflow
    feature: str
    task: str
    dossier: str
    suite: Suite | None  # None if no stage needs one
    rounds: int
    seconds: float
    usd: float
    links: tuple[str, ...] = ()


@dataclass
class Flow:
    """One call that carries out a workflow."""

    services: Services
    repository: Repository
    order: WorkflowOrder
    record: Record
    journal: Journal
    budget: Budget

    @property
    def layout(self) -> Layout:
        """The layout of the project in the worktree."""
        path = records.path_of(self.repository, self.record.name)
        return Layout((path / self.repository.prefix).resolve())

    @property
    def head(self) -> str:
        return self.repository.commit_of(self.record.branch)

    def progress(self) -> Progress:
        """How far the feature is in the worktree now."""
        inside = replace(self.services, layout=self.layout)  # new services list the files again
        return Progress(Project(inside), self.order.feature)

    def left(self, stage: Stage) -> tuple[str, ...]:
        """The conditions that the worktree does not meet."""
        return self.progress().left(stage)

    def problems(self, left: tuple[str, ...]) -> str:
        """What is wrong with the run log, if nothing else is missing."""
        log = self.progress().log if "log valid" in left else None
        found = [f"line {one.line}: {one.message}" for one in (log.problems if log else ())]
        return "; ".join(found[:MAX_PROBLEMS])

    def remaining(self) -> list[Stage]:
        """The stages from the first that is not done, or in which an agent was cut off."""
        stages = self.order.workflow.stages
        for number, stage in enumerate(stages):
            if self.left(stage) or self._cut_off(stage):
                return list(stages[number:])
        return []

    def carry_out(self) -> None:
        """Run every stage that is not done. Raises E_AGENT, E_TIMEOUT, E_MONEY, Cancelled."""
        stages = self.order.workflow.stages
        for number, stage in enumerate(stages):
            if not (self.left(stage) or self._cut_off(stage)):
                continue
            self.services.progress.say(f"{stage.name} begins", number, len(stages))
            try:
                self._carry_out(stage, len(stages) - number)
            except Cancelled:
                raise
            except PrereadError as error:
                error.details.setdefault("stage", stage.name)
                if error.code not in LIMITS:
                    self.journal.add("failed", task=stage.name, code=error.code, text=error.message)
                raise
            self.services.progress.say(f"{stage.name} is done", number + 1, len(stages))

    def _carry_out(self, stage: Stage, among: int) -> None:
        self.budget.need_time()
        for agent in self._due(stage):
            if agent == stage.heals:
                self._heal(stage, among)
            else:
                self._agent(stage, agent, among)
        said = self._test(stage).failure if self._needs_run(stage) else ""
        if left := self.left(stage):
            raise self._failed(stage, left, said or self._why_not(stage, left))

    def _needs_run(self, stage: Stage) -> bool:
        """Whether a stage's conditions depend on tests that have not run on the current files."""
        tested = [one.commit for one in self.entries(stage.name) if one.kind == TESTS]
        is_old = bool(tested) and self._changed(tested[-1])
        return bool(OF_TESTS & set(stage.done)) and (
            is_old or bool(OF_TESTS & set(self.left(stage)))
        )

    def _heal(self, stage: Stage, among: int) -> None:
        """Run the tests, and the healer while they fail. Raises E_AGENT when it gives up."""
        ran, before, rounds = self._test(stage), "", 0
        while ran.failure and rounds < self.order.rounds:
            before, rounds = self.head, rounds + 1
            self._agent(stage, stage.heals, among, ran.failure)
            if not self._changed(before):
                break
            ran = self._test(stage)
        if not ran.failure:
            self._note_fix(stage)
            return
        if stage.explains:
            self._agent(stage, stage.explains, among, ran.failure)
        gave_up = rounds and not self._changed(before)
        counted = f"after {rounds} round{'' if rounds == 1 else 's'} of fixes"
        how = f"{stage.heals} changed no file" if gave_up else counted
        raise self._failed(stage, self.left(stage), f"{how}: {ran.failure}")

    def _test(self, stage: Stage) -> ProgramResult:
        """Run the project's tests, and record the run where conditions and agents look for it."""
        self._report(stage)("runs the tests", 0, 0)
        suite, begun = self.order.suite, time.monotonic()
        if suite is None:
            raise PrereadError("E_NOT_ALLOWED", "Nobody has allowed the project's tests.")
        path, before = records.path_of(self.repository, self.record.name), self.head
        try:
            seconds = self.budget.need_time()
            ran = project_tests.run(self.services, suite, self.layout.root, seconds)
            self.budget.need_time()
        finally:  # files that tests leave behind are not part of the work
            kept = self.repository.uncancelled()
            kept.run("reset", "-q", "--hard", at=path)
            kept.run("clean", "-q", "-f", "-d", at=path)
        self._note(suite, ran, time.monotonic() - begun)
        self.journal.add(
            "ended", task=stage.name, kind=TESTS, begun_at=before, commit=self.head,
            text=ran.failure,
        )  # fmt: skip
        return ran

    def _note(self, suite: Suite, ran: ProgramResult, seconds: float) -> None:
        """Record a run as the hooks do."""
        root, feature = str(self.layout.root), self.order.feature
        read = runner_output.read(runner_output.cleaned(ran.failure or ran.output))
        failed = bool(ran.failure)
        record = {
            "id": run_records.new_id(), "at": int(time.time()),
            "outcome": "failed" if failed else "passed", "features": [feature],
            "kind": failure_kinds.kind_of(ran.failure) if failed else "", "command": suite.shown,
            "failed": [secrets.redacted(name) for name in read.names] if failed else [],
            "passed": max(0, read.passed), "failures": read.failed + read.errors,
            "message": secrets.redacted(read.message) if failed else "",
            "seconds": round(seconds, 1),
        }  # fmt: skip
        with writing_errors("The run"):
            run_records.append(root, record)
            run_log.add_run(root, feature, record_run.bullet(record))
        work.commit(self.repository, self.record, f"{TESTS}: {record['outcome']}")

    def _note_fix(self, stage: Stage) -> None:
        """Note in the run log what was fixed, in case the healer did not."""
        mine = [one.text for one in self.entries(stage.name) if one.kind == stage.heals]
        said = untrusted.clean(mine[-1], MAX_LINE) if mine else ""
        root, feature = str(self.layout.root), self.order.feature
        with writing_errors("The run log"):
            run_log.add_fix(root, feature, f"{stage.heals}: {said}" if mine else "none")
        work.commit(self.repository, self.record, "run log: FIX")

    def _agent(self, stage: Stage, agent: str, among: int, failure: str = "") -> None:
        """Run one agent with its share of the money."""
        share = self.budget.reserve(among)
        fields = {"task": stage.name, "kind": agent, "worktree": self.record.name}
        text = self._prompt(stage, agent, failure)
        self.journal.add("started", **fields, begun_at=self.head, usd=share)
        own = replace(
            self.services,
            settings=self.services.settings.model_copy(update={"max_usd": share}),
            progress=replace(self.services.progress, report=self._report(stage)),
        )
        job = Job(agent, text, stage.name, self.order.feature, self.budget.seconds)
        try:
            ended = work.do(own, self.repository, self.record, job)
        except Cancelled:
            raise
        except PrereadError as error:
            cost = error.details.get("cost_usd", 0.0)
            self.budget.settle(share, cost)
            work.commit(self.repository, self.record, f"{agent}: what it left when it failed")
            self.journal.add("ended", **fields, usd=cost, code=error.code, commit=self.head)
            raise
        cost, said = ended.outcome.cost_usd, self.services.credentials.without(ended.text)
        self.budget.settle(share, cost)
        self.journal.add("ended", **fields, usd=cost, commit=self.head, text=said[:MAX_SUMMARY])

    def _report(self, stage: Stage) -> Report:
        number = self.order.workflow.stages.index(stage)
        report, total = self.services.progress.report, len(self.order.workflow.stages)
        return lambda text, _done, _of: report(f"{stage.name}: {text}", number, total)

    def _prompt(self, stage: Stage, agent: str, failure: str) -> str:
        """An agent's instructions: its file, the stage, and what is known so far."""
        order, layout = self.order, self.layout
        values = {"feature": order.feature, "log": log_path(layout, order.feature)}
        suite = order.suite
        tests = (
            f"Preread runs `{suite.shown}` between the agents and notes each run under ## RUN; "
            if suite
            else ""
        )
        left = self.left(stage)
        lines = [
            f"feature: {order.feature}",
            f"The stage {stage.name} of {order.workflow.name}: {filled(stage.next, values)}",
            f"{HEADLESS}{tests}do of the stage what is yours.",
            "The stage is done when: " + "; ".join(CONDITIONS[one] for one in stage.done),
            *([f"Of this is missing: {'; '.join(left)}. {self.problems(left)}"] if left else []),
        ]
        if self._cut_off(stage):
            lines.append("An earlier try was cut off; what it wrote is there. Check it, go on.")
        known = work.known(layout, order.feature, order.dossier)
        sources = {
            DOSSIER: known.pop(DOSSIER), "What a person asked for": order.task,
            "What the tests said": failure, **known,
        }  # fmt: skip
        return run.prompt(self.repository.layout, agent, "\n".join(lines), sources)

    # -- what the journal says about this run

    def entries(self, stage: str = "") -> list[Entry]:
        """The entries since the worktree was created, of one stage or of all."""
        entries = self.journal.entries
        starts = [n for n, one in enumerate(entries) if one.step == "begun" and one.begun_at]
        return [one for one in entries[starts[-1] if starts else 0 :]
                if not stage or one.task == stage]  # fmt: skip

    def _cut_off(self, stage: Stage) -> bool:
        """Whether the last agent of a stage was started and did not finish."""
        mine = [one for one in self.entries(stage.name) if one.kind not in {"", TESTS}]
        return bool(mine) and (mine[-1].step == "started" or bool(mine[-1].code))

    def _due(self, stage: Stage) -> Iterator[str]:
        """The agents to run, without those that an earlier call finished before it was cut off."""
        ended: set[str] = set()
        for entry in self.entries(stage.name):
            if entry.step == "failed":
                ended.clear()
            elif entry.step == "ended" and not entry.code:
                ended.add(entry.kind)
        return (agent for agent in stage.agents if agent == stage.heals or agent not in ended)

    def _changed(self, before: str) -> bool:
        """Whether a file of the project, other than Preread's own, differs from a commit."""
        own = f":(exclude){self.repository.prefix}.project"
        names = ("diff", "--name-only", "-z", before, self.head, "--", ":/", own)
        return bool(self.repository.run("--no-literal-pathspecs", *names).out)

    def _why_not(self, stage: Stage, left: tuple[str, ...]) -> str:
        if not stage.agents:
            return "it names no agent, so a person has to do it"
        return self.problems(left)

    def _failed(self, stage: Stage, left: tuple[str, ...], why: str) -> PrereadError:
        missing = "; ".join(f"`{one}` is not met" for one in left)
        more = f" ({why})" if why else ""
        return PrereadError(
            "E_AGENT",
            f"The stage {stage.name} of {self.order.workflow.name} is not done: {missing}{more}.",
            details={"conditions": {one: CONDITIONS[one] for one in left}},
        )
