"""Whether a refresh has changed facts of a dossier since a session read it.

`read/<feature>` in the session's folder says what it read: a digest of the texts, and how long the
history of their facts was. The package appends to that history whenever it publishes.
"""

from __future__ import annotations

import os
import time

from preread.gates import sessions, spans, state_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_HISTORY = 16_000_000  # bytes; the package starts a new file long before
# How the events are called in which the code, or a model, changed facts: not a person, git, or a
# call of the session itself (`extended`, `marked wrong`).
REFRESHES = ("built", "refreshed")


def note_read(root: str, session: object, feature: str, *, is_first: bool = False) -> None:
    """Remember that a session has read a dossier as it is now; `is_first`: if it is the first time.

    Nothing is remembered of a dossier that does not exist yet.
    """
    texts = _texts(root, feature)
    if not texts or (is_first and sessions.read_record(root, session, feature)):
        return
    end = len(_bytes(_history(root, feature)))
    record = {"texts": texts, "history": str(end), "at": str(time.time_ns())}
    sessions.write_read(root, session, feature, record)


def is_news(root: str, session: object, feature: str) -> bool:
    """Whether facts have changed and the session has not been told since it read them."""
    record = sessions.read_record(root, session, feature)
    if not record or _texts(root, feature) == record.get("texts"):
        return False
    return _has_changed(root, feature, record) and sessions.is_news(
        root, session, _mark(feature, record)
    )


def told(root: str, session: object, feature: str) -> None:
    """Note that the session was told that the dossier is out of date."""
    record = sessions.read_record(root, session, feature)
    if record:
        sessions.is_news(root, session, _mark(feature, record))


def _mark(feature: str, record: dict[str, Any]) -> str:
    return f"told {feature} {record.get('at')}"


def _has_changed(root: str, feature: str, record: dict[str, Any]) -> bool:
    """Whether refreshes since the session's read have changed more than the places of facts."""
    count: dict[str, int] = {}
    for change in _changes_since(root, feature, str(record.get("history"))):
        for side, step in (("was", -1), ("now", 1)):
            fact = change.get(side)
            text = fact.get("text") if isinstance(fact, dict) else None
            if isinstance(text, str):
                text = spans.without_places(text)
                count[text] = count.get(text, 0) + step
    return any(count.values())


def _changes_since(root: str, feature: str, start: str) -> Iterator[dict[str, Any]]:
    """The changes that refreshes have made since the history was that long."""
    path = _history(root, feature)
    data, begin = _bytes(path), int(start) if start.isdecimal() else 0
    if begin > len(data):  # that file was renamed, and a new one started
        data = _bytes(path[: -len(".jsonl")] + ".old.jsonl")[begin:] + b"\n" + data
    else:
        data = data[begin:]
    for line in data.split(b"\n"):
        event = state_files.json_object(line)
        changes = event.get("changes") if event.get("how") in REFRESHES else None
        for change in changes if isinstance(changes, list) else ():
            if isinstance(change, dict):
                yield change


def _history(root: str, feature: str) -> str:
    return os.path.join(root, ".project", ".state", "history", feature + ".jsonl")


def _bytes(path: str) -> bytes:
    return state_files.read_bytes(path, MAX_HISTORY) or b""


def _texts(root: str, feature: str) -> str:
    """A digest of a dossier's texts; empty if it has none."""
    import hashlib

    folder = os.path.join(root, ".project", "context", feature)
    names = [name for name in state_files.names_in(folder) if name.endswith(".md")]
    digest = hashlib.sha256()
    for name in names:
        data = state_files.read_bytes(os.path.join(folder, name)) or b""
        digest.update(f"{name}\n{len(data)}\n".encode("utf-8", "surrogatepass") + data)
    return digest.hexdigest() if names else ""
