"""What a command prints, and its exit status."""

import os
import sys
from contextlib import suppress

import click

from preread.cli import terminal, views
from preread.errors import CODES, FAILED, PrereadError
from preread.models import Model

UNFINISHED = ("incomplete", "conflicts")


def exit_status(reply: Model) -> int:
    """The exit status of a reply: its error code's; FAILED if it is not `ok` or not finished."""
    code = getattr(reply, "code", None)
    if code in CODES and getattr(reply, "status", "error") == "error":
        return CODES[code].exit
    is_finished = getattr(reply, "status", "") not in UNFINISHED
    return 0 if getattr(reply, "ok", True) and is_finished else FAILED


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
        with suppress(PrereadError):  # where nothing can be written on stdout, stderr is left
            print_out(terminal.as_json({"status": "error", **fields}))
            return
    on_terminal = terminal.is_terminal(sys.stderr) and not os.environ.get("NO_COLOR")
    mark = click.style("error:", fg="red", bold=True) if on_terminal else "error:"
    click.echo(f"{mark} {terminal.clean(f'{error.code}: {error.message}')}", err=True)
    if error.hint:
        click.echo(terminal.clean(views.as_options(error.hint)), err=True)
