"""`preread builds`: how replies about builds look, and `tail`, which follows builds as they run."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from preread.cli.help import described
from preread.cli.terminal import Block, Table

if TYPE_CHECKING:
    from preread.operations.builds.cancel import CancelReply
    from preread.operations.builds.list import ListReply
    from preread.records.live_builds import Event, Live

FAILURES = ("error", "killed")
STARTS = "`preread load FEATURE` starts one; run this while it builds."


def listed(reply: "ListReply") -> Iterator[Block]:
    if not reply.elsewhere:  # a command line's own process builds nothing
        yield "No build is running."
        return
    rows = [
        (one.feature, str(one.pid), one.level or "", f"{one.seconds:.0f} s", one.message)
        for one in reply.elsewhere
    ]
    yield Table(("feature", "process", "level", "time", "now"), rows)


def cancelled(reply: "CancelReply") -> Iterator[Block]:
    where = f" in process {', '.join(map(str, reply.elsewhere))}" if reply.elsewhere else ""
    how = "has ended" if reply.ended else "was asked to end, and will end at its next step"
    yield f"The build of {reply.feature}{where} {how}."


@click.group(**described("Work with the running builds of every process.", "preread builds list"))
def builds() -> None:
    """The group; its commands other than `tail` are operations."""


@builds.command(
    **described(
        "Follow running builds, in any process, until they end.",
        "preread builds tail checkout",
        "Ctrl-C leaves them running.",
    )
)
@click.argument("feature", required=False)
@click.option("--project", metavar="DIR", default=".", help="The project.")
@click.option("--json", "as_json", is_flag=True, help="Each event as a line of JSON.")
def tail(feature: str | None, project: str, as_json: bool) -> Callable[[], int]:
    """Not an operation, because it only ends when the builds do."""

    def run() -> int:
        from preread.errors import FAILED
        from preread.records import live_builds

        failed = False
        for event in live_builds.follow(_running(project, feature)):
            failed |= event.event == "end" and event.state in FAILURES
            _print(event, as_json=as_json)
        return FAILED if failed else 0

    return run


def _running(project: str, feature: str | None) -> "list[Live]":
    """The builds to follow. Raises E_NOT_FOUND."""
    from preread.errors import PrereadError
    from preread.names import feature_name
    from preread.operations.registry import services_of
    from preread.records import live_builds

    layout = services_of(Path(project), os.environ).layout
    layout.guard()
    found = live_builds.running(layout, feature_name(feature) if feature else None)
    if not found:
        of = f" of {feature_name(feature)}" if feature else ""
        hint = "`preread builds list` lists those that run." if feature else STARTS
        raise PrereadError("E_NOT_FOUND", f"No build{of} is running.", hint)
    return found


def _print(event: "Event", *, as_json: bool) -> None:
    import sys

    from preread.cli import terminal
    from preread.gates import fence

    if as_json:
        text = event.model_dump_json(exclude_none=True)
        click.echo(terminal.CONTROL.sub(lambda char: f"\\u{ord(char[0]):04x}", text))
        return
    text = terminal.one_line(_said(event))
    if event.text and not terminal.is_terminal(sys.stdout):
        text = fence.inline(text)  # a model may be reading
    click.echo(f"{_clock(event.at)} {event.feature}: {text}")


def _said(event: "Event") -> str:
    if event.event == "begin":
        return f"is being built in process {event.pid} ({event.level})"
    if event.event == "step":
        return event.text
    how = "has been killed" if event.state == "killed" else f"has ended: {event.state}"
    why = " ".join(part for part in (event.code, event.text) if part)
    return f"{how}. {why}".removesuffix(". ")


def _clock(at: float) -> str:
    import time

    return time.strftime("%H:%M:%S", time.localtime(at))
