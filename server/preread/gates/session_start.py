"""`session-start` and `pre-compact`: what a session learns about the dossiers."""

from __future__ import annotations

import os
import time

from preread.gates import (
    attention,
    dossier_text,
    dossiers,
    events,
    fence,
    freshness,
    messages,
    overlaps,
    paths,
    refreshes,
    rules,
    sessions,
    turn_audit,
    workspace,
)
from preread.gates.feature_names import PROJECT, is_feature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from preread.gates.workspace import Workspace

CHECK_SECONDS = 0.3  # for the freshness of all dossiers, newest first
MAX_LIST = 3_000  # characters
MIN_BRIEF, MIN_SUMMARY = 600, 400  # characters; with less room, these are left out
AGAIN = ("compact", "resume")  # starts after which the model no longer has what it read


def decide(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """List the dossiers, and record how the session began. Raises events.InvalidEvent."""
    if environ.get("PREREAD_CHILD"):
        return None
    try:
        where = workspace.find(event, environ)
    except rules.Broken as error:
        raise events.InvalidEvent(str(error)) from None
    if where is None:
        return _without_gates(event, environ)
    source = str(event.get("source"))
    if where.session:
        _record_start(where, source, event)
        overlaps.started(where.root, event)
    if where.mode == "off":
        return None
    scores = attention.scores(attention.gather(where.root, event), time.time())
    again: list[str] = []
    if where.session and source in AGAIN:
        again = attention.in_use(where.root, where.session, scores)
    text = _text(where, again, attention.relevant_facts(where.root, scores, again))
    return events.with_notes(events.remark(text, "SessionStart"), where.notes)


def _record_start(where: Workspace, source: str, event: events.Event) -> None:
    if source != "compact" or not sessions.read_start(where.root, where.session):
        turn_audit.begin(where, source, event)
        sessions.prune(where.root)


def _without_gates(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Without a gates file: a short list of the dossiers; nothing is written."""
    root = paths.session_root(event, environ)
    if root is None or environ.get("PREREAD_GATES") == "off":
        return None
    rows = [_row(root, name, "") for name in dossier_text.names(root)]
    if rows:
        start = "Dossiers of this project. Read the one that is about what you work on first:\n"
        text = start + fence.block(_list(rows)) + _how_to_get()
    elif event.get("source") == "startup" and not os.path.isdir(os.path.join(root, ".project")):
        text = _introduction()
    else:
        return None
    return events.remark(text[: dossier_text.MAX_CONTEXT], "SessionStart")


def _introduction() -> str:
    """What Preread can do in a project that does not use it yet, in one line."""
    call = messages.call("<name>")
    return (
        f"Preread can tell what this project says about a feature before you write code or tests "
        f"for it: call {call} {messages.FIND}; the person can require that for new tests with "
        "/preread:init."
    )


def _how_to_get() -> str:
    call = messages.call("<name>")
    return f"To refresh one, or to get one for another feature, call {call} {messages.FIND}."


def _text(where: Workspace, again: list[str], facts: list[str]) -> str:
    """The list, relevant facts, the dossiers in use, the project's summary, as far as they fit."""
    rows = [_row(root, name, why) for root, name, why in _checked(where)]
    start = "Dossiers of this project. Read them before you write what .project/gates covers:\n"
    text = start + fence.block(_list(rows)) if rows else "This project has no dossiers yet.\n"
    text += (
        "Files and agents that .project/gates covers need their dossier first. "
        + _how_to_get()
        + "\n"
    )
    if facts:
        text += "\nFacts about what was worked on last:\n" + fence.block("\n".join(facts) + "\n")
    for number, feature in enumerate(again):
        room = (dossier_text.MAX_CONTEXT - len(text)) // (len(again) - number)
        if room > MIN_BRIEF and dossier_text.root_of(where, feature) is not None:
            text += "\nIn use in this session: " + dossier_text.brief(where, feature, room - 40)
            refreshes.note_read(where.root, where.session, feature)
    if not where.has_dossier(PROJECT):
        text += _no_summary()
    elif PROJECT not in again:
        text += _project_summary(where, dossier_text.MAX_CONTEXT - len(text))
    return text[: dossier_text.MAX_CONTEXT]


def _no_summary() -> str:
    return (
        f"\nThere is no dossier of the project as a whole, which sessions should start with: call "
        f"{messages.call(PROJECT)} once, when there is time. Nothing waits for it.\n"
    )


def _project_summary(where: Workspace, room: int) -> str:
    root = dossier_text.root_of(where, PROJECT)
    if root is None or room <= MIN_SUMMARY:
        return ""
    summary = dossier_text.read(root, PROJECT, "summary.md")
    return "\nThe project as a whole:\n" + fence.block(
        dossier_text.cut(summary, room - fence.SIZE - 30)
    )


def _checked(where: Workspace) -> list[tuple[str, str, str]]:
    """Each complete dossier: project, feature, why it is stale. Updates the hints for the gates."""
    end = time.monotonic() + CHECK_SECONDS
    found = []
    for root in where.roots:
        files = freshness.Files(root)
        for name in dossier_text.names(root):
            why = _why_stale(root, name, files, end, updates=root == where.root)
            if not why and dossiers.is_stale(root, name):
                why = "found by an earlier check"
            found.append((root, name, why))
    return found


def _why_stale(root: str, name: str, files: freshness.Files, end: float, updates: bool) -> str:
    """Why a dossier's cited lines make it stale; empty when they do not, or time ran out."""
    if time.monotonic() >= end:
        return ""
    digests = freshness.manifest(dossiers.folder(root, name)).get("spans")
    why = freshness.why_stale(digests, files, end) if digests is not None else None
    if why is not None and updates:
        freshness.update_hint(root, name, digests, why)
    return why or ""


def _row(root: str, name: str, why: str) -> str:
    facts = freshness.manifest(dossiers.folder(root, name)).get("facts")
    count = f", {len(facts)} facts" if isinstance(facts, list) and facts else ""
    stale = ", stale: " + events.shown(why, 120) if why else ""
    age = dossier_text.age(root, name)
    return f"- {name}: .project/context/{name}/ ({age}{count}{stale})\n"


def _list(rows: list[str]) -> str:
    text = ""
    for number, row in enumerate(rows):
        if len(text) + len(row) > MAX_LIST:
            return text + f"- and {len(rows) - number} older ones in .project/context/\n"
        text += row
    return text


# -- pre-compact


def before_compaction(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Remember the dossiers of what was written, or has attention, so that they are shown again."""
    try:
        where = workspace.find(event, environ)
    except rules.Broken:
        return None
    if where is not None and where.session:
        known = sessions.dossiers_in_use(where.root, where.session)
        written = {feature for _, feature in turn_audit.written(where)}
        scores = attention.scores(attention.gather(where.root, event), time.time())
        written.update(filter(is_feature, scores))
        for feature in sorted(written - set(known)):
            if where.has_dossier(feature):
                sessions.use_dossier(where.root, where.session, feature)
    return None
