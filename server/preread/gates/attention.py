"""Working memory: how much attention each thing that a session touched still has, and where the
work changed.

Both are computed from events: what sessions wrote, read and were given, from their transcripts,
and what was noted, from `.project/.state/working-memory.jsonl`.
"""

from __future__ import annotations

import os
import time

from preread.gates import dossier_text, events, sessions, state_files, transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

HALF_LIFE = 1800.0  # the half-life of attention, in seconds
PER_TURN = 0.9  # the share of attention left after a turn of the person
PAST_BOUNDARY = 0.3  # the share of attention left after each boundary
FORGOTTEN = 0.05  # anything below has no attention
WEIGHTS = {"wrote": 3.0, "noted": 3.0, "given": 2.0, "read": 1.0}
TURN, FINISHED, BOUNDARY = "turn", "finished", "boundary"
KINDS = (*WEIGHTS, TURN, FINISHED, BOUNDARY)
LONG_PAUSE = 1800.0  # seconds
TREE_RUN = 3  # files written in a row in another part of the tree mean that the work moved there
MAX_SESSIONS, MAX_TAIL, MAX_NOTES = 3, 500_000, 1_000_000  # sessions, bytes, bytes
MAX_AGE = 2 * 86_400.0  # seconds
WRITES = ("Write", "Edit", "MultiEdit", "NotebookEdit")
MAX_FACTS, MAX_FACT = 8, 300


class Event:
    """Something that a session did: one of KINDS, with a path, a feature, or a noted text."""

    __slots__ = ("at", "kind", "what")

    def __init__(self, at: float, kind: str, what: str = "") -> None:
        self.at, self.kind, self.what = at, kind, what


# -- where events come from


def gather(root: str, event: events.Event | None = None) -> list[Event]:
    """The events of the latest sessions and of the notes, oldest first."""
    found = noted(root) + finished_runs(root)
    for path in _transcript_paths(root, event or {}):
        found += of_transcript(root, transcripts.tail(path, MAX_TAIL) or b"")
    newest = time.time() - MAX_AGE
    return sorted((one for one in found if one.at >= newest), key=lambda one: one.at)


def _transcript_paths(root: str, event: events.Event) -> list[str]:
    """The transcripts of the session that the event is from, and of the latest other sessions."""
    folder = os.path.join(root, ".project", ".state", "sessions")
    starts = [os.path.join(folder, name, "start.json") for name in state_files.names_in(folder)]
    latest = sorted(starts, key=state_files.modified, reverse=True)[:MAX_SESSIONS]
    records = (state_files.read_json(path).get("transcript") for path in latest)
    own = transcripts.paths(event)
    known = [path for path in records if isinstance(path, str) and os.path.isabs(path)]
    return list(dict.fromkeys(own + known))


def noted(root: str) -> list[Event]:
    """The notes, in the order in which they were made."""
    path = os.path.join(root, ".project", ".state", "working-memory.jsonl")
    data = state_files.read_bytes(path, MAX_NOTES) or b""
    found = []
    for line in data.split(b"\n"):
        try:
            entry = events.read(line)
        except events.InvalidEvent:
            continue
        at, kind, what = entry.get("at"), entry.get("kind"), entry.get("what")
        if isinstance(at, (int, float)) and kind in KINDS and isinstance(what, str):
            found.append(Event(float(at), str(kind), what))
    return found


def finished_runs(root: str) -> list[Event]:
    """An event for each run log that has a lesson, at the time when the log was last written."""
    from preread.gates import run_log

    folder = os.path.join(root, ".project", "runs")
    found = []
    for name in state_files.names_in(folder):
        feature, end = os.path.splitext(name)
        if end == ".md" and b"- " in run_log.text_of(root, feature, "LEARN"):
            at = state_files.modified(os.path.join(folder, name))
            found.append(Event(at, FINISHED, feature))
    return found


def of_transcript(root: str, data: bytes) -> list[Event]:
    """The events in a transcript: files written and read, dossiers, the person's turns."""
    found = []
    for line in data.split(b"\n"):
        if b'"tool_use"' not in line and b'"user"' not in line:
            continue
        try:
            entry = events.read(line)
        except events.InvalidEvent:
            continue
        at = _time(entry.get("timestamp"))
        if at is None or entry.get("isMeta"):
            continue
        for block in transcripts.blocks_of(entry):
            event = _of_block(root, at, entry, block)
            if event is not None:
                found.append(event)
    return found


def _time(stamp: object) -> float | None:
    from datetime import datetime

    try:
        return datetime.fromisoformat(str(stamp).replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return None


def _of_block(root: str, at: float, entry: events.Event, block: dict[str, object]) -> Event | None:
    if block.get("type") == "text":
        return Event(at, TURN) if entry.get("type") == "user" else None
    given, name = block.get("input"), str(block.get("name"))
    if block.get("type") != "tool_use" or not isinstance(given, dict):
        return None
    if name.endswith("__load_context"):
        return Event(at, "given", str(given.get("feature")))
    path = _inside(root, given.get("file_path") or given.get("notebook_path"))
    if not path or name not in (*WRITES, "Read"):
        return None
    return Event(at, "read" if name == "Read" else "wrote", path)


def _inside(root: str, path: object) -> str:
    """A path relative to the project's root; empty if it is outside, or one of Preread's own."""
    if not isinstance(path, str) or not path or "\0" in path:
        return ""
    relative = os.path.relpath(os.path.join(root, path), root).replace(os.sep, "/")
    return "" if relative.startswith(("../", ".project/")) or relative == ".." else relative


# -- boundaries: where the work changes


def _new_feature(before: list[Event], event: Event) -> str:
    given = [one.what for one in before if one.kind == "given"]
    is_new = event.kind == "given" and given and event.what != given[-1]
    return f"from {given[-1]} to {event.what}" if is_new else ""


def _long_pause(before: list[Event], event: Event) -> str:
    pause = event.at - before[-1].at if before else 0.0
    return f"{round(pause / 60)} minutes without an event" if pause >= LONG_PAUSE else ""


def _other_tree(before: list[Event], event: Event) -> str:
    if event.kind != "wrote":
        return ""
    written = [_tree(one.what) for one in (*before, event) if one.kind == "wrote"]
    now, earlier = written[-TREE_RUN:], written[-2 * TREE_RUN : -TREE_RUN]
    is_other = len(earlier) == TREE_RUN and len(set(now)) == 1 and now[0] not in earlier
    return f"from {earlier[-1]} to {now[0]}" if is_other else ""


def _finished_run(_: list[Event], event: Event) -> str:
    return f"the run log of {event.what} has its lesson" if event.kind == FINISHED else ""


def _processed(_: list[Event], event: Event) -> str:
    return (event.what or "set by hand") if event.kind == BOUNDARY else ""


def _tree(path: str) -> str:
    """The part of the tree that a file is in: its first two folders."""
    return "/".join(path.split("/")[:-1][:2]) or "."


# Each rule says why the work changes at an event, given those before; empty if it does not.
RULES: dict[str, Callable[[list[Event], Event], str]] = {
    "new-feature": _new_feature,
    "long-pause": _long_pause,
    "other-tree": _other_tree,
    "finished-run": _finished_run,
    "processed": _processed,
}


class Boundary:
    """A place in the events where the work changed, the rule that says so, and why."""

    __slots__ = ("at", "place", "rule", "why")

    def __init__(self, place: int, at: float, rule: str, why: str) -> None:
        self.place, self.at, self.rule, self.why = place, at, rule, why


def boundaries(found: list[Event]) -> list[Boundary]:
    """The places where the work changed, oldest first; at most one for each event."""
    known: list[Boundary] = []
    for place, event in enumerate(found):
        start = known[-1].place if known else 0
        for rule, why in RULES.items():
            reason = why(found[start:place], event)
            if reason:
                known.append(Boundary(place, event.at, rule, reason))
                break
    return known


# -- attention


def scores(found: list[Event], now: float) -> dict[str, float]:
    """How much attention each thing has, by weight, age, turns and boundaries; most first."""
    places = [one.place for one in boundaries(found)]
    total: dict[str, float] = {}
    turns = passed = 0
    for place in range(len(found) - 1, -1, -1):
        event = found[place]
        if event.what and event.kind in WEIGHTS:
            age = 0.5 ** (max(0.0, now - event.at) / HALF_LIFE)
            left = PER_TURN**turns * PAST_BOUNDARY ** min(passed, 3)
            total[event.what] = total.get(event.what, 0.0) + WEIGHTS[event.kind] * age * left
        turns += event.kind == TURN
        passed += place in places
    kept = [(what, score) for what, score in total.items() if score >= FORGOTTEN]
    return dict(sorted(kept, key=lambda row: -row[1]))


# -- facts about what has attention


def relevant_facts(
    root: str, attention: dict[str, float], leave_out: Iterable[str] = ()
) -> list[str]:
    """The notes, and the facts of dossiers and knowledge, that are about what has attention.

    Best first. `leave_out` are features whose dossiers are shown anyway.
    """
    ranked = []
    for feature, text in _texts(root, frozenset(leave_out)):
        own = 0.5 * attention.get(feature, 0.0)
        for line in text.split("\n"):
            if line.startswith("- "):
                score = own + sum(attention[path] for path in _cited(line, attention))
                if score >= FORGOTTEN:
                    ranked.append((score, line))
    notes = [(score, "- noted: " + what) for what, score in attention.items() if " " in what]
    ranked = sorted(notes + ranked, key=lambda row: -row[0])
    return list(dict.fromkeys(line[:MAX_FACT] for _, line in ranked))[:MAX_FACTS]


def _texts(root: str, leave_out: frozenset[str]) -> list[tuple[str, str]]:
    """(feature, text) of each file of the newest dossiers, and ("", text) of the knowledge."""
    found = []
    for feature in dossier_text.names(root)[:20]:
        if feature not in leave_out:
            names = (name for name in dossier_text.ORDER if name != "summary.md")
            found += [(feature, dossier_text.read(root, feature, name)) for name in names]
    path = os.path.join(root, ".project", "knowledge.md")
    knowledge = (state_files.read_bytes(path) or b"").decode("utf-8", "replace")
    return [*found, ("", dossier_text.printable(knowledge))]


def _cited(line: str, attention: dict[str, float]) -> list[str]:
    """The files with attention that a fact names, by their path or by name and line."""
    return [
        what for what in attention
        if "." in what and (what in line or os.path.basename(what) + ":" in line)
    ]  # fmt: skip


def in_use(root: str, session: str, attention: dict[str, Any]) -> list[str]:
    """The features whose dossiers a session uses, by attention, then the latest first."""
    known = sessions.dossiers_in_use(root, session)
    return sorted(known, key=lambda feature: -float(attention.get(feature, 0.0)))
