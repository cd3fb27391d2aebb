"""Coordinate agents: tasks whose dependencies are merged run in parallel."""

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

from preread.agents import journal
from preread.agents.answers import Plan
from preread.agents.budget import Budget
from preread.agents.dossiers import Dossier
from preread.agents.journal import Journal, RunState
from preread.agents.order import Failure, Order, Result, turn
from preread.agents.stages import EACH, Stages
from preread.errors import PrereadError
from preread.services import Progress, Services
from preread.worktrees import records, removal, repair
from preread.worktrees.repository import Repository, open_repository

SLICE = 0.1  # seconds between checks of running tasks and of cancellation


def coordinate(services: Services, order: Order) -> Result:
    """Carry out an order, join the call that is doing so, or resume where an earlier one ended.

    Raises E_AGENT when there is no plan, E_WORKTREE, E_TIMEOUT, E_MONEY, Cancelled.
    """
    until = time.monotonic() + order.seconds
    repository = open_repository(services)
    with turn(services, repository.layout, order.id, order.seconds) as waited:
        log = journal.of(repository.layout, order.id)
        check_own(repository, log)
        run_state = log.run_state
        if run_state.task not in {"", order.task}:
            message = f"The run {order.id} is about another task."
            raise PrereadError("E_USAGE", message, "Choose another `id`.")
        if run_state.is_finished and (waited or run_state.is_done):
            return Result(run_state, joined=True)
        merged, logged = run_state.merged, run_state.merged_before
        for repaired in repair.repair(repository):
            services.progress.say(repaired)
        budget = Budget(order.usd, until, run_state.cost_usd - run_state.paid_before)
        log.add("begun", text=order.task)
        said: SimpleQueue[str] = SimpleQueue()
        progress = replace(services.progress, report=lambda text, _done, _total: said.put(text))
        own = replace(services, progress=progress, layout=repository.layout)
        inside = replace(repository, services=own)
        # If this call waited, its dossier may be older than what was merged meanwhile.
        dossier = Dossier(own, inside, order, set() if waited else set(merged))
        stages = Stages(own, inside, order, log, budget, dossier)
        failures = _Schedule(services.progress, stages, said).run()
        run_state = log.run_state
        _clear(repository, run_state)
        log.add("finished")
        return Result(run_state, failures, merged_before=logged)


def check_own(repository: Repository, log: Journal) -> None:
    """Refuse a journal that is committed: it says what was reviewed, and anyone could write it."""
    path = str(log.path)
    if repository.names("ls-files", "-z", "--", path):
        raise PrereadError(
            "E_NOT_ALLOWED", f"{path} is committed.", "Remove it from git, or choose another `id`."
        )


def _clear(repository: Repository, run_state: RunState) -> None:
    """Remove the worktrees of merged tasks, and of agents that a kill interrupted.

    Refs keep their content. Worktrees of earlier tries stay if somebody is working in them.
    """
    merged = [state for state in run_state.tasks.values() if state.merged]
    earlier = {name for state in merged for name in state.earlier}
    # A planner's worktree stays if, for example, the disk was full.
    left = {*run_state.planners, *run_state.cut_off}
    for name in {*earlier, *left, *(state.worktree for state in merged)}:
        with suppress(PrereadError):  # it no longer exists, or is in use
            work = removal.work_in(repository, records.need(repository, name))
            is_idle = name in earlier and not (work.dirty or work.under_way)
            removal.remove(repository, name, force=is_idle or name in run_state.cut_off)


@dataclass
class _Schedule:
    """Which tasks run, and which failed."""

    progress: Progress
    stages: Stages
    said: "SimpleQueue[str]"  # progress of all threads
    running: dict["Future[Failure | None]", str] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)

    def run(self) -> dict[str, Failure]:
        """Run each task when the tasks it needs are merged; returns the failures."""
        pool = ThreadPoolExecutor(self.stages.order.concurrency)
        try:
            plan = self.stages.journal.run_state.plan or self._planned(pool)
            self._carry_out(pool, plan)
        except BaseException:
            self.progress.stop()  # running tasks end at their next check
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        return self.failures

    def _planned(self, pool: ThreadPoolExecutor) -> Plan:
        planning = pool.submit(self.stages.plan)
        while not wait([planning], SLICE).done:
            self._tell(0, 0)
        return planning.result()

    def _carry_out(self, pool: ThreadPoolExecutor, plan: Plan) -> None:
        tasks = {task.id: task for task in plan.tasks}
        merged = set(self.stages.journal.run_state.merged)
        self.stages.due = {name: 0 if name in merged else EACH for name in tasks}
        order = plan.order()
        order.prepare()
        while True:
            while ready := order.get_ready():
                order.done(*merged.intersection(ready))
                for name in ready:
                    if name not in merged:
                        self.running[pool.submit(self.stages.carry_out, tasks[name])] = name
            if not self.running:
                return
            for name in self._finished(plan):
                merged.add(name)
                order.done(name)
            self._tell(len(merged), len(tasks))

    def _finished(self, plan: Plan) -> list[str]:
        """Wait a moment for tasks to end; returns those that are merged, notes the others."""
        merged = []
        for future in wait(self.running, SLICE, FIRST_COMPLETED).done:
            name = self.running.pop(future)
            if failure := future.result():
                self.said.put(f"{name}: failed in {failure.stage}")
                self.failures[name] = failure
                self._give_up(plan, name)
            else:
                self.said.put(f"{name}: merged")
                merged.append(name)
        return merged

    def _give_up(self, plan: Plan, failed: str) -> None:
        """Reserve no money for tasks that depend on a failed one."""
        hopeless = {failed}
        needs = {task.id: task.needs for task in plan.tasks}
        for name in plan.order().static_order():
            if hopeless.intersection(needs[name]):
                hopeless.add(name)
                self.stages.due[name] = 0

    def _tell(self, done: float, total: float) -> None:
        """Forward the progress that the threads have reported. Raises Cancelled."""
        self.progress.check()
        with suppress(Empty):
            while True:
                self.progress.say(self.said.get_nowait(), done, total)
