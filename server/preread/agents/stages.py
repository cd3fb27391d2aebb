"""The stages of a coordinated run that cost money: planning, and each task's codegen and review."""

import threading
from dataclasses import dataclass, field, replace

from preread.agents import answers, integrate, run, work
from preread.agents.answers import Answer, Plan, Report, Task, Verdict
from preread.agents.budget import Budget
from preread.agents.dossiers import Dossier
from preread.agents.journal import PLANNER, Journal, TaskState
from preread.agents.order import DOSSIER, Failure, Order
from preread.agents.run import AgentResult
from preread.agents.work import Job
from preread.errors import Cancelled, PrereadError
from preread.services import Progress, Services
from preread.worktrees import compare, create, records, removal
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository

PLANNING = 5  # the plan may cost a fifth of the money
# Not the task's fault: it can be resumed. If git could not write, the error's details say so.
LIMITS = frozenset({"E_TIMEOUT", "E_MONEY", "E_WRITE"})
WHOLE = "The whole task, of which this is one part"
BEFORE = "What was tried before, and why it was not merged"
EACH = 2  # agents per task: codegen and review


@dataclass
class Stages:
    """State shared by the stages of one run, which run in several threads, one per task."""

    services: Services
    repository: Repository
    order: Order
    journal: Journal
    budget: Budget
    dossier: Dossier
    due: dict[str, int] = field(default_factory=dict)  # agents still to run, for each task
    merging: threading.Lock = field(default_factory=threading.Lock)

    def plan(self) -> Plan:
        """Have an agent plan the graph of tasks. Raises E_AGENT if that fails."""
        run_state, order = self.journal.run_state, self.order
        record = self._record(f"{order.id}-plan-{len(run_state.planners) + 1}")
        known = {**order.known, "What has to pass before a part is merged": order.suite.shown}
        text = run.prompt(self.repository.layout, PLANNER, order.task, known, Plan)
        try:
            ended, share = self._agent(PLANNER, record, text, Plan, among=PLANNING, is_new=True)
            try:
                found = answers.read(Plan, ended.text)
            except ValueError as error:
                self._ended(PLANNER, ended, share)
                raise PrereadError(
                    "E_AGENT",
                    f"The coordinator gave no plan: {error}.",
                    "Describe the task in more detail.",
                ) from error
            self._ended(PLANNER, ended, share, text=found.model_dump_json())
        finally:
            work.leave(self.repository, record)
        return found

    def carry_out(self, task: Task) -> Failure | None:
        """Take one task from its current state to its merge; returns the failure, if any.

        Raises Cancelled.
        """
        state, stage = self.journal.run_state.tasks[task.id], "codegen"
        try:
            if self._is_merged(state):  # right before a kill, or by a person
                self.journal.add("merged", task=task.id, commit=state.commit)
                return None
            if state.failed or not state.commit:
                self._write(task, state)
            stage, state = "review", self.journal.run_state.tasks[task.id]
            record = records.need(self.repository, state.worktree)
            verdict = state.verdict or self._review(task, record)
            if verdict.verdict == "reject":
                why = "; ".join(verdict.findings) or "without a reason"
                raise PrereadError("E_AGENT", f"The review rejected it: {why}")
            stage = "merge"
            self._merge(task, record)
        except Cancelled:
            raise
        except PrereadError as error:
            self.due[task.id] = 0
            return self._failed(task, error, str(error.details.get("stage", stage)))
        return None

    def _is_merged(self, state: TaskState) -> bool:
        is_work = state.commit not in {"", state.begun_at}
        return is_work and self.repository.is_ancestor(state.commit, self.order.base)

    def _write(self, task: Task, state: TaskState) -> None:
        order = self.order
        record = self._record(f"{order.id}-{task.id}-{state.tries + 1}")
        tasks = self.journal.run_state.tasks
        done = [
            "\n".join((f"{name}: {report.summary}", *report.decided, *report.learned))
            for name in task.needs if (report := tasks[name].report) is not None
        ]  # fmt: skip
        sources = {
            **self._dossier(),
            **{name: text for name, text in order.known.items() if name != DOSSIER},
            WHOLE: order.task,
            "What the tasks before it did": "\n".join(done),
            BEFORE: "\n".join(state.failures),
            "The change that was not merged": self._earlier(state),
        }
        text = run.prompt(self.repository.layout, "codegen", task.task, sources, Report)
        try:
            ended, share = self._agent("codegen", record, text, Report, task=task.id, is_new=True)
            commit = self.repository.commit_of(record.branch)
            self._ended(
                "codegen", ended, share, task=task.id, commit=commit,
                text=_report(ended).model_dump_json(),
            )  # fmt: skip
            if commit == record.begun_at:
                raise PrereadError("E_AGENT", "It changed nothing.")
        except BaseException:
            work.leave(self.repository, record)
            raise

    def _dossier(self) -> dict[str, str]:
        """The dossier, up to date with the merges so far."""
        tasks = self.journal.run_state.tasks
        return self.dossier.sources([name for name, state in tasks.items() if state.merged])

    def _earlier(self, state: TaskState) -> str:
        if not (state.failed and state.commit):
            return ""
        return compare.between(self.repository, state.begun_at, state.commit)

    def _review(self, task: Task, record: Record) -> Verdict:
        change = compare.compare(self.repository, record)
        name = "The beginning of the change; read its files" if change.truncated else "The change"
        state = self.journal.run_state.tasks[task.id]
        said = state.report or Report(summary="Nothing.")
        sources = {
            **self._dossier(),
            WHOLE: self.order.task,
            "What its author says about it": "\n".join((said.summary, *said.decided)),
            BEFORE: "\n".join(state.failures),
            name: change.diff,
        }
        text = run.prompt(self.repository.layout, "review", task.task, sources, Verdict)
        ended, share = self._agent("review", record, text, Verdict, task=task.id)
        try:
            found = answers.read(Verdict, ended.text)
        except ValueError as error:
            self._ended("review", ended, share, task=task.id)
            raise PrereadError("E_AGENT", f"The review has no verdict: {error}.") from error
        self._ended("review", ended, share, task=task.id, text=found.model_dump_json())
        return found

    def _merge(self, task: Task, record: Record) -> None:
        with self.merging:
            self.services.progress.say(f"{task.id}: runs the tests")
            commit, said = integrate.integrate(
                self.services, self.repository, record, self.order.suite, self.budget,
                self.dossier.reading,
            )  # fmt: skip
            self.journal.add("merged", task=task.id, commit=commit, text=said)
            removal.remove(self.repository.uncancelled(), record.name, force=False)

    def _failed(self, task: Task, error: PrereadError, stage: str) -> Failure:
        state = self.journal.run_state.tasks[task.id]
        is_there = records.read(self.repository.layout, state.worktree) if state.worktree else None
        worktree = state.worktree if is_there else ""
        reason = self.services.credentials.without(error.message)
        if error.code not in LIMITS and error.details.get("because") != "write":
            self.journal.add(
                "failed", task=task.id, kind=stage, worktree=worktree, text=reason, code=error.code
            )
        return Failure(task.id, stage, error.code, reason, worktree)

    def _record(self, name: str) -> Record:
        """The record of a new worktree, which starts at the base with the work merged so far."""
        order = self.order
        return Record(
            name=name, branch=f"refs/heads/{records.BRANCHES}{name}", base=order.base,
            begun_at=self.repository.commit_of(order.base), issue=order.issue,
            feature=order.feature, links=order.links,
        )  # fmt: skip

    def _agent(
        self,
        kind: str,
        record: Record,
        text: str,
        form: type[Answer],
        *,
        task: str = "",
        among: int = 0,
        is_new: bool = False,
    ) -> tuple[AgentResult, float]:
        """Run an agent with its share of the money; the caller records how it ended."""
        share = self.budget.reserve(among or sum(self.due.values()))
        if task:
            self.due[task] -= 1
        self.journal.add(
            "started", task=task, kind=kind, worktree=record.name, begun_at=record.begun_at,
            usd=share,
        )  # fmt: skip
        settings = self.services.settings.model_copy(update={"max_usd": share})
        own = replace(self.services, settings=settings, progress=self._progress(task))
        job = Job(kind, text, task, self.order.feature, self.budget.seconds, form)
        try:
            if is_new:
                create.create(self.repository, record)
            ready = record.model_copy(update={"stage": "ready"})
            return work.do(own, self.repository, ready, job), share
        except Cancelled:
            raise
        except PrereadError as error:
            cost = error.details.get("cost_usd", 0.0)
            self.budget.settle(share, cost)
            self.journal.add("ended", task=task, kind=kind, usd=cost)
            raise

    def _progress(self, task: str) -> Progress:
        """Progress whose messages start with the task."""
        report = self.services.progress.report
        about = f"{task}: " if task else ""
        return replace(
            self.services.progress, report=lambda text, done, of: report(f"{about}{text}", done, of)
        )

    def _ended(self, kind: str, ended: AgentResult, share: float, **fields: str) -> None:
        cost = ended.outcome.cost_usd
        self.budget.settle(share, cost)
        self.journal.add("ended", kind=kind, usd=cost, **fields)


def _report(ended: AgentResult) -> Report:
    """Codegen's report; if it is invalid, its text as the summary: the work is in the files."""
    try:
        return answers.read(Report, ended.text)
    except ValueError:
        return Report(summary=ended.text.strip()[:4000] or "It said nothing.")
