"""`gates`, for people: switch the gates off and on, and explain what they would do."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from preread import resolve
from preread.errors import PrereadError
from preread.gates import switch
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.models import Model
from preread.operations import hooks
from preread.operations.hooks import Explained
from preread.operations.previews import of_file
from preread.operations.registry import Context, Operation, Preview, RequestModel, in_thread
from preread.services import Services
from preread.settings import Settings

DOES = {"block": "block", "warn": "only warn", "off": "are off"}


class GatesRequest(RequestModel):
    """What to do with the gates."""

    action: Literal["on", "off", "test", "explain"] = Field(
        description="`off` and `on` switch them; `test` says what would happen to a write of each "
        "path, and exits 1 if one would be blocked; `explain` says why."
    )
    paths: tuple[str, ...] = Field(
        (), description="Files, existing or not, relative to the current folder."
    )
    for_: str | None = Field(
        None, description="Only with off: for how long, like 30m, 2h or 1d. Default: for good."
    )


class GatesReply(Model):
    """The gates' state, and what they would do; `ok` is false if `test` finds a block."""

    action: str
    ok: bool
    root: str
    mode: str | None = Field(description="block, warn or off; none if nothing is gated.")
    mode_from: str
    off_until: float | None = Field(
        description="Epoch seconds, if the gates are off for a limited time."
    )
    says: tuple[str, ...] = Field(
        description="Sentences: what was done, the current state, and what overrides it."
    )
    paths: tuple[Explained, ...] = ()


async def gates(context: Context, request: GatesRequest) -> GatesReply:
    return await in_thread(
        context, _without_settings(context), _gates, request, context.start.absolute()
    )


def _without_settings(context: Context) -> Services:
    """The switch has to work even if the project's settings cannot be read."""
    return Services(resolve.open_layout(context.start), Settings(), context.environ)


def _gates(services: Services, request: GatesRequest, start: Path) -> GatesReply:
    seconds = _seconds_off(request)
    layout, done = services.layout, ""
    here = hooks.explain(services, str(layout.gates), layout.root)
    if request.action in {"on", "off"}:
        done = _switch(layout, here, on=request.action == "on", seconds=seconds)
        here = hooks.explain(services, str(layout.gates), layout.root)
    paths = tuple(hooks.explain(services, path, start) for path in request.paths)
    return GatesReply(
        action=request.action,
        ok=request.action != "test" or all(path.decision != "block" for path in paths),
        root=str(layout.root),
        mode=here.mode,
        mode_from=here.mode_from,
        off_until=here.off_until,
        says=tuple(filter(None, (done, *state(here)))),
        paths=paths,
    )


async def preview(context: Context, request: GatesRequest) -> Preview:
    return await in_thread(context, _without_settings(context), _preview, request)


def _preview(services: Services, request: GatesRequest) -> Preview:
    seconds, layout = _seconds_off(request), services.layout
    if request.action not in {"on", "off"}:
        return Preview(notes=(f"`{request.action}` changes nothing.",))
    here = hooks.explain(services, str(layout.gates), layout.root)
    data = plain_bytes(layout.gates_off)
    before = None if data is None else data.decode("utf-8", "replace")
    is_off = request.action == "off" and _has_gates(here)
    after = switch.text(seconds, switch.COMMAND).decode() if is_off else None
    if request.action == "off" and not is_off:
        return Preview(notes=tuple(state(here)))
    return of_file(layout.relative(layout.gates_off), before, after)


def _has_gates(here: Explained) -> bool:
    return here.gates is not None or here.broken is not None


def _seconds_off(request: GatesRequest) -> int | None:
    """For how many seconds to switch the gates off; None for good.

    Raises E_USAGE if the action's paths or duration are missing, wrong or not its own.
    """
    takes_paths = request.action in {"test", "explain"}
    has_paths = bool(request.paths) and all(request.paths)
    if takes_paths and not has_paths:
        raise PrereadError(
            "E_USAGE", f"Which file? `{request.action}` takes paths.", f"Run: `{OPERATION.example}`"
        )
    if request.paths and not takes_paths:
        raise PrereadError(
            "E_USAGE", f"`{request.action}` is for the whole project and takes no path.", EXEMPT
        )
    if request.for_ is None:
        return None
    if request.action != "off":
        raise PrereadError(
            "E_USAGE",
            f"`--for` belongs to `off`, not to `{request.action}`.",
            "Run: `preread gates off --for 2h`",
        )
    seconds = switch.seconds_of(request.for_)
    if seconds is None:
        message = f"The gates cannot be off for {request.for_[:40]!a}."
        raise PrereadError("E_USAGE", message, switch.HOW)
    return seconds


def _switch(layout: Layout, here: Explained, *, on: bool, seconds: int | None) -> str:
    """Switch the gates; returns what was done, as a sentence. Raises E_WRITE."""
    if on:
        was_off = layout.gates_off.exists()
        atomic.remove(layout.gates_off)
        return "Switched on." if was_off else "They were on already."
    if not _has_gates(here):
        return ""  # nothing to switch off, and gates that are added later must not start off
    atomic.write(layout.gates_off, switch.text(seconds, switch.COMMAND), durable=True)
    return "Switched off."


def state(here: Explained) -> Iterator[str]:
    """The state of a project's gates as the hooks report it, and what overrides it."""
    if here.broken is not None:
        yield f"{broken(here.broken)} Until that is fixed, nothing is gated."
        return
    if here.gates is None or here.mode is None:
        yield "There is no .project/gates here, so nothing is gated; `preread init` writes one."
        return
    does = f"The gates {DOES[here.mode]}"
    if here.mode_from in {"PREREAD_GATES", "CI"}:
        over = "the switch and the file" if here.mode_from == "PREREAD_GATES" else "the file's mode"
        yield f"{does}, because {here.mode_from} in this environment overrides {over}."
        yield "A Claude Code session that was started elsewhere may have another environment."
    elif here.mode_from.endswith("gates-off"):
        yield f"{does} {until(here)}. To switch them on: `preread gates on`"
    else:
        in_file = " of .project/gates" if here.mode_from.startswith("line") else ""
        yield f"{does} ({here.mode_from}{in_file})."
    yield from (f"Ignored: {note}." for note in here.notes)


def until(here: Explained) -> str:
    if here.off_until is None:
        return "until they are switched on"
    return f"until {time.strftime('%Y-%m-%d %H:%M', time.localtime(here.off_until))}"


def broken(found: hooks.Broken) -> str:
    return f".project/gates is broken: {f'line {found.line} ' if found.line else 'it '}{found.why}."


EXEMPT = "To exempt single files, add a line to .project/gates: !tests/legacy/**"
OPERATION = Operation(
    name="config.gates",
    request=GatesRequest,
    reply=GatesReply,
    effect="write",
    doc="Switch the gates off or on; test or explain what they would do about a file.",
    example="preread gates explain tests/login.spec.ts",
    run=gates,
    preview=preview,
    command="gates",
    positional=("action", "paths"),
    people_only=True,
)
