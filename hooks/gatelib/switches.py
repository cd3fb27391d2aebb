"""Whether the gates block, warn or are off: the first switch that is set, in the order of docs/gates.md."""

from __future__ import annotations

import os

from gatelib import events, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gatelib.rules import Rules

MODES = ("block", "warn", "off")


class Switch:
    """What holds: `mode`, where it comes from, until when (epoch seconds, where there is an end), what was odd."""

    __slots__ = ("mode", "notes", "source", "until")

    def __init__(
        self, mode: str, source: str, notes: list[str], until: float | None = None
    ) -> None:
        self.mode = mode
        self.source = source
        self.notes = notes
        self.until = until


def mode(rules: Rules, roots: Iterable[str], environ: Mapping[str, str]) -> str:
    """`block`, `warn` or `off`."""
    return switch(rules, roots, environ).mode


def switch(rules: Rules, roots: Iterable[str], environ: Mapping[str, str]) -> Switch:
    """The mode with where it comes from."""
    notes: list[str] = []
    named = environ.get("PREREAD_GATES", "")
    if named in MODES:
        return Switch(named, "PREREAD_GATES", notes)
    if named:
        notes.append(
            "PREREAD_GATES="
            + events.shown(named, 40)
            + " is none of block, warn, off, and is ignored"
        )
    for root in roots:
        off, until = _gates_off(root, notes)
        if off:
            return Switch("off", ".project/.state/gates-off", notes, until)
    if rules.mode == "off":
        return Switch("off", "line " + str(rules.mode_line), notes)
    if environ.get("CI", "").lower() not in ("", "0", "false"):
        return Switch("warn", "CI", notes)
    if rules.mode == "block" and _unready(environ, notes):
        return Switch("warn", "the plugin's server cannot start", notes)
    source = "line " + str(rules.mode_line) if rules.mode_line else "the default"
    return Switch(rules.mode, source, notes)


def _unready(environ: Mapping[str, str], notes: list[str]) -> bool:
    """Whether the launcher left word that it cannot start the server: then nothing could open a gate."""
    data = environ.get("CLAUDE_PLUGIN_DATA", "")
    try:
        why = places.content(os.path.join(data, "unready"), places.SMALL) if data else None
    except OSError:
        return False
    if why is None:
        return False
    reason = events.shown(why.decode("utf-8", "replace").strip(), 200)
    notes.append("its server cannot start, so the gates only warn: " + reason)
    return True


def _gates_off(root: str, notes: list[str]) -> tuple[bool, float | None]:
    path = os.path.join(root, ".project", ".state", "gates-off")
    if not os.path.lexists(path):
        return False, None
    until = None
    try:
        if (places.content(path, places.SMALL) or b"").strip() == b"forever":
            return True, None
        until = places.seconds(path)
    except OSError:
        pass
    if until is None:
        notes.append(".project/.state/gates-off holds neither `forever` nor a time, and is ignored")
        return False, None
    import time

    return until > time.time(), until
