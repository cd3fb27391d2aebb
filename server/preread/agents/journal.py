"""The journal of a coordinated run: a line before and after each step.

A run that was killed resumes from it. Steps that it records as done are not repeated or paid twice.
"""

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from preread.agents import answers
from preread.agents.answers import Plan, Report, Verdict
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.models import Model

MAX_BYTES = 20_000_000
PLANNER = "coordinator"  # the kind whose answer is the plan


class Entry(Model):
    """One line. A `started` without an `ended` was interrupted; its cost is unknown."""

    at: float
    step: Literal["begun", "started", "ended", "merged", "failed", "finished"]
    task: str = ""  # its id in the plan; empty for the whole run
    kind: str = ""  # the agent's kind; for a failure, the stage
    worktree: str = ""
    begun_at: str = ""  # the commit that the worktree was created at
    commit: str = ""
    usd: float | None = None  # reserved when started, spent when ended
    text: str = ""
    code: str = ""  # of a failure


class Journal:
    """The entries of one run. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries = _read(path)
        self._lock = threading.Lock()

    def add(self, step: str, **fields: object) -> None:
        """Append an entry; it is synced to disk on return. Raises E_WRITE."""
        entry = Entry.model_validate({"at": round(time.time(), 3), "step": step, **fields})
        with self._lock:
            data = entry.model_dump_json(exclude_defaults=True).encode()
            atomic.append(self.path, data, durable=True)
            self.entries.append(entry)

    @property
    def run_state(self) -> "RunState":
        with self._lock:
            return run_state_of(self.entries)


def of(layout: Layout, run: str) -> Journal:
    return Journal(layout.real(layout.agent_run(run)))


def _read(path: Path) -> list[Entry]:
    found = []
    for line in (plain_bytes(path, MAX_BYTES) or b"").split(b"\n"):
        try:
            found.append(Entry.model_validate_json(line))
        except ValidationError:  # what a killed writer left, or an empty line
            continue
    return found


@dataclass
class TaskState:
    """The state of one task of the plan."""

    tries: int = 0
    worktree: str = ""
    earlier: list[str] = field(default_factory=list)  # worktrees of earlier tries
    begun_at: str = ""
    commit: str = ""  # of codegen's work
    report: Report | None = None
    verdict: Verdict | None = None
    merged: str = ""  # the merge's commit on the base
    tested: str = ""  # the last output of the tests before that
    failed: Entry | None = None
    failures: list[str] = field(default_factory=list)  # of all tries

    @property
    def worktrees(self) -> list[str]:
        """The worktrees of all tries."""
        return [*self.earlier, *([self.worktree] if self.worktree else [])]


@dataclass
class RunState:
    """The state of a run, as its journal records it."""

    task: str = ""
    plan: Plan | None = None
    tasks: dict[str, TaskState] = field(default_factory=dict)
    is_finished: bool = False
    cost_usd: float = 0.0  # an unknown cost counts as what was reserved
    paid_before: float = 0.0  # by calls that finished
    merged_before: frozenset[str] = frozenset()  # tasks, by calls that finished
    worktrees: list[str] = field(default_factory=list)
    cut_off: list[str] = field(default_factory=list)  # worktrees of interrupted agents
    planners: list[str] = field(default_factory=list)  # worktrees in which it was planned

    @property
    def merged(self) -> frozenset[str]:
        return frozenset(name for name, state in self.tasks.items() if state.merged)

    @property
    def is_done(self) -> bool:
        return bool(self.tasks) and all(state.merged for state in self.tasks.values())


def run_state_of(entries: Iterable[Entry]) -> RunState:
    """Replay the entries of a journal."""
    run_state = RunState()
    running: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        key = (entry.task, entry.kind)
        if entry.step == "started":
            _cut_off(run_state, running.pop(key, None))
            running[key] = entry
        elif entry.step == "ended":
            begun = running.pop(key, entry)
            run_state.cost_usd += begun.usd or 0.0 if entry.usd is None else entry.usd
        with suppress(ValueError):  # written by another version
            _apply(run_state, entry)
    for entry in running.values():
        _cut_off(run_state, entry)
    return run_state


def _cut_off(run_state: RunState, entry: Entry | None) -> None:
    if entry is not None:
        run_state.cost_usd += entry.usd or 0.0
        if entry.kind != "review":  # a reviewer works in the author's worktree
            run_state.cut_off.append(entry.worktree)


def _apply(run_state: RunState, entry: Entry) -> None:
    if entry.step == "begun":
        run_state.task, run_state.is_finished = entry.text, False
    elif entry.step == "finished":
        run_state.is_finished, run_state.paid_before = True, run_state.cost_usd
        run_state.merged_before = run_state.merged
    elif entry.kind == PLANNER:
        _apply_plan(run_state, entry)
    elif entry.task in run_state.tasks:
        _apply_to_task(run_state, run_state.tasks[entry.task], entry)


def _apply_plan(run_state: RunState, entry: Entry) -> None:
    if entry.step == "started":
        run_state.planners.append(entry.worktree)
    elif entry.text:
        run_state.plan = answers.read(Plan, entry.text)
        run_state.tasks = {task.id: TaskState() for task in run_state.plan.tasks}


def _apply_to_task(run_state: RunState, state: TaskState, entry: Entry) -> None:
    match entry.step, entry.kind:
        case "started", "codegen":
            state.tries += 1
            state.earlier += [state.worktree] if state.worktree else []
            state.worktree, state.begun_at = entry.worktree, entry.begun_at
            state.commit, state.verdict, state.failed = "", None, None
            run_state.worktrees.append(entry.worktree)
        case "ended", "codegen":
            state.commit = entry.commit
            state.report = Report.model_validate_json(entry.text) if entry.text else None
        case "ended", "review":
            state.verdict = Verdict.model_validate_json(entry.text) if entry.text else None
        case "merged", _:
            state.merged, state.tested, state.failed = entry.commit, entry.text, None
        case "failed", _:
            state.failed = entry
            state.failures.append(f"{entry.kind}: {entry.text}")
