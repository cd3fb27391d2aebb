"""`stop`: reports gated files that a session wrote by any means without a dossier, each once."""

from __future__ import annotations

import os
import time

from preread.gates import (
    changes,
    events,
    fence,
    load_calls,
    messages,
    rules,
    sessions,
    switch,
    transcripts,
    workspace,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from preread.gates.workspace import Workspace

    Rows = list[tuple[str, str]]  # path, feature

MAX_FILES, MAX_FEATURES = 200, 5
MAX_SHOWN = 6


def decide(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Audit the turn, and report a switch of the gates that the session has not seen."""
    return switch.with_report(_audited(event, environ), event, environ)


def _audited(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Send the model back, once, for the dossiers of what it wrote; in `warn` tell the person."""
    if event.get("stop_hook_active"):
        return None  # it was sent back already
    try:
        where = workspace.find(event, environ)
    except rules.Broken:
        return None  # the gate on files reports it
    if where is None or where.mode == "off" or not where.session:
        return None
    if not sessions.read_start(where.root, where.session):
        begin(where, "late", event)  # the hooks were installed while the session was running
        return None
    new = [row for row in _new(where) if not load_calls.why_cannot_load(event, row[1], where.rules)]
    if not new:
        return None
    what = _files(new, "was written without a dossier", "were written without their dossiers")
    person = messages.for_person(what)
    if where.mode == "warn":
        return {"systemMessage": person}
    return {"decision": "block", "reason": _text(where, new), "systemMessage": person}


def _new(where: Workspace) -> Rows:
    """What was written without a dossier and was not reported before."""
    found = [(path, feature) for path, feature in written(where) if not where.has_dossier(feature)]
    return [
        (path, feature)
        for path, feature in found[:MAX_FILES]
        if sessions.first_time(where.root, where.session, "audited " + path)
    ]


def begin(where: Workspace, source: str, event: events.Event) -> None:
    """Record the state of the project's gated files at the start of a session."""
    record: dict[str, Any] = {
        "at": time.time(),
        "source": source,
        "head": changes.head(where.root),
        "dirty": None,
        "transcript": next(iter(transcripts.paths(event)), ""),
    }
    switch.is_unknown(event, where.root)  # an earlier switch was not made by this session
    names = changes.dirty(where.root)
    if names is not None:
        gated = [name for name in names if _feature(where, name) is not None]
        record["dirty"] = {
            name: changes.stamp(os.path.join(where.root, name))
            for name in gated[: changes.MAX_PATHS]
        }
    sessions.write_start(where.root, where.session, record)


def _feature(where: Workspace, name: str) -> str | None:
    if name.startswith(".project/"):
        return None
    return where.feature_of(os.path.join(where.root, name))


def written(where: Workspace) -> Rows:
    """The gated files that were written since the session began, with their features."""
    start = sessions.read_start(where.root, where.session)
    at = start.get("at")
    if not isinstance(at, (int, float)):
        return []
    before = start.get("dirty")
    names = changes.dirty(where.root)
    if names is None:
        names, before = list(changes.modified_since(where.root, at)), None
    else:
        names = names + changes.committed(where.root, at, str(start.get("head") or ""))
    found = {}
    for name in dict.fromkeys(names):
        stamp = changes.stamp(os.path.join(where.root, name))
        if stamp is not None and _is_changed(name, stamp, before, at):
            feature = _feature(where, name)
            if feature is not None:
                found[name] = feature
    return sorted(found.items())


def _is_changed(name: str, stamp: list[int], before: object, at: float) -> bool:
    """Whether a file changed since the session began; by its time when no stamps were recorded."""
    if isinstance(before, dict):
        return before.get(name) != stamp
    return stamp[0] / 1e9 >= at - changes.CLOCK_SLACK


def _files(rows: Rows, one: str, many: str, quote: Callable[[str], str] = str) -> str:
    shown = quote(", ".join(events.shown(path, 120) for path, _ in rows[:MAX_SHOWN]))
    more = f" and {len(rows) - MAX_SHOWN} more" if len(rows) > MAX_SHOWN else ""
    return shown + more + " " + (one if len(rows) == 1 else many)


def _text(where: Workspace, rows: Rows) -> str:
    first, *others = sorted({feature for _, feature in rows})
    calls = ", ".join(messages.call(name) for name in others[: MAX_FEATURES - 1])
    also = f"also make the call{'s' if len(others) > 1 else ''} {calls}, " if others else ""
    say = "dossiers say" if others else "dossier says"
    check = (
        f"check these files against what the {say} about traps, helpers and proven patterns, "
        "fix them, and end your turn"
    )
    files = _files(rows, "was written", "were written", fence.inline)
    them = "it" if len(rows) == 1 else "them"
    why = f"{files} in this session, .project/gates covers {them}, and {where.missing(first)}."
    return messages.demand(first, where.roots, also + check, why)
