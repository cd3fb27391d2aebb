"""Notices for a session at the person's next prompt: dossiers in use that became stale or were
refreshed, and files that another session writes as well.
"""

from __future__ import annotations

import os

from preread.gates import (
    events,
    freshness,
    messages,
    overlaps,
    paths,
    refreshes,
    sessions,
    state_files,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_NAMED = 3


def of_session(event: events.Event, environ: Mapping[str, str]) -> events.Answer:
    """What is new, a line each; everything is shown once."""
    root, session = paths.session_root(event, environ), event.get("session_id")
    if root is None or not session:
        return None
    remarks = [text for text in (_out_of_date(root, session), overlaps.news(root, event)) if text]
    return events.remark("\n".join(remarks), "UserPromptSubmit") if remarks else None


def _out_of_date(root: str, session: object) -> str:
    """The dossiers in use that are stale, or were refreshed since the session read them."""
    old = [
        feature
        for feature in sessions.dossiers_in_use(root, session)
        if _is_stale(root, session, feature) or refreshes.is_news(root, session, feature)
    ]
    if not old:
        return ""
    more = f" and {len(old) - MAX_NAMED} more" if len(old) > MAX_NAMED else ""
    calls = ", ".join(messages.call(feature) for feature in old[:MAX_NAMED])
    text = "Preread: what these dossiers cite or count has changed since you read them; "
    return f"{text}before you rely on them, call {calls}{more}."


def _is_stale(root: str, session: object, feature: str) -> bool:
    """Whether there is a hint that this session has not been shown."""
    path = os.path.join(root, ".project", ".cache", "stale", feature)
    if state_files.read_bytes(path, freshness.MAX_HINT) is None:
        return False
    is_new = sessions.is_news(root, session, f"stale {feature} {state_files.modified(path)}")
    if is_new:
        refreshes.told(root, session, feature)
    return is_new
