"""What every step gets for one request: the project's paths, settings, files and progress."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from preread.errors import Cancelled, PrereadError
from preread.gates import search_path
from preread.infra import subprocesses
from preread.infra.subprocesses import Runner, Starter
from preread.layout import Layout
from preread.models import LoadReply
from preread.project.tree import Tree
from preread.settings import Settings

if TYPE_CHECKING:
    from preread.infra.secrets import Credentials
    from preread.unchanged import Unchanged

T = TypeVar("T")
Report = Callable[[str, float, float], None]


def _no_report(message: str, done: float, total: float) -> None:
    """Ignore progress."""


TICK = 0.5  # seconds


@dataclass
class Progress:
    """Progress of some work, and whether to continue it. Thread-safe."""

    report: Report = _no_report
    begun: float = field(default_factory=time.monotonic)
    deadline: float | None = None  # on the clock of time.monotonic(), like `begun`
    # Takes an early reply, for callers that do not wait for a better one.
    offer: Callable[[LoadReply], object] | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _next: float = 0.0  # when `tick` says something again

    def say(self, message: str, done: float = 0, total: float = 0) -> None:
        """Report progress; raises like `check`."""
        self.check()
        self._next = time.monotonic() + TICK
        self.report(message, done, total)

    def tick(self, message: str, done: float = 0, total: float = 0) -> None:
        """Like `say`, for the rounds of a loop: silent for TICK seconds after anything was said."""
        self.check()
        if time.monotonic() >= self._next:
            self.say(message, done, total)

    @property
    def is_stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        """Make the next check raise Cancelled."""
        self._stop.set()

    def check(self) -> None:
        """Raise Cancelled after stop(), E_TIMEOUT after the deadline."""
        if self._stop.is_set():
            raise Cancelled
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise PrereadError(
                "E_TIMEOUT",
                "The build did not finish within its deadline.",
                "Raise `timeout` in .project/config.toml, or describe the request more narrowly.",
            )


@dataclass(frozen=True)
class Services:
    """One request's view of one project. Each request gets a new one."""

    layout: Layout
    settings: Settings
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    run: Runner = subprocesses.run
    child: Starter = subprocesses.child
    progress: Progress = field(default_factory=Progress)
    unchanged: "Unchanged | None" = None  # shared by all requests of a long-running process

    @cached_property
    def tree(self) -> Tree:
        return Tree(self.layout, self.run, dict(self.environ), self.progress.check)

    def tree_with_progress(self, message: str, done: float, total: float) -> Tree:
        """The project's files; while reading one takes long, progress is reported repeatedly."""
        tick = partial(self.progress.tick, message, done, total)
        return Tree(self.layout, self.run, dict(self.environ), tick)

    @cached_property
    def credentials(self) -> "Credentials":
        """The project's secrets, read once per request, because one step makes many checks."""
        from preread.infra.secrets import Credentials

        return Credentials(self.layout.root)

    @cached_property
    def program_environ(self) -> dict[str, str]:
        """The environment for programs that are found on PATH, or that find others there."""
        path = search_path.outside(str(self.layout.root), self.environ)
        return {**self.environ, "PATH": path}


async def step(work: Callable[..., T], *arguments: object, **options: object) -> T:
    """Run a blocking step in a worker thread. To cancel it, stop its progress."""
    import anyio.to_thread

    return await anyio.to_thread.run_sync(partial(work, *arguments, **options))
