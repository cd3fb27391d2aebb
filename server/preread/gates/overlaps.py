"""Finds files that several active sessions of a project write; each session is notified once.

What a session writes is in its transcript. A hint file, made when a second session starts, says
that there are several; without it, a prompt reads no transcripts.
"""

from __future__ import annotations

import os
import time

from preread.gates import attention, events, printable, sessions, state_files, transcripts

# Seconds for which a session counts as active after the last line of its transcript.
ALIVE = 4 * 3600.0
MAX_SESSIONS, MAX_NAMED = 5, 3
HINT = ("together",)  # in .cache


def started(root: str, event: events.Event) -> None:
    """Make the hint if another session is at work when one starts."""
    if _others(root, event):
        with state_files.WhereWritable():
            folder = state_files.make_folder(root, ".cache")
            state_files.create_empty(os.path.join(folder, *HINT))


def news(root: str, event: events.Event) -> str:
    """A notice of files that another session writes as well; empty if this one knows them."""
    hint = os.path.join(root, ".project", ".cache", *HINT)
    if not os.path.lexists(hint):
        return ""
    others = _others(root, event)
    if not others:
        state_files.remove_file(hint)
        return ""
    own = _written(root, transcripts.paths(event)[-1:])
    theirs = {path: other for other, place in others.items() for path in _written(root, [place])}
    shared = [path for path in own if path in theirs]
    session = event.get("session_id")
    marks = {path: f"shared {theirs[path]} {path}" for path in shared}
    new = [path for path in shared if sessions.is_news(root, session, marks[path])]
    if not new:
        return ""
    more = f" and {len(new) - MAX_NAMED} more" if len(new) > MAX_NAMED else ""
    named = ", ".join(f"`{printable.without_controls(path)[:200]}`" for path in new[:MAX_NAMED])
    return (
        f"Preread: another session in this project writes the same files as you: {named}{more}. "
        "Read them again before you change them; `session.say` sends the other one a message."
    )


def _others(root: str, event: events.Event) -> dict[str, str]:
    """The other sessions that are at work, the latest first, each with its transcript."""
    folder = os.path.join(root, ".project", ".state", "sessions")
    own = state_files.safe_name(event.get("session_id"))
    newest, last, places = time.time() - ALIVE, {}, {}
    for name in state_files.names_in(folder):
        start = os.path.join(folder, name, "start.json")
        place = state_files.read_json(start).get("transcript")
        if name != own and isinstance(place, str) and os.path.isabs(place) and "\0" not in place:
            places[name] = place
            last[name] = max(state_files.modified(start), state_files.modified(place))
    alive = sorted((name for name in last if last[name] > newest), key=lambda name: -last[name])
    return {name: places[name] for name in alive[:MAX_SESSIONS]}


def _written(root: str, places: list[str]) -> list[str]:
    """The files that sessions wrote recently, according to their transcripts."""
    newest = time.time() - ALIVE
    found = [
        one.what
        for place in places
        for one in attention.of_transcript(root, transcripts.tail(place, attention.MAX_TAIL) or b"")
        if one.kind == "wrote" and one.at > newest
    ]
    return list(dict.fromkeys(found))
