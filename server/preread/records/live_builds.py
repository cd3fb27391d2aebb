"""The running builds of all processes: each one writes a journal of what it does.

`.state/builds/<feature>.<id>.jsonl` exists while its build runs. A file `<feature>.<id>.cancel`
beside it asks its process to end the build, so that no process has to signal another.
"""

import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Literal, NamedTuple

import anyio
from pydantic import ValidationError

from preread.errors import Cancelled, PrereadError
from preread.infra import atomic, processes, reading
from preread.layout import Layout
from preread.models import LoadReply, Model, Request
from preread.services import Progress, Services, step
from preread.settings import Level

POLL_SECONDS = 0.2
MAX_LINES, MAX_TEXT, MAX_BYTES = 5000, 500, 2**23  # of a journal; of a step; read at most
NAME = re.compile(r"([a-z0-9_-]+)\.([0-9a-f]{16})\.jsonl", re.ASCII)
JOURNAL, CANCEL = ".jsonl", ".cancel"
CANCELLED = "The build was cancelled by `preread builds cancel`."


class Event(Model):
    """One line of a journal: the start, a step, or the end of a build."""

    event: Literal["begin", "step", "end"]
    feature: str
    at: float  # epoch seconds
    text: str = ""
    # for a step
    done: float | None = None
    total: float | None = None
    # for the beginning
    level: Level | None = None
    pid: int | None = None
    born: processes.Born | None = None
    until: float | None = None  # the deadline, in epoch seconds
    # for the end: a reply's status, `error` or `killed`
    state: str | None = None
    code: str | None = None

    def line(self) -> bytes:
        return self.model_dump_json(exclude_none=True).encode()


class Live(NamedTuple):
    """A running build: its start and its steps."""

    journal: Path
    begin: Event
    steps: tuple[Event, ...]


@dataclass
class Journal:
    """One build's journal. A build does not fail if its journal cannot be written."""

    path: Path
    feature: str
    _lines: int = 0
    _last: str = ""
    _is_lost: bool = field(default=False)

    @property
    def is_cancelled(self) -> bool:
        return os.path.lexists(_cancel(self.path))

    def begin(self, request: Request, until: float | None) -> None:
        _sweep(self.path.parent)
        pid, now = os.getpid(), time.time()
        event = Event(
            event="begin", feature=self.feature, at=now, level=request.level, pid=pid,
            born=processes.born(pid), until=until,
        )  # fmt: skip
        self._write(event)

    def step(self, text: str, done: float, total: float) -> None:
        if text == self._last or self._lines >= MAX_LINES:
            return
        self._last, text = text, text[:MAX_TEXT]
        now = time.time()
        self._write(
            Event(event="step", feature=self.feature, at=now, text=text, done=done, total=total)
        )

    def end(self, reply: LoadReply | None, error: Exception | None) -> None:
        state, code, text = "error", None, ""
        if reply is not None:
            state, code = reply.status, reply.code
        else:
            failure = Cancelled() if error is None else error  # None: the caller's scope ended
            code = failure.code if isinstance(failure, PrereadError) else "E_INTERNAL"
            text = failure.message if isinstance(failure, PrereadError) else str(failure)
        now = time.time()
        self._write(
            Event(event="end", feature=self.feature, at=now, text=text, state=state, code=code)
        )
        _remove(self.path)

    def _write(self, event: Event) -> None:
        if self._is_lost:
            return
        try:
            atomic.append(self.path, event.line())
            self._lines += 1
        except PrereadError:
            self._is_lost = True


async def run(
    services: Services, request: Request, work: Callable[[Services, Request], Awaitable[LoadReply]]
) -> LoadReply:
    """Run the work with a journal, and cancel it if another process asks for that."""
    layout, progress = services.layout, services.progress
    # The name identifies the process even before the first line is written.
    name = f"{request.feature}.{os.getpid():08x}{os.urandom(4).hex()}{JOURNAL}"
    journal = Journal(layout.live_builds / name, request.feature)

    def report(text: str, done: float, total: float) -> None:
        journal.step(text, done, total)
        progress.report(text, done, total)

    await step(journal.begin, request, _deadline(progress))
    reply: LoadReply | None = None
    error: Exception | None = None  # raised outside the task group, which would wrap it
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_end_when_cancelled, journal, progress, tasks.cancel_scope)
            try:
                reporting = replace(services, progress=replace(progress, report=report))
                reply = await work(reporting, request)
            except Exception as raised:
                error = raised
            tasks.cancel_scope.cancel()
        if reply is None and journal.is_cancelled:
            error = Cancelled(CANCELLED)
    finally:
        journal.end(reply, error)
    if reply is None:
        raise error or Cancelled()
    return reply


def _deadline(progress: Progress) -> float | None:
    """The deadline in epoch seconds, which other processes can read."""
    if progress.deadline is None:
        return None
    return time.time() + progress.deadline - time.monotonic()


async def _end_when_cancelled(
    journal: Journal, progress: Progress, scope: anyio.CancelScope
) -> None:
    while not journal.is_cancelled:  # noqa: ASYNC110 - another process makes the file
        await anyio.sleep(POLL_SECONDS)
    progress.stop()
    scope.cancel()


def running(layout: Layout, feature: str | None = None) -> list[Live]:
    """The builds of every process, or those of one feature."""
    found = []
    for path in _journals(layout.live_builds):
        events = list(_events(reading.plain_bytes(path, MAX_BYTES) or b"", _feature(path)))
        is_wanted = feature in {None, _feature(path)}
        if is_wanted and events and events[-1].event != "end" and _is_alive(events[0]):
            steps = tuple(one for one in events if one.event == "step")
            found.append(Live(path, events[0], steps))
    return found


def cancel(build: Live) -> None:
    """Ask the process of a build to end it. Raises E_WRITE."""
    atomic.write(_cancel(build.journal), b"")


def is_running(build: Live) -> bool:
    return build.journal.exists() and _is_alive(build.begin)


def follow(builds: list[Live]) -> Iterator[Event]:
    """The past and new events of builds, until the last one ends. Does not affect the builds."""
    with ExitStack() as stack:
        left = []
        for build in builds:
            file = stack.enter_context(reading.opened(build.journal))
            if file is not None:
                left.append(_Reader(build, file))
        while left:
            for one in left:
                yield from one.more()
            left = [one for one in left if not one.has_ended]
            if left:
                time.sleep(POLL_SECONDS)


@dataclass
class _Reader:
    """Reads the journal of a running build as it grows."""

    build: Live
    file: IO[bytes]
    has_ended: bool = False
    _rest: bytes = b""  # a line that is not complete yet

    def more(self) -> Iterator[Event]:
        """The events since the last call, and an end for a process that was killed."""
        is_alive = _is_alive(self.build.begin)  # before reading: it may write until it ends
        whole, newline, self._rest = (self._rest + self.file.read(MAX_BYTES)).rpartition(b"\n")
        for event in _events(whole + newline, self.build.begin.feature):
            self.has_ended = event.event == "end"
            yield event.model_copy(update={"pid": self.build.begin.pid})
        if not is_alive and not self.has_ended:
            self.has_ended = True
            feature, now = self.build.begin.feature, time.time()
            pid, why = self.build.begin.pid, "Its process was killed."
            yield Event(event="end", feature=feature, at=now, text=why, state="killed", pid=pid)


def _events(data: bytes, feature: str) -> Iterator[Event]:
    """The events of a journal; invalid lines, and those of other features, are skipped."""
    for line in data.split(b"\n"):
        with suppress(ValidationError):
            event = Event.model_validate_json(line)
            if event.feature == feature:
                yield event


def _is_alive(begin: Event) -> bool:
    """Whether the process that wrote the first line of a journal is alive."""
    is_known = begin.event == "begin" and begin.pid is not None and begin.born is not None
    return is_known and processes.lives(begin.pid or 0, begin.born or 0)


def _is_being_created(journal: Path) -> bool:
    """Whether the process in a journal's name is alive, for one without a first line yet."""
    return bool(processes.born(int(journal.stem.rpartition(".")[2][:8], 16)))


def _journals(folder: Path) -> list[Path]:
    return [path for path in reading.listed(folder, JOURNAL) if NAME.fullmatch(path.name)]


def _feature(journal: Path) -> str:
    return journal.name.partition(".")[0]


def _cancel(journal: Path) -> Path:
    return journal.with_suffix(CANCEL)


def _sweep(folder: Path) -> None:
    """Remove journals of killed processes, and cancel requests without a journal."""
    with suppress(PrereadError):
        for path in _journals(folder):
            events = _events(reading.plain_bytes(path, MAX_BYTES) or b"", _feature(path))
            first = next(events, None)
            if not (_is_alive(first) if first else _is_being_created(path)):
                _remove(path)
        for path in reading.listed(folder, CANCEL):
            if not path.with_suffix(JOURNAL).exists():
                atomic.remove(path)


def _remove(journal: Path) -> None:
    for path in (journal, _cancel(journal)):
        with suppress(PrereadError):
            atomic.remove(path)
