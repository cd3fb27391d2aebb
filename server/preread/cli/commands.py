"""The commands, generated from the registry: parse a command line, run its operation."""

import difflib
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import click

from preread import __version__
from preread.cli import terminal, views
from preread.cli.arguments import Call, command, request_of
from preread.cli.builds import builds
from preread.cli.help import described
from preread.cli.output import exit_status, print_out
from preread.models import Model
from preread.operations import ALIASES, COMMANDS, REGISTRY, operation
from preread.operations.registry import Operation, services_of


@click.group(
    invoke_without_command=True,
    **described("Serve MCP over stdio; an agent's client starts it.", "preread mcp"),
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
    **described(
        "Watch the files: report dossiers that become stale or change, and tell the gates.",
        "preread watch",
    )
)
@click.option("--project", metavar="DIR", default=".", help="The project.")
def watch(project: str) -> Callable[[], int]:
    """Not an operation, because it only ends when it is interrupted."""

    def run() -> int:
        from preread.builds.watching import News, Watcher, described
        from preread.operations import dispatch

        def tell(news: News) -> None:
            for line in described(news):
                print_out(line)

        make = partial(services_of, Path(project), os.environ)
        print_out(f"Watching {make().layout.root}; Ctrl-C ends it.")
        expected = partial(dispatch.expected, Path(project), "watch")
        Watcher(make, tell, lambda text: click.echo(text, err=True), expected=expected).run()
        return 0

    return run


OTHERS: dict[str, click.Command] = {"builds": builds, "watch": watch, "mcp": mcp}
DAEMON = ("serve", "token")  # in a module that only they need
LAST = ("watch", "mcp", *DAEMON)  # at the end of the list of commands


def group(name: str, commands: list[str]) -> click.Command:
    """A group for the commands of two words with the same first word."""
    verbs = ", ".join(words.split()[1] for words in commands)
    about = described(f"Work with {name}s: {verbs}.", operation(commands[0]).example)
    return with_operations(click.Group(name, **about), commands)


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
