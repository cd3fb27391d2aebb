"""Commands generated from the registry: arguments in, one operation run, its reply out."""

import json
import os
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import click
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from preread import __version__
from preread.cli import terminal, views
from preread.errors import CODES, FAILED, PrereadError
from preread.models import Model
from preread.operations import MODULES, operation
from preread.operations.registry import Operation, services_of

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
    if get_origin(annotation) is tuple:
        annotation = get_args(annotation)[0]
    return next(found for python, found in NAMES.items() if annotation is python)


def parameter(of: Operation, name: str, about: FieldInfo) -> click.Parameter:
    """The argument or option that fills one field of the operation's request."""
    if name in of.positional:
        many = -1 if get_origin(about.annotation) is tuple else 1
        return click.Argument(
            [name], type=kind(about.annotation), required=about.is_required(), nargs=many
        )
    flag = f"--{name.strip('_').replace('_', '-')}"  # `for_` is a field, for `for` is none
    if about.annotation is bool:
        return click.Option([flag, name], is_flag=True, help=about.description)
    return click.Option(
        [flag, name],
        type=kind(about.annotation),
        required=about.is_required(),
        default=None,
        multiple=get_origin(about.annotation) is tuple,
        show_default=str(about.default) if about.default not in (None, ()) else False,
        help=about.description,
    )


PROJECT = click.Option(
    ["--project"], metavar="DIR", default=".", help="Where the project is; default: where you are."
)
JSON = click.Option(
    ["--json", "as_json"], is_flag=True, help="The reply as JSON on stdout; errors too."
)


class Command(click.Command):
    """A command whose name may start with a dash: `-login` is a bad name, not a bundle of options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {flag for parameter in self.get_params(ctx) for flag in parameter.opts}
        ctx.ignore_unknown_options = {
            a.partition("=")[0] for a in args if a.startswith("--")
        } <= known | {"--"}
        return super().parse_args(ctx, args)


def command(of: Operation) -> click.Command:
    """The command of one operation; calling it gives the Call, which nothing has run yet."""

    def understood(project: str, as_json: bool, **values: object) -> Call:
        return Call(of, {k: v for k, v in values.items() if v is not None}, project, as_json)

    fields = of.request.model_fields
    arguments = [parameter(of, name, fields[name]) for name in of.positional]
    options = [parameter(of, n, about) for n, about in fields.items() if n not in of.positional]
    return Command(
        of.command,
        callback=understood,
        params=[*arguments, *options, PROJECT, JSON],
        help=f"{of.doc}\n\n\b\nExample:\n  {of.example}",
        short_help=of.doc,
    )


@click.command(
    help="Serve MCP over stdio; an agent's client starts it.\n\n\b\nExample:\n  preread mcp"
)
@click.option(
    "--project", metavar="DIR", default=None, help="Where the project is; default: the client says."
)
def mcp(project: str | None) -> Callable[[], int]:
    """The one command that is a face of its own, not an operation."""

    def serve() -> int:
        from preread import mcp

        mcp.serve_stdio(Path(project) if project else None, os.environ)
        return 0

    return serve


class Commands(click.Group):
    """Every operation once, in the registry's order, each made when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [*MODULES, "mcp"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name == "mcp":
            return mcp
        return command(operation(cmd_name)) if cmd_name in MODULES else None


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
        context_settings={"max_content_width": 110},
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


# -- what comes out


def execute(call: Call, environ: Mapping[str, str]) -> int:
    """Run one call and print its reply; the exit status. Raises PrereadError."""
    reply = run(call.operation, request_of(call), Path(call.project), environ)
    if call.as_json:
        emit(as_json(reply.model_dump(mode="json", exclude_none=True)))
    else:
        emit(views.render(call.operation.name, reply, terminal=terminal.is_terminal(sys.stdout)))
    return exit_status(reply)


def run(operation: Operation, request: Model, start: Path, environ: Mapping[str, str]) -> Model:
    """The operation's reply: at once where that can be, without an event loop; else in the foreground."""
    if operation.at_once is not None:
        at_once: Model | None = operation.at_once(services_of(start, environ), request)
        if at_once is not None:
            return at_once
    from preread.cli import foreground

    return foreground.run(operation, request, start, environ)


def exit_status(reply: Model) -> int:
    """A reply that is an error has its code's status; one that says `ok: false` has failed."""
    code = getattr(reply, "code", None)
    if code in CODES and getattr(reply, "status", "error") == "error":
        return CODES[code].exit
    return 0 if getattr(reply, "ok", True) else FAILED


def as_json(data: object) -> str:
    text = json.dumps(data, ensure_ascii=False, indent=2)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
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
        raise PrereadError(
            "E_WRITE", f"Standard output cannot be written: {error.strerror}."
        ) from error


def complain(error: PrereadError, *, in_json: bool) -> None:
    """Tell an expected failure: on stdout for programs, on stderr for people."""
    if in_json:
        fields = {
            "code": error.code,
            "message": error.message,
            "hint": error.hint,
            "details": error.details,
        }
        emit(as_json({"status": "error", **fields}))
        return
    click.echo(terminal.clean(f"error: {error.code}: {error.message}"), err=True)
    if error.hint:
        click.echo(terminal.clean(error.hint), err=True)
