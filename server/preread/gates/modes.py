"""Whether the gates block, warn or are off: the first switch that is set decides."""

from __future__ import annotations

import os

from preread.gates import dossiers, events, switch
from preread.gates.rules import MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from preread.gates.rules import Rules


class EffectiveMode:
    """The mode, which switch set it, when that ends (epoch seconds), and notes for the person."""

    __slots__ = ("mode", "notes", "source", "until")

    def __init__(
        self, mode: str, source: str, notes: list[str], until: float | None = None
    ) -> None:
        self.mode = mode
        self.source = source
        self.notes = notes
        self.until = until


def effective_mode(rules: Rules, roots: Iterable[str], environ: Mapping[str, str]) -> EffectiveMode:
    """The mode that applies to a project. docs/gates-reference.md lists the switches in order."""
    notes: list[str] = []
    named = _named(environ, notes)
    if named:
        return EffectiveMode(named, "PREREAD_GATES", notes)
    off = _switched_off(roots, notes)
    if off is not None:
        return EffectiveMode("off", switch.NAME, notes, off.until)
    line = "line " + str(rules.mode_line)
    if rules.mode == "off":
        return EffectiveMode("off", line, notes)
    if environ.get("CI", "").lower() not in ("", "0", "false"):
        return EffectiveMode("warn", "CI", notes)
    if rules.mode == "block" and _server_cannot_start(environ, notes):
        return EffectiveMode("warn", "the plugin's server cannot start", notes)
    return EffectiveMode(rules.mode, line if rules.mode_line else "the default", notes)


def _switched_off(roots: Iterable[str], notes: list[str]) -> switch.Switch | None:
    """The first switch that is off; notes what is wrong with those before it."""
    for root in roots:
        found = switch.read(root)
        if found.is_off:
            return found
        if found.problem:
            notes.append(switch.NAME + " " + found.problem + ", and is ignored")
    return None


def _named(environ: Mapping[str, str], notes: list[str]) -> str:
    """The mode in PREREAD_GATES; empty, with a note, when that is not a mode."""
    named = environ.get("PREREAD_GATES", "")
    if not named or named in MODES:
        return named
    shown = events.shown(named, 40)
    notes.append("PREREAD_GATES=" + shown + " is not block, warn or off, and is ignored")
    return ""


def _server_cannot_start(environ: Mapping[str, str], notes: list[str]) -> bool:
    """Whether the launcher reported that it cannot start the server, which alone opens a gate."""
    data = environ.get("CLAUDE_PLUGIN_DATA", "")
    try:
        why = (
            dossiers.read_start(os.path.join(data, "unready"), dossiers.MAX_HINT) if data else None
        )
    except OSError:
        return False
    if why is None:
        return False
    reason = events.shown(why.decode("utf-8", "replace").strip(), 200)
    notes.append("its server cannot start, so the gates only warn: " + reason)
    return True
