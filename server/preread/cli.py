"""Commands generated from the registry: arguments in, one operation run, its reply out."""

import asyncio
import json
import os
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import anyio
import click
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from preread import __version__, views
from preread.errors import CODES, FAILED, Cancelled, PrereadError
from preread.jobs import Caller, Jobs
from preread.models import Model
from preread.operations import OPERATIONS
from preread.operations.registry import Context, Operation

SHOW_PROGRESS_AFTER = 1.0  # seconds; what is quicker needs no line
SIGNALS = (signal.SIGINT, signal.SIGTERM)
NAMES = {str: click.STRING, int: click.INT, float: click.FLOAT}


# -- arguments


@dataclass(frozen=True)
class Call:
    """One command line, understood: which operation, with what, and how its reply is wanted."""

    operation: Operation
    values: Mapping[str, Any]
    project: str
    as_json: bool


def kind(annotation: object) -> click.ParamType[Any]:
    """The type of one option, from the field it fills; `X | None` is an X that may be left out."""
    if get_origin(annotation) in {Union, types.UnionType}:
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    if get_origin(annotation) is Literal:
        return click.Choice(get_args(annotation))
    return next(found for python, found in NAMES.items() if annotation is python)


def parameter(operation: Operation, name: str, about: FieldInfo) -> click.Parameter:
    """The argument or option that fills one field of the operation's request."""
    if name in operation.positional:
        return click.Argument([name], type=kind(about.annotation), required=about.is_required())
    flag = f"--{name.replace('_', '-')}"
    if about.annotation is bool:
        return click.Option([flag, name], is_flag=True, help=about.description)
    return click.Option(
        [flag, name],
        type=kind(about.annotation),
        required=about.is_required(),
        default=None,
        show_default=str(about.default) if about.default is not None else False,
        help=about.description,
    )


PROJECT = click.Option(
    ["--project"], metavar="DIR", default=".", help="Where the project is; default: where you are."
)
JSON = click.Option(["--json", "as_json"], is_flag=True, help="The reply as JSON on stdout; errors too.")


def command(operation: Operation) -> click.Command:
    """The command of one operation; calling it gives the Call, which nothing has run yet."""

    def understood(project: str, as_json: bool, **values: object) -> Call:
        return Call(operation, {k: v for k, v in values.items() if v is not None}, project, as_json)

    fields = operation.request.model_fields
    arguments = [parameter(operation, name, fields[name]) for name in operation.positional]
    options = [parameter(operation, n, about) for n, about in fields.items() if n not in operation.positional]
    return click.Command(
        operation.command,
        callback=understood,
        params=[*arguments, *options, PROJECT, JSON],
        help=f"{operation.doc}\n\n\b\nExample:\n  {operation.example}",
        short_help=operation.doc,
    )


@click.command(help="Serve MCP over stdio; an agent's client starts it.\n\n\b\nExample:\n  preread mcp")
@click.option(
    "--project", metavar="DIR", default=None, help="Where the project is; default: the client says."
)
def mcp(project: str | None) -> Callable[[], int]:
    """The one command that is a face of its own, not an operation."""

    def serve() -> int:
        from preread import mcp_server

        mcp_server.serve_stdio(Path(project) if project else None, os.environ)
        return 0

    return serve


class Commands(click.Group):
    """Every operation once, in the registry's order, each made when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [*(operation.command for operation in OPERATIONS), "mcp"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name == "mcp":
            return mcp
        return next((command(o) for o in OPERATIONS if o.command == cmd_name), None)


def understand(argv: list[str]) -> Call | Callable[[], int] | int:
    """What a command line asks for; an exit status when that is answered. Raises click.UsageError."""
    group = Commands(
        "preread",
        params=[
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_version,
                help="Print the version.",
            )
        ],
        help="Makes a coding agent read before it writes: cited, cached, checked context dossiers.",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    answer: Call | Callable[[], int] | int = group.main(argv, "preread", standalone_mode=False)
    return answer


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(f"preread {__version__}")
        ctx.exit()


def request_of(call: Call) -> Model:
    try:
        return call.operation.request.model_validate(call.values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise PrereadError(
            "E_USAGE", f"`{name}`: {first['msg']}.", f"See preread {call.operation.command} --help."
        ) from error


# -- one run


class Interrupted(Cancelled):
    """A person or the system ended the run; the exit status is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__("Interrupted.")
        self.number = number

    @property
    def exit_status(self) -> int:
        return 128 + self.number


@dataclass
class Signals:
    """The first signal cancels what runs, which cleans up; a second one ends the process at once."""

    cancel: Callable[[], object]
    caught: list[int] = field(default_factory=list)

    def __call__(self, number: int, _: object) -> None:
        if self.caught:
            with suppress(OSError, ValueError, AttributeError):
                if sys.stderr.isatty():
                    os.write(sys.stderr.fileno(), b"\x1b[?25h")  # the progress line hides the cursor
            os._exit(128 + number)
        self.caught.append(number)
        self.cancel()

    @contextmanager
    def watched(self) -> Iterator[None]:
        before = [(number, signal.signal(number, self)) for number in SIGNALS]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)


@dataclass
class Said:
    """The last word of progress, and when the run began."""

    begun: float = field(default_factory=time.monotonic)
    message: str = ""
    done: float = 0
    total: float = 0

    async def tell(self, message: str, done: float, total: float) -> None:
        self.message, self.done, self.total = message, done, total


async def _perform(call: Call, request: Model, environ: Mapping[str, str]) -> Model:
    """Run the operation, watched by signals and progress; raises what it raises, or Interrupted."""
    outcome: list[Model | Exception] = []
    said = Said()
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:
        signals = Signals(partial(loop.call_soon_threadsafe, scope.cancel))
        with signals.watched():
            async with Jobs(1) as jobs, anyio.create_task_group() as tasks:
                tasks.start_soon(_show, said)
                context = Context(Path(call.project), environ, jobs, Caller(None, said.tell))
                try:
                    outcome.append(await call.operation.run(context, request))
                except Exception as error:  # carried out of the task group, which would wrap it
                    outcome.append(error)
                tasks.cancel_scope.cancel()
    if signals.caught:
        raise Interrupted(signals.caught[0])
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


async def _show(said: Said) -> None:
    """A live line on stderr, for people, once the run has taken long enough to want one."""
    if not sys.stderr.isatty():
        return
    await anyio.sleep(SHOW_PROGRESS_AFTER)
    with views.live_line(said.begun) as update:
        while True:
            update(said.message, said.done, said.total)
            await anyio.sleep(0.1)


def execute(call: Call, environ: Mapping[str, str]) -> int:
    """Run one call and print its reply; the exit status. Raises PrereadError."""
    reply = anyio.run(_perform, call, request_of(call), environ)
    if call.as_json:
        emit(as_json(reply.model_dump(mode="json", exclude_none=True)))
    else:
        emit(views.render(call.operation.name, reply, terminal=sys.stdout.isatty()))
    return exit_status(reply)


def exit_status(reply: Model) -> int:
    """A reply that carries an error has its code's status; one that says `ok: false` has failed."""
    code = getattr(reply, "code", None)
    if code in CODES:
        return CODES[code].exit
    return 0 if getattr(reply, "ok", True) else FAILED


# -- what comes out


def as_json(data: object) -> str:
    text = json.dumps(data, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(data, indent=2)
    return text


def emit(text: str) -> None:
    """Print on stdout and see it out. Raises BrokenPipeError, and E_WRITE when stdout takes no more."""
    try:
        click.echo(text)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise PrereadError("E_WRITE", f"Standard output cannot be written: {error.strerror}.") from error


def complain(error: PrereadError, *, in_json: bool) -> None:
    """Tell an expected failure: on stdout for programs, on stderr for people."""
    if in_json:
        fields = {"code": error.code, "message": error.message, "hint": error.hint, "details": error.details}
        emit(as_json({"status": "error", **fields}))
        return
    click.echo(views.clean(f"error: {error.code}: {error.message}"), err=True)
    if error.hint:
        click.echo(views.clean(error.hint), err=True)
