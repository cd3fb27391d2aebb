"""What an operation is, and what every operation is given."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from preread import project, settings
from preread.jobs import Caller, Jobs
from preread.models import Model
from preread.services import Progress, Services

Effect = Literal["read", "write", "execute"]


@dataclass(frozen=True)
class Context:
    """One call of an operation: where it was made, with what environment, and who waits for it."""

    start: Path
    environ: Mapping[str, str]
    jobs: Jobs
    caller: Caller

    def services(self, progress: Progress | None = None, **arguments: Any) -> Services:
        """Fresh services for the project around `start`; `arguments` are settings that this call overrides."""
        layout = project.open_layout(self.start)
        return Services(
            layout=layout,
            settings=settings.load(layout, self.environ, arguments),
            environ=self.environ,
            progress=progress or Progress(),
        )


@dataclass(frozen=True)
class Operation:
    """A named, typed request → reply. `run` raises PrereadError for every expected failure."""

    name: str  # "context.load"
    request: type[Model]
    reply: type[Model]
    effect: Effect
    doc: str  # one line
    example: str  # a command line that works
    run: Callable[[Context, Any], Awaitable[Any]]
    command: str  # the CLI's word for it
    positional: tuple[str, ...] = ()  # request fields that the CLI takes without an option

    @property
    def category(self) -> str:
        return self.name.partition(".")[0]
