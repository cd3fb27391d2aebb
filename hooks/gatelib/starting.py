"""`session-start` and `pre-compact`: what a session is to know of the dossiers, first and after a compaction."""

from __future__ import annotations

import os
import time

from gatelib import audit, dossiers, events, freshness, places, rules, scene, sessions, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gatelib.scene import Scene

STALE_SECONDS = 0.3  # for all dossiers, the newest first
MAX_LIST = 3_000  # characters
AGAIN = ("compact", "resume")  # the model has lost, or never had, what was read before


def decide(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Tell which dossiers there are; write down how the session began."""
    if environ.get("PREREAD_CHILD"):
        return None
    try:
        where = scene.scene(event, environ)
    except rules.Broken as error:
        raise events.Odd(str(error)) from None
    if where is None:
        return _ungated(event, environ)
    source = str(event.get("source"))
    if where.session and (source != "compact" or not sessions.started(where.root, where.session)):
        audit.begin(where, source)
        sessions.prune(where.root)
    if where.mode == "off":
        return None
    again = sessions.in_use(where.root, where.session) if where.session and source in AGAIN else []
    text = _text(where, again)
    return events.with_notes(events.remark(text, "SessionStart"), where.notes) if text else None


def _ungated(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Without a gates file: a short list of what there is, and nothing is written."""
    root = places.session_root(event, environ)
    names = (
        dossiers.names(root) if root is not None and environ.get("PREREAD_GATES") != "off" else []
    )
    if root is None or not names:
        return None
    rows = [_row(root, name, "") for name in names]
    text = (
        "Dossiers of this project, to be read before you work on what they are about:\n"
        + _list(rows)
        + _hint()
    )
    return events.remark(text[: dossiers.MOST], "SessionStart")


def _hint() -> str:
    return "To refresh one, or to have one for another feature, call {} {}.".format(
        texts.call("<name>"), texts.FIND
    )


def _text(where: Scene, again: list[str]) -> str:
    """The list, the dossiers in use again, the project's own summary: as much as fits."""
    rows = [_row(root, name, why) for root, name, why in _looked_at(where)]
    head = (
        "Dossiers of this project, to be read before you write what .project/gates names:\n"
        + _list(rows)
    )
    text = (
        (head if rows else "This project has no dossiers yet.\n")
        + "What .project/gates names wants its dossier first. "
        + _hint()
        + "\n"
    )
    for number, feature in enumerate(again):
        room = (dossiers.MOST - len(text)) // (len(again) - number)
        if room > 600 and dossiers.root_of(where, feature) is not None:
            text += "\nIn use in this session: " + dossiers.brief(where, feature, room - 40)
    root = dossiers.root_of(where, rules.PROJECT)
    if root is not None and rules.PROJECT not in again and dossiers.MOST - len(text) > 400:
        data = (
            sessions.read_bytes(
                os.path.join(dossiers.folder(root, rules.PROJECT), "summary.md"), dossiers.MAX_FILE
            )
            or b""
        )
        summary = dossiers.printable(data.decode("utf-8", "replace")).strip()
        text += "\nThe project as a whole:\n" + dossiers.cut(
            summary, dossiers.MOST - len(text) - 30
        )
    return text[: dossiers.MOST]


def _looked_at(where: Scene) -> list[tuple[str, str, str]]:
    """Each dossier that stands: project, feature, why it is stale. The hints for the gates are brought up to date."""
    end = time.monotonic() + STALE_SECONDS
    found = []
    for root in where.roots:
        files = freshness.Files(root)
        for name in dossiers.names(root):
            spans = (
                freshness.manifest(dossiers.folder(root, name)).get("spans")
                if time.monotonic() < end
                else None
            )
            why = freshness.why_stale(spans, files, end) if spans is not None else None
            if why is not None and root == where.root:
                freshness.update(root, name, spans, why)
            found.append(
                (root, name, why or ("it was found to be" if places.stale(root, name) else ""))
            )
    return found


def _row(root: str, name: str, why: str) -> str:
    facts = freshness.manifest(dossiers.folder(root, name)).get("facts")
    count = f", {len(facts)} facts" if isinstance(facts, list) and facts else ""
    stale = ", stale: " + events.shown(why, 120) if why else ""
    return f"- {name}: .project/context/{name}/ ({dossiers.age(root, name)}{count}{stale})\n"


def _list(rows: list[str]) -> str:
    text = ""
    for number, row in enumerate(rows):
        if len(text) + len(row) > MAX_LIST:
            return text + f"- and {len(rows) - number} older ones in .project/context/\n"
        text += row
    return text


# -- pre-compact


def compacting(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Remember the dossiers of the files that were written; those that were asked for are known already."""
    try:
        where = scene.scene(event, environ)
    except rules.Broken:
        return None
    if where is not None and where.session:
        known = sessions.in_use(where.root, where.session)
        for feature in sorted({feature for _, feature in audit.written(where)} - set(known)):
            if where.stands(feature):
                sessions.use(where.root, where.session, feature)
    return None
