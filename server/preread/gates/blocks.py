"""The record of what the gates blocked, `.project/.state/blocks.jsonl`, for people to read."""

from __future__ import annotations

import os
import time

from preread.gates import events, messages, paths, run_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "blocks.jsonl"
PROBE = "doctor"  # the session id of the doctor's test calls, which are not recorded
# Never the command, which may contain a secret; the reason names the file it would have written.
INPUTS = ("file_path", "notebook_path", "subagent_type")


def note(event: events.Event, answer: events.Answer, environ: Mapping[str, str]) -> None:
    """Add a block to the record. Whatever goes wrong here, the call stays blocked."""
    try:
        root = paths.session_root(event, environ)
        if event.get("session_id") == PROBE:
            return
        if answer is not None and root is not None and os.path.isfile(root + "/.project/gates"):
            run_records.append(root, _record(event, answer, root), NAME)
    except Exception:  # noqa: S110 - raising it would let the call through
        pass


def _record(event: events.Event, answer: dict[str, object], root: str) -> dict[str, object]:
    fields = event.get("tool_input")
    fields = fields if isinstance(fields, dict) else {}
    what = next((fields[key] for key in INPUTS if isinstance(fields.get(key), str)), "")
    why = str(answer.get("systemMessage", "")).replace(messages.OFF, "").strip()
    return {
        "at": round(time.time(), 3),
        "tool": events.shown(str(event.get("tool_name", "")), 60),
        "what": events.shown(what[len(root) + 1 :] if what.startswith(root + "/") else what),
        "why": events.shown(why[len("preread: ") :] if why.startswith("preread: ") else why, 300),
    }
