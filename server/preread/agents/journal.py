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
    def story(self) -> "Story":
        with self._lock:
            return story_of(self.entries)


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
class Part:
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
class Story:
    """The state of a run, as its journal records it."""

    task: str = ""
    plan: Plan | None = None
    parts: dict[str, Part] = field(default_factory=dict)
    is_finished: bool = False
    cost_usd: float = 0.0  # an unknown cost counts as what was reserved
    paid_before: float = 0.0  # by calls that finished
    merged_before: frozenset[str] = frozenset()  # tasks, by calls that finished
    worktrees: list[str] = field(default_factory=list)
    cut_off: list[str] = field(default_factory=list)  # worktrees of interrupted agents
    planners: list[str] = field(default_factory=list)  # worktrees in which it was planned

    @property
    def merged(self) -> frozenset[str]:
        return frozenset(name for name, part in self.parts.items() if part.merged)

    @property
    def is_done(self) -> bool:
        return bool(self.parts) and all(part.merged for part in self.parts.values())


def story_of(entries: Iterable[Entry]) -> Story:
    """Replay the entries of a journal."""
    story = Story()
    running: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        key = (entry.task, entry.kind)
        if entry.step == "started":
            _cut_off(story, running.pop(key, None))
            running[key] = entry
        elif entry.step == "ended":
            begun = running.pop(key, entry)
            story.cost_usd += begun.usd or 0.0 if entry.usd is None else entry.usd
        with suppress(ValueError):  # written by another version
            _take(story, entry)
    for entry in running.values():
        _cut_off(story, entry)
    return story


def _cut_off(story: Story, entry: Entry | None) -> None:
    if entry is not None:
        story.cost_usd += entry.usd or 0.0
        if entry.kind != "review":  # a reviewer works in the author's worktree
            story.cut_off.append(entry.worktree)


def _take(story: Story, entry: Entry) -> None:
    if entry.step == "begun":
        story.task, story.is_finished = entry.text, False
    elif entry.step == "finished":
        story.is_finished, story.paid_before = True, story.cost_usd
        story.merged_before = story.merged
    elif entry.kind == PLANNER:
        _take_plan(story, entry)
    elif entry.task in story.parts:
        _take_part(story, story.parts[entry.task], entry)


def _take_plan(story: Story, entry: Entry) -> None:
    if entry.step == "started":
        story.planners.append(entry.worktree)
    elif entry.text:
        story.plan = answers.read(Plan, entry.text)
        story.parts = {task.id: Part() for task in story.plan.tasks}


def _take_part(story: Story, part: Part, entry: Entry) -> None:
    match entry.step, entry.kind:
        case "started", "codegen":
            part.tries += 1
            part.earlier += [part.worktree] if part.worktree else []
            part.worktree, part.begun_at = entry.worktree, entry.begun_at
            part.commit, part.verdict, part.failed = "", None, None
            story.worktrees.append(entry.worktree)
        case "ended", "codegen":
            part.commit = entry.commit
            part.report = Report.model_validate_json(entry.text) if entry.text else None
        case "ended", "review":
            part.verdict = Verdict.model_validate_json(entry.text) if entry.text else None
        case "merged", _:
            part.merged, part.tested, part.failed = entry.commit, entry.text, None
        case "failed", _:
            part.failed = entry
            part.failures.append(f"{entry.kind}: {entry.text}")
