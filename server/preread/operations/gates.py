"""The operation on the gates, for people: switch them off and on again, see what a write would get, and why."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from preread import resolve
from preread.errors import PrereadError
from preread.infra import atomic
from preread.layout import Layout
from preread.models import Model
from preread.operations import hooks
from preread.operations.hooks import Explained
from preread.operations.registry import Asked, Context, Operation, in_thread
from preread.services import Services
from preread.settings import Settings

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DURATION = re.compile(r"([1-9][0-9]{0,8})([smhd])")
LONGEST = 366 * 86400
DOES = {"block": "block", "warn": "only warn", "off": "are off"}


class GatesRequest(Asked):
    """What is to be done with the gates."""

    action: Literal["on", "off", "test", "explain"] = Field(
        description="`off` and `on` switch them; `test` says what a write of each path "
        "would get, and exits 1 where one is blocked; `explain` says why."
    )
    paths: tuple[str, ...] = Field(
        (), description="Files, there or not, relative to where you are."
    )
    for_: str | None = Field(
        None, description="Only with off: for so long, like 30m, 2h or 1d. Default: for good."
    )


class GatesReply(Model):
    """What holds now, and what each path would get; `ok` is false where `test` meets a block."""

    action: str
    ok: bool
    root: str
    mode: str | None = Field(description="block, warn or off; none where nothing is gated.")
    mode_from: str
    off_until: float | None = Field(
        description="Epoch seconds, where the gates are off and that has an end."
    )
    says: tuple[str, ...] = Field(
        description="What was done, what holds now and what overrides it, in sentences."
    )
    paths: tuple[Explained, ...] = ()


async def gates(context: Context, request: GatesRequest) -> GatesReply:
    # Without the project's settings: the switch has to work where those cannot be read.
    services = Services(resolve.open_layout(context.start), Settings(), context.environ)
    return await in_thread(context, services, _gates, request, context.start.absolute())


def _gates(services: Services, request: GatesRequest, start: Path) -> GatesReply:
    seconds = _understood(request)
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


def _understood(request: GatesRequest) -> int | None:
    """For how many seconds the gates are to be off; None for good. Raises E_USAGE."""
    looks = request.action in {"test", "explain"}
    if looks and not all(request.paths or [""]):
        raise PrereadError(
            "E_USAGE", f"Which file? `{request.action}` takes paths.", f"Run: {GATES.example}"
        )
    if request.paths and not looks:
        raise PrereadError(
            "E_USAGE", f"`{request.action}` is for the whole project, and takes no path.", OTHERS
        )
    if request.for_ is None:
        return None
    if request.action != "off":
        raise PrereadError(
            "E_USAGE",
            f"`--for` belongs to `off`, not to `{request.action}`.",
            "Run: preread gates off --for 2h",
        )
    match = DURATION.fullmatch(request.for_)
    seconds = int(match[1]) * UNITS[match[2]] if match else LONGEST + 1
    if seconds > LONGEST:
        raise PrereadError(
            "E_USAGE",
            f"{request.for_[:40]!a} is no time that the gates can be off.",
            "Say 90s, 30m, 2h or 1d: 366d at most.",
        )
    return seconds


def _switch(layout: Layout, here: Explained, *, on: bool, seconds: int | None) -> str:
    """Turn the switch; what was done, in a sentence. Raises E_WRITE."""
    if on:
        was_off = layout.gates_off.exists()
        atomic.remove(layout.gates_off)
        return "Switched on." if was_off else "The switch was on already."
    if here.gates is None and here.broken is None:
        return ""  # nothing to switch; and gates that come later are not to be off from the start
    until = "forever" if seconds is None else f"{time.time() + seconds:.0f}"
    atomic.write(layout.gates_off, f"{until}\n".encode())
    return "Switched off."


def state(here: Explained) -> Iterator[str]:
    """What holds in a project, by the hooks' word on it, and what overrides it."""
    if here.broken is not None:
        yield f"{broken(here.broken)} Until that is mended nothing is gated."
        return
    if here.gates is None or here.mode is None:
        yield "There is no .project/gates here, so nothing is gated; preread init makes one."
        return
    does = f"The gates {DOES[here.mode]}"
    if here.mode_from in {"PREREAD_GATES", "CI"}:
        over = "the switch and the file" if here.mode_from == "PREREAD_GATES" else "the file's mode"
        yield f"{does}, because of {here.mode_from} in this environment, which goes over {over}."
        yield "A session of Claude Code that was started elsewhere may have another environment."
    elif here.mode_from.endswith("gates-off"):
        yield f"{does} {until(here)}. On again: preread gates on"
    else:
        where = (
            f"{here.mode_from} of .project/gates"
            if here.mode_from.startswith("line")
            else here.mode_from
        )
        yield f"{does} ({where})."
    yield from (f"Ignored: {note}." for note in here.notes)


def until(here: Explained) -> str:
    if here.off_until is None:
        return "until somebody switches them on"
    return f"until {time.strftime('%Y-%m-%d %H:%M', time.localtime(here.off_until))}"


def broken(found: hooks.Broken) -> str:
    return f".project/gates is broken: {f'line {found.line} ' if found.line else 'it '}{found.why}."


OTHERS = "Single files are exempted by a line of .project/gates: !tests/legacy/**"
GATES = Operation(
    name="config.gates",
    request=GatesRequest,
    reply=GatesReply,
    effect="write",
    doc="Switch the gates off or on again; test what a write of a file would get, or explain it.",
    example="preread gates explain tests/login.spec.ts",
    run=gates,
    command="gates",
    positional=("action", "paths"),
    personal=True,
)
OPERATIONS = (GATES,)
