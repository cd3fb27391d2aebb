"""A command line's arguments, from the fields of an operation's request."""

import os
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import click
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from preread.cli.help import described
from preread.errors import PrereadError
from preread.models import Model
from preread.operations.registry import Operation, services_of

TYPES = {str: click.STRING, int: click.INT, float: click.FLOAT}


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
        **described(of.doc, of.example),
    )


def request_of(call: Call) -> Model:
    try:
        return call.operation.request.model_validate(call.values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise PrereadError(
            "E_USAGE", f"`{name}`: {first['msg']}.", f"See preread {call.operation.command} --help."
        ) from error
