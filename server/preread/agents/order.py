"""A coordinator's order and its result; only one call at a time carries out an order."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from preread.agents import journal
from preread.agents.journal import RunState
from preread.agents.project_tests import Suite
from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.locks import FileLock
from preread.layout import Layout
from preread.services import Services

POLL = 0.2  # seconds between checks whether the other call has ended
DOSSIER = "The dossier"  # its title in every agent's prompt
MAX_ID = 28  # run id and task id together name a worktree


class Order(NamedTuple):
    """A task for a coordinator, and its limits."""

    id: str
    task: str
    feature: str
    known: dict[str, str]  # texts for every agent, by title
    suite: Suite
    concurrency: int
    seconds: float
    usd: float
    base: str  # full name of the branch to merge into
    links: tuple[str, ...] = ()
    issue: int | None = None


class Failure(NamedTuple):
    """Why a task is not merged."""

    task: str
    stage: str  # codegen, review, merge, tests; `waiting` if not started
    code: str
    reason: str
    worktree: str = ""  # where its work is


@dataclass
class Result:
    """The run's state at the end of a call, and the tasks that failed in this call."""

    run_state: RunState
    failures: dict[str, Failure] = field(default_factory=dict)
    joined: bool = False  # another call did it
    merged_before: frozenset[str] = frozenset()  # tasks of an earlier call

    @property
    def is_late(self) -> bool:
        return any(failure.code == "E_TIMEOUT" for failure in self.failures.values())

    def all_failures(self) -> list[Failure]:
        """A failure for each task that is not merged."""
        found = []
        for task in self.run_state.plan.tasks if self.run_state.plan else ():
            state = self.run_state.tasks[task.id]
            if state.merged:
                continue
            if task.id in self.failures:
                found.append(self.failures[task.id])
            elif state.failed:
                entry = state.failed
                found.append(Failure(task.id, entry.kind, entry.code, entry.text, entry.worktree))
            else:
                missing = [name for name in task.needs if not self.run_state.tasks[name].merged]
                why = f"It needs {', '.join(missing)}." if missing else "It was not started."
                found.append(Failure(task.id, "waiting", "E_AGENT", why))
        return found


@contextmanager
def turn(services: Services, layout: Layout, run: str, seconds: float) -> Iterator[bool]:
    """Lock a run; yields whether this call waited for another. Raises E_TIMEOUT, Cancelled."""
    path = layout.lock(f"_agents-{run}")
    atomic.make_folder(path.parent)
    lock = FileLock(path)
    until, waited = time.monotonic() + seconds, False
    while True:
        try:
            lock.acquire(0)
            break
        except TimeoutError as error:
            if time.monotonic() > until:
                raise PrereadError(
                    "E_TIMEOUT",
                    f"Another call is still at work on {run}.",
                    "Repeat the same call later.",
                    {"id": run},
                ) from error
        waited = True
        _follow(services, layout, run)
        time.sleep(POLL)
    try:
        yield waited
    finally:
        lock.release()


def _follow(services: Services, layout: Layout, run: str) -> None:
    """Report how far the other call has come."""
    tasks = journal.of(layout, run).run_state.tasks
    merged = sum(bool(state.merged) for state in tasks.values())
    services.progress.say(f"{run} is under way in another call", merged, len(tasks))
