"""The commands, generated from the registry: parse arguments, run an operation, print its reply."""

import difflib
import os
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import click
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from preread import __version__
from preread.cli import terminal, views
from preread.cli.builds import builds
from preread.errors import CODES, FAILED, PrereadError
from preread.models import Model
from preread.operations import ALIASES, COMMANDS, REGISTRY, operation
from preread.operations.registry import Operation, services_of

TYPES = {str: click.STRING, int: click.INT, float: click.FLOAT}


# -- arguments


@dataclass(frozen=True)
class Call:
    """A parsed command line."""

    operation: Operation
    values: Mapping[str, Any]
    project: str
    as_json: bool


def option_type(annotation: object) -> click.ParamType[Any]:
    """The option type for a field; `X | None` is an optional X."""
    if get_origin(annotation) in {Union, types.UnionType}:
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    if get_origin(annotation) is Literal:
        return click.Choice(get_args(annotation))
    if get_origin(annotation) is tuple:
        annotation = get_args(annotation)[0]
    return next(found for python, found in TYPES.items() if annotation is python)


def parameter(of: Operation, name: str, about: FieldInfo) -> click.Parameter:
    """The argument or option for one field of the operation's request."""
    complete = _features if name == "feature" else None
    if name in of.positional:
        many = -1 if get_origin(about.annotation) is tuple else 1
        type_, required = option_type(about.annotation), about.is_required()
        return click.Argument(
            [name], type=type_, required=required, nargs=many, shell_complete=complete
        )
    flag = f"--{name.strip('_').replace('_', '-')}"  # the field `for_` is `--for`
    if about.annotation is bool:
        return click.Option([flag, name], is_flag=True, help=about.description)
    # Written as click would: click does not know the default, because omitted options are not sent.
    default = "" if about.default in (None, (), "") else f"  [default: {about.default}]"
    return click.Option(
        [flag, name],
        type=option_type(about.annotation),
        required=about.is_required(),
        default=None,
        multiple=get_origin(about.annotation) is tuple,
        help=f"{about.description}{default}",
        shell_complete=complete,
    )


def _features(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The features with a dossier, for a shell that completes their names."""
    from preread.dossier import published

    try:
        layout = services_of(Path(ctx.params.get("project") or "."), os.environ).layout
        names = published.features(layout)
    except PrereadError:
        return []  # a shell has no place to show an error
    return [name for name in names if name.startswith(incomplete)]


PROJECT = click.Option(
    ["--project"], metavar="DIR", default=".", help="The project; default: the current folder."
)
JSON = click.Option(
    ["--json", "as_json"], is_flag=True, help="Print the reply, or the error, as JSON on stdout."
)


class Command(click.Command):
    """A command that reads `-login` as a (bad) feature name, not as a bundle of options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {flag for parameter in self.get_params(ctx) for flag in parameter.opts}
        long_options = {arg.partition("=")[0] for arg in args if arg.startswith("--")}
        ctx.ignore_unknown_options = long_options <= known | {"--"}
        return super().parse_args(ctx, args)


def command(of: Operation) -> click.Command:
    """The command of one operation; invoking it returns a Call that has yet to be run."""

    def parsed(project: str, as_json: bool, **values: object) -> Call:
        return Call(of, {k: v for k, v in values.items() if v is not None}, project, as_json)

    fields = of.request.model_fields
    arguments = [parameter(of, name, fields[name]) for name in of.positional]
    options = [parameter(of, n, about) for n, about in fields.items() if n not in of.positional]
    return Command(
        of.command.rpartition(" ")[2],
        callback=parsed,
        params=[*arguments, *options, PROJECT, JSON],
        help=f"{of.doc}\n\n\b\nExample:\n  {of.example}",
        short_help=of.doc,
    )


@click.group(
    invoke_without_command=True,
    help="Serve MCP over stdio; an agent's client starts it.\n\n\b\nExample:\n  preread mcp",
)
@click.option(
    "--project", metavar="DIR", default=None, help="The project; default: the client's choice."
)
@click.option("--alone", is_flag=True, help="Serve without the daemon, even if one runs.")
@click.pass_context
def mcp(
    ctx: click.Context,
    project: str | None,
    alone: bool,  # noqa: ARG001 - see __main__
) -> Callable[[], int] | None:
    """Not an operation: it serves them. If a daemon runs, `relay` connects to it instead."""
    if ctx.invoked_subcommand is not None:
        return None

    def serve() -> int:
        from preread import mcp

        mcp.serve_stdio(Path(project) if project else None, os.environ)
        return 0

    return serve


@click.command(
    help="Watch the files: report dossiers that become stale or change, and tell the gates.\n\n\b\n"
    "Example:\n  preread watch",
    short_help="Watch the files, and report dossiers that become stale or change.",
)
@click.option("--project", metavar="DIR", default=".", help="The project.")
def watch(project: str) -> Callable[[], int]:
    """Not an operation, because it only ends when it is interrupted."""

    def run() -> int:
        from preread.builds.watching import News, Watcher, described

        def tell(news: News) -> None:
            for line in described(news):
                print_out(line)

        make = partial(services_of, Path(project), os.environ)
        print_out(f"Watching {make().layout.root}; Ctrl-C ends it.")
        Watcher(make, tell, lambda text: click.echo(text, err=True)).run()
        return 0

    return run


OTHERS: dict[str, click.Command] = {"builds": builds, "watch": watch, "mcp": mcp}
DAEMON = ("serve", "token")  # in a module that only they need
LAST = ("watch", "mcp", *DAEMON)  # at the end of the list of commands


def group(name: str, commands: list[str]) -> click.Command:
    """A group for the commands of two words with the same first word."""
    verbs = ", ".join(words.split()[1] for words in commands)
    return with_operations(click.Group(name, short_help=f"Work with {name}s: {verbs}."), commands)


def with_operations(found: click.Command, commands: list[str]) -> click.Command:
    """The command; a group also gets these commands of operations."""
    if isinstance(found, click.Group):
        for words in commands:
            found.add_command(command(operation(words)))
    return found


class Commands(click.Group):
    """Every operation, in the registry's order; a command is created when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        words = dict.fromkeys(words.partition(" ")[0] for words in COMMANDS)
        return [*(word for word in words if word not in LAST), *LAST]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if not (near := self._near(ctx, args[0])):
                raise
            message = f"No such command {args[0]!r}. Did you mean {near}?"
            raise click.UsageError(message, ctx) from error

    def _near(self, ctx: click.Context, word: str) -> str:
        """A suggestion for an unknown command: an operation of that name, or a similar command.

        Empty if there is none.
        """
        meant = ALIASES.get(word, word)
        named = [name for name in REGISTRY if meant in {name, name.partition(".")[2]}]
        if named:
            return " or ".join(f"`{REGISTRY[name].example}`" for name in named)
        near = difflib.get_close_matches(word.lower(), self.list_commands(ctx), n=1)
        return repr(near[0]) if near else ""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        of_group = [words for words in COMMANDS if words.startswith(f"{cmd_name} ")]
        if cmd_name in OTHERS:
            return with_operations(OTHERS[cmd_name], of_group)
        if cmd_name in DAEMON:
            from preread.cli import daemon

            found: click.Command = getattr(daemon, cmd_name)
            return found
        if cmd_name in COMMANDS:
            return command(operation(cmd_name))
        return group(cmd_name, of_group) if of_group else None


def parse(argv: list[str]) -> Call | Callable[[], int] | int:
    """What a command line asks for; an exit status if nothing is left to do.

    Raises click.UsageError.
    """
    version = click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Print the version.",
    )
    group = Commands(
        "preread",
        params=[version],
        help="Makes a coding agent read before it writes: cited, cached, checked context dossiers.",
        context_settings={"max_content_width": 110},
    )
    # As an option of its own, `-h` would make `-auth` ask for help instead of being a (bad) name.
    argv = ["--help" if argument == "-h" else argument for argument in argv]
    answer: Call | Callable[[], int] | int = group.main(argv, "preread", standalone_mode=False)
    return answer


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
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


# -- output


def execute(call: Call, environ: Mapping[str, str]) -> int:
    """Run one call and print its reply; returns the exit status. Raises PrereadError."""
    reply = run(call.operation, request_of(call), Path(call.project), environ)
    if call.as_json:
        print_out(terminal.as_json(reply.model_dump(mode="json", exclude_none=True)))
    else:
        on_terminal = terminal.is_terminal(sys.stdout)
        print_out(views.render(call.operation.name, reply, terminal=on_terminal))
    return exit_status(reply)


def run(operation: Operation, request: Model, start: Path, environ: Mapping[str, str]) -> Model:
    """The operation's reply; without an event loop if it is available immediately."""
    if operation.immediate is not None:
        reply = operation.immediate(services_of(start, environ), request)
        if isinstance(reply, Model):
            return reply
    from preread.cli import foreground

    return foreground.run(operation, request, start, environ)


def exit_status(reply: Model) -> int:
    """The exit status of a reply: its error code's; FAILED if it is not `ok` or not complete."""
    code = getattr(reply, "code", None)
    if code in CODES and getattr(reply, "status", "error") == "error":
        return CODES[code].exit
    is_whole = getattr(reply, "status", "") != "incomplete"
    return 0 if getattr(reply, "ok", True) and is_whole else FAILED


def print_out(text: str) -> None:
    """Print on stdout and flush. Raises BrokenPipeError, and E_WRITE when writing fails."""
    try:
        click.echo(text)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"Standard output cannot be written: {error.strerror}."
        raise PrereadError("E_WRITE", message) from error


def print_error(error: PrereadError, *, in_json: bool) -> None:
    """Report an expected failure: on stdout as JSON for programs, on stderr for people."""
    if in_json:
        fields = {
            "code": error.code,
            "message": error.message,
            "hint": error.hint,
            "details": error.details,
        }
        print_out(terminal.as_json({"status": "error", **fields}))
        return
    on_terminal = terminal.is_terminal(sys.stderr) and not os.environ.get("NO_COLOR")
    mark = click.style("error:", fg="red", bold=True) if on_terminal else "error:"
    click.echo(f"{mark} {terminal.clean(f'{error.code}: {error.message}')}", err=True)
    if error.hint:
        click.echo(terminal.clean(views.as_options(error.hint)), err=True)
