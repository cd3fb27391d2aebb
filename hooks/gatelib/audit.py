"""`stop`: the gated files that a session wrote by whatever way, and whose dossier does not stand; each file once."""

from __future__ import annotations

import os
import time

from gatelib import changes, events, rules, scene, sessions, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gatelib.scene import Scene

MAX_FILES, MAX_FEATURES = 200, 5
SHOWN = 6


def decide(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Send the model back once for the dossiers of what it wrote; in `warn` tell the person."""
    if event.get("stop_hook_active"):
        return None  # it was sent back already
    try:
        where = scene.scene(event, environ)
    except rules.Broken:
        return None  # the gate on files says so
    if where is None or where.mode == "off" or not where.session:
        return None
    if not sessions.started(where.root, where.session):
        begin(where, "late")  # the hooks came into a session that was there
        return None
    found = [(path, feature) for path, feature in written(where) if not where.stands(feature)]
    new = [
        row
        for row in found[:MAX_FILES]
        if sessions.mark(where.root, where.session, "audited " + row[0])
    ]
    if not new:
        return None
    person = texts.person(
        _files(new, "was written without a dossier", "were written without their dossiers")
    )
    if where.mode == "warn":
        return {"systemMessage": person}
    return {"decision": "block", "reason": _text(where, new), "systemMessage": person}


def begin(where: Scene, source: str) -> None:
    """Write down how the project's gated files were when a session began."""
    record = {"at": time.time(), "source": source, "head": changes.head(where.root), "dirty": None}
    names = changes.dirty(where.root)
    if names is not None:
        gated = [name for name in names if _feature(where, name) is not None]
        record["dirty"] = {
            name: changes.look(os.path.join(where.root, name))
            for name in gated[: changes.MAX_PATHS]
        }
    sessions.start(where.root, where.session, record)


def _feature(where: Scene, name: str) -> str | None:
    return (
        None if name.startswith(".project/") else where.feature_of(os.path.join(where.root, name))
    )


def written(where: Scene) -> list[tuple[str, str]]:
    """The gated files that were written since the session began, with their features."""
    began = sessions.started(where.root, where.session)
    at = began.get("at")
    if not isinstance(at, (int, float)):
        return []
    before = began.get("dirty")
    names = changes.dirty(where.root)
    if names is None:
        names, before = list(changes.touched(where.root, at)), None
    else:
        names = names + changes.committed(where.root, at, str(began.get("head") or ""))
    found = {}
    for name in dict.fromkeys(names):
        seen = changes.look(os.path.join(where.root, name))
        if seen is not None and _is_changed(name, seen, before, at):
            feature = _feature(where, name)
            if feature is not None:
                found[name] = feature
    return sorted(found.items())


def _is_changed(name: str, seen: list[int], before: object, at: float) -> bool:
    """Whether a file is not as it was when the session began; by its time where that was not written down."""
    if isinstance(before, dict):
        return before.get(name) != seen
    return seen[0] / 1e9 >= at - changes.GRAIN


def _files(rows: list[tuple[str, str]], one: str, many: str) -> str:
    shown = ", ".join(events.shown(path, 120) for path, _ in rows[:SHOWN])
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return shown + more + " " + (one if len(rows) == 1 else many)


def _text(where: Scene, rows: list[tuple[str, str]]) -> str:
    first, *others = sorted({feature for _, feature in rows})
    more = "".join([", " + texts.call(name) for name in others[: MAX_FEATURES - 1]])
    also = f"also make the call{'s' if len(others) > 1 else ''}{more[1:]}, " if others else ""
    say = "dossiers say" if others else "dossier says"
    check = f"check these files against what the {say} of traps, helpers and proven patterns, mend them, and end your turn"
    why = "{} in this session, .project/gates names {}, and {}.".format(
        _files(rows, "was written", "were written"), "it" if len(rows) == 1 else "them", where.lacks(first),
    )  # fmt: skip
    return texts.demand(first, where.roots, also + check, why)
