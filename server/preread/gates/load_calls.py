"""The outcome of the call of `load_context` that a block asked for, read from transcripts.

A gate may ask for a call, but not insist on one that is denied, fails, or is not available.
"""

from __future__ import annotations

import os
import time

from preread.gates import events, feature_names, sessions, transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preread.gates.rules import Rules

MAX_REASON = 160
BLOCKS_WITHOUT_TRANSCRIPT = 2  # of one feature, in a session
# Mistakes of the caller, which the next call can correct.
MISTAKES = (
    "E_USAGE",
    "E_METHOD",
    "E_FEATURE_NAME",
    "E_TICKET_NAME",
    "E_SCOPE",
    "InputValidationError",
)
UNSAVED = "it could not be saved: "  # in a warning of the reply
MISSING = "No such tool available"
MISSING_CALLS = 2  # until it counts: just after a start, the client may still be connecting
PATIENCE, POLL = 1.0, 0.05  # seconds: Claude Code writes its transcript a little later


class LoadCall:
    """A call of `load_context` and, once it has ended, its result."""

    __slots__ = ("ended", "failed", "feature", "missing", "text")

    def __init__(self, feature: str) -> None:
        self.feature = feature
        self.ended = self.failed = False
        self.missing = 0  # calls in its session that found no such tool
        self.text = ""

    def why_no_dossier(self) -> str:
        """Why this call did not lead to a dossier; empty if it still may."""
        if not self.ended:
            return ""
        return self._why_failed() if self.failed else self._why_not_saved()

    def _why_not_saved(self) -> str:
        """Why a call that succeeded left no dossier on disk; empty while the dossier is built."""
        text = self.text.replace(" ", "")
        if '"status":"building"' in text:
            return ""
        if '"code":"E_WRITE"' not in text:
            return "load_context was called, and the dossier is not there yet"
        why = self.text.partition(UNSAVED)[2].partition('"')[0].rstrip(". ")
        cause = ", because it could not be saved: " + events.shown(why, MAX_REASON) if why else ""
        return "its dossier is only in the reply of load_context" + cause

    def _why_failed(self) -> str:
        """Why a call failed; empty if the next one may succeed."""
        if MISSING in self.text:
            if self.missing < MISSING_CALLS:
                return ""
            return "load_context is not among the tools of this session"
        if any(code in self.text for code in MISTAKES):
            return ""
        return "load_context failed: " + events.shown(" ".join(self.text.split()), MAX_REASON)


def why_cannot_load(event: events.Event, feature: str, rules: Rules, patience: float = 0) -> str:
    """Why this session cannot get the dossier of a feature; empty while it should try to.

    After a block asked for the call, it or its result may not be in the transcript yet: `patience`
    is how many seconds to wait for them.
    """
    paths = transcripts.paths(event)
    until = time.monotonic() + patience
    while True:
        tails = [transcripts.tail(path) or b"" for path in paths]
        made = next(filter(None, (_last_call(data, feature, rules) for data in tails)), None)
        if made is not None and made.ended:
            return made.why_no_dossier()
        if made is None and not any(_was_asked(data, feature) for data in tails):
            return ""
        if time.monotonic() >= until:
            return ""
        time.sleep(POLL)


def _last_call(tail: bytes, feature: str, rules: Rules) -> LoadCall | None:
    """The last call for a feature in a transcript; it knows how many calls found no such tool."""
    made = [call for call in _calls(tail) if call.feature]
    own = [call for call in made if rules.served_by(call.feature) == feature]
    if not own:
        return None
    own[-1].missing = sum(call.failed and MISSING in call.text for call in made)
    return own[-1]


def _was_asked(tail: bytes, feature: str) -> bool:
    """Whether a block in this transcript asked for the call."""
    return f'load_context with {{\\"feature\\": \\"{feature}\\"'.encode() in tail


def why_unknown(event: events.Event, root: str, feature: str) -> str:
    """Why it cannot be known whether the call was made; empty until the third block."""
    paths, session = transcripts.paths(event), event.get("session_id")
    if not paths or any(map(os.path.exists, paths)):
        return ""
    if not isinstance(session, str) or not session:
        return ""
    for number in range(BLOCKS_WITHOUT_TRANSCRIPT):
        if sessions.first_time(root, session, f"asked {number} {feature}"):
            return ""
    return "this session keeps no transcript, which would show what became of load_context"


def _calls(tail: bytes) -> list[LoadCall]:
    """The calls in a transcript, oldest first."""
    found: dict[str, LoadCall] = {}
    for line in tail.split(b"\n"):
        if b"load_context" in line or any(ident.encode() in line for ident in found):
            for block in transcripts.blocks(line):
                _add_block(found, block)
    return list(found.values())


def _add_block(found: dict[str, LoadCall], block: dict[str, object]) -> None:
    """Add a call to those found, or its result to a call."""
    if block.get("type") == "tool_use":
        given = block.get("input")
        asked = given.get("feature") if isinstance(given, dict) else None
        if str(block.get("name")).endswith("__load_context") and isinstance(asked, str):
            found[str(block.get("id"))] = LoadCall(feature_names.feature_of_argument(asked))
    elif block.get("type") == "tool_result":
        call = found.get(str(block.get("tool_use_id")))
        if call is not None:
            call.ended, call.failed = True, block.get("is_error") is True
            call.text = _text(block.get("content"))


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "\n".join(str(part.get("text")) for part in parts if isinstance(part, dict))
