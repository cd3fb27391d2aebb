"""Notices for a session at the person's next prompt: dossiers in use that became stale, and files
that another session writes as well.
"""

from __future__ import annotations

import os

from preread.gates import events, freshness, messages, overlaps, paths, sessions, state_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_NAMED = 3


def of_session(event: events.Event, environ: Mapping[str, str]) -> events.Answer:
    """What is new, a line each; everything is shown once."""
    root, session = paths.session_root(event, environ), event.get("session_id")
    if root is None or not session:
        return None
    remarks = [text for text in (_stale(root, session), overlaps.news(root, event)) if text]
    return events.remark("\n".join(remarks), "UserPromptSubmit") if remarks else None


def _stale(root: str, session: object) -> str:
    """The stale dossiers that the session uses."""
    stale = [
        feature
        for feature in sessions.dossiers_in_use(root, session)
        if _is_new(root, session, feature)
    ]
    if not stale:
        return ""
    more = f" and {len(stale) - MAX_NAMED} more" if len(stale) > MAX_NAMED else ""
    calls = ", ".join(messages.call(feature) for feature in stale[:MAX_NAMED])
    text = "Preread: what these dossiers cite or count has changed since you read them; "
    return f"{text}before you rely on them, call {calls}{more}."


def _is_new(root: str, session: object, feature: str) -> bool:
    """Whether there is a hint that this session has not been shown."""
    path = os.path.join(root, ".project", ".cache", "stale", feature)
    if state_files.read_bytes(path, freshness.MAX_HINT) is None:
        return False
    return sessions.is_news(root, session, f"stale {feature} {state_files.modified(path)}")
