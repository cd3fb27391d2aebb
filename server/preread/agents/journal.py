"""The journal of a coordinated run: a line per step, written before it and after it.

A run that was killed goes on from it. What a line says was done is not done, nor paid for, again.
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
    """One step. A `started` without its `ended` was cut off: its cost is not known."""

    at: float
    step: Literal["begun", "started", "ended", "merged", "failed", "finished"]
    task: str = ""  # the id of one of the plan's; empty for the whole
    kind: str = ""  # of agent; of a failure, what it failed in
    worktree: str = ""
    begun_at: str = ""  # the commit that a worktree began at
    commit: str = ""
    usd: float | None = None  # reserved when started, spent when ended
    text: str = ""
    code: str = ""  # of a failure


class Journal:
    """The entries of one run. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries = _read(path)
        self._lock = threading.Lock()

    def add(self, step: str, **fields: object) -> None:
        """Write down a step; it is on the disk when this returns. Raises E_WRITE."""
        entry = Entry.model_validate({"at": round(time.time(), 3), "step": step, **fields})
        with self._lock:
            data = entry.model_dump_json(exclude_defaults=True).encode()
            atomic.append(self.path, data, durable=True)
            self.entries.append(entry)

    @property
    def story(self) -> "Story":
        with self._lock:
            return told(self.entries)


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
    """What has become of one task of the plan."""

    tries: int = 0
    worktree: str = ""
    earlier: list[str] = field(default_factory=list)  # worktrees of the tries before
    begun_at: str = ""
    commit: str = ""  # what codegen left
    report: Report | None = None
    verdict: Verdict | None = None
    merged: str = ""  # the commit of the base
    tested: str = ""  # what the tests said last, before that
    failed: Entry | None = None
    failures: list[str] = field(default_factory=list)  # of all tries

    @property
    def worktrees(self) -> list[str]:
        """Those of all tries."""
        return [*self.earlier, *([self.worktree] if self.worktree else [])]


@dataclass
class Story:
    """What a journal says."""

    task: str = ""
    plan: Plan | None = None
    parts: dict[str, Part] = field(default_factory=dict)
    is_finished: bool = False
    cost_usd: float = 0.0  # an unknown cost counts as what was reserved
    paid_before: float = 0.0  # by the calls that came to their end
    worktrees: list[str] = field(default_factory=list)
    cut_off: list[str] = field(default_factory=list)  # worktrees of agents that were cut off
    plans: int = 0  # how often one was begun

    @property
    def is_done(self) -> bool:
        return bool(self.parts) and all(part.merged for part in self.parts.values())


def told(entries: Iterable[Entry]) -> Story:
    """What the entries of a journal amount to."""
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
        with suppress(ValueError):  # not what this version writes
            _take(story, entry)
    for entry in running.values():
        _cut_off(story, entry)
    return story


def _cut_off(story: Story, entry: Entry | None) -> None:
    if entry is not None:
        story.cost_usd += entry.usd or 0.0
        if entry.kind != "review":  # which works in the worktree of what it reviews
            story.cut_off.append(entry.worktree)


def _take(story: Story, entry: Entry) -> None:
    if entry.step == "begun":
        story.task, story.is_finished = entry.text, False
    elif entry.step == "finished":
        story.is_finished, story.paid_before = True, story.cost_usd
    elif entry.kind == PLANNER:
        _take_plan(story, entry)
    elif entry.task in story.parts:
        _take_part(story, story.parts[entry.task], entry)


def _take_plan(story: Story, entry: Entry) -> None:
    if entry.step == "started":
        story.plans += 1
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
