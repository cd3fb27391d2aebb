"""What an operation is, and the context that each one gets."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from pydantic import Field, field_validator

from preread import resolve, settings_loading
from preread.builds.reply_cache import ReplyCache
from preread.errors import Cancelled, PrereadError
from preread.infra import atomic
from preread.layout import Layout
from preread.models import Model
from preread.services import Progress, Services
from preread.settings import Effect, Settings

if TYPE_CHECKING:
    from preread.builds.jobs import Caller, Jobs
    from preread.operations.paging import Window
    from preread.unchanged import Unchanged

T = TypeVar("T")
R = TypeVar("R", bound="RequestModel")
P = ParamSpec("P")

PERSON = "person"

# Descriptions of fields that several requests have.
FEATURE = "The feature's name, like `checkout`; `_project` for the whole project."
DESCRIPTION = "What you are about to write, in a sentence; it guides the search."
SCOPE = "A folder or package: only its files are ranked."
TICKET = "A ticket's id, like SHOP-142; its criteria go into the dossier."


class RequestModel(Model):
    """The base of all requests. Refuses lone surrogates, which JSON and arguments can contain."""

    @field_validator("*")
    @classmethod
    def _is_text(cls, value: object) -> object:
        if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
            raise ValueError("not valid Unicode text")
        return value


class NothingRequest(RequestModel):
    """Takes no params."""


def services_of(
    start: Path,
    environ: Mapping[str, str],
    progress: Progress | None = None,
    unchanged: "Unchanged | None" = None,
    **arguments: object,
) -> Services:
    """New services for the project around `start`; `arguments` override settings."""
    return _services_in(resolve.open_layout(start), environ, progress, unchanged, arguments)


def _services_in(
    layout: Layout,
    environ: Mapping[str, str],
    progress: Progress | None,
    unchanged: "Unchanged | None",
    arguments: Mapping[str, object],
) -> Services:
    return Services(
        layout=layout,
        settings=settings_loading.load_repaired(layout, environ, arguments),
        environ=environ,
        progress=progress or Progress(),
        unchanged=unchanged,
    )


def root_of(folder: Path) -> Path:
    """The root of the project around a folder. Raises E_PROJECT_DIR."""
    return resolve.find_root(folder)


def project_around(folder: Path) -> tuple[Path, bool]:
    """The root around a folder, and whether it is marked as a project. Raises E_PROJECT_DIR."""
    return resolve.find_project(folder)


@dataclass(frozen=True)
class Context:
    """One call of an operation: where it was made, with what environment, and who waits for it."""

    start: Path
    environ: Mapping[str, str]
    jobs: "Jobs"
    caller: "Caller"
    reply_cache: ReplyCache[Any] | None = None  # by start and request; only a server has one
    unchanged: "Unchanged | None" = None  # only a server and a client in this process have one
    by: str = PERSON  # for the audit log: `person`, or the name of an agent's client
    window: "Window | None" = None  # the part to read, if an operation reads by pages; None: all

    @property
    def is_agent(self) -> bool:
        """Whether the operations and effects that are for people are refused."""
        return self.by != PERSON

    @cached_property
    def layout(self) -> Layout:
        """The layout of the project around `start`, found once. Raises like `open_layout`."""
        if self.unchanged is None:
            return resolve.open_layout(self.start)
        return self.unchanged.guarded(resolve.find_root(self.start))

    @property
    def settings(self) -> Settings:
        """The settings of the project, with no arguments of the call. Raises like `layout`."""
        return settings_loading.load_repaired(self.layout, self.environ)

    def services(self, progress: Progress | None = None, **arguments: object) -> Services:
        """New services for this call; `arguments` override settings."""
        return _services_in(self.layout, self.environ, progress, self.unchanged, arguments)


class Change(Model):
    """One file that a call would change."""

    path: str
    diff: str = Field(description="A unified diff; empty for a file that is not text.")


class Preview(Model):
    """What a call would change. Nothing was touched."""

    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = Field((), description="What else would happen.")


class AnswerNeeded(Exception):  # noqa: N818 - what the call needs, not a failure
    """The caller has to repeat the call with a person's answer."""


@dataclass(frozen=True)
class Operation:
    """A named, typed request and reply. `run` raises PrereadError for every expected failure."""

    name: str  # "context.load"
    request: type[RequestModel]
    reply: type[Model]
    effect: Effect
    doc: str  # one line
    example: str  # a command line that works
    run: Callable[[Context, Any], Awaitable[Any]]
    command: str = ""  # the CLI's name for it; without one, `preread call` runs it
    # Seconds after which it stops the build that it started.
    limit: Callable[[Services, Any], float] | None = None
    # The reply if it is available without waiting, which saves the CLI an event loop; else None.
    immediate: Callable[[Services, Any], Any] | None = None
    people_only: bool = False  # agents are not offered it, and may not call it
    pages: str = ""  # the reply's list that is returned page by page
    reads_window: bool = False  # it reads only the `nodes` in `Context.window`, and their `edges`
    # What it would change, with nothing touched; required of every `write` that can be previewed.
    preview: Callable[[Context, Any], Awaitable["Preview"]] | None = None
    positional: tuple[str, ...] = ()  # request fields that the CLI takes without an option

    @property
    def category(self) -> str:
        return self.name.partition(".")[0]

    @property
    def paged(self) -> tuple[str, ...]:
        """The reply's lists that are returned page by page."""
        if self.reads_window:
            return ("nodes", "edges")
        return (self.pages,) if self.pages else ()


async def in_thread(
    context: Context,
    services: Services,
    step: Callable[Concatenate[Services, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Run `step(services, …)` in a worker thread.

    Its progress goes to the caller; cancelling the caller stops it.
    """
    import anyio.from_thread
    import anyio.lowlevel
    import anyio.to_thread

    def report(message: str, done: float, total: float) -> None:
        async def pass_on() -> None:
            await context.caller.report(message, done, total)

        anyio.from_thread.run(pass_on)

    progress = Progress(report=report, deadline=services.progress.deadline)
    work = partial(step, replace(services, progress=progress), *args, **kwargs)
    failure: Exception | None = None  # raised outside the task group, which would wrap it
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_when_cancelled, progress)
        try:
            answer = await anyio.to_thread.run_sync(work)
        except Exception as error:
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        if isinstance(failure, Cancelled):  # by the caller: then its own cancellation is raised
            await anyio.lowlevel.checkpoint_if_cancelled()
        raise failure
    return answer


def threaded(
    step: Callable[[Services, R], T],
) -> Callable[[Context, R], Coroutine[Any, Any, T]]:
    """The `run` or `preview` of an operation that is one step in a worker thread."""

    async def run(context: Context, request: R) -> T:
        return await in_thread(context, context.services(), step, request)

    return run


async def _stop_when_cancelled(progress: Progress) -> None:
    """A thread cannot be cancelled; its next check of its progress raises instead."""
    from anyio import sleep_forever

    try:
        await sleep_forever()
    finally:
        progress.stop()


def log_file(start: str) -> Path:
    """The project's log, for the traceback of a bug. Raises E_NOT_FOUND if it has no .project."""
    layout = resolve.open_layout(Path(start))
    if not layout.project.is_dir():
        raise PrereadError("E_NOT_FOUND", "There is no .project folder.")
    atomic.make_folder(layout.cache)
    return layout.log
