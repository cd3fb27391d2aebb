"""Runs one hook: a time limit, the event, the decision, one line of output."""

from __future__ import annotations

import os
import sys

from preread.gates import events

TIMEOUT = 5  # seconds
# Hook -> the module and the function that decide.
HOOKS = {
    "pre-spec-write": ("file_gate", "decide"),
    "pre-task-gate": ("agent_gate", "decide"),
    "permit-load": ("permits", "decide"),
    "pre-retry-gate": ("retry_gate", "decide"),
    "post-test-run": ("record_run", "decide"),
    "post-task": ("agents", "finished"),
    "session-start": ("session_start", "decide"),
    "subagent-start": ("agents", "started"),
    "subagent-stop": ("agents", "stopped"),
    "user-prompt": ("switch", "submitted"),
    "pre-compact": ("session_start", "before_compaction"),
    "stop": ("turn_audit", "decide"),
    "--explain": ("explain", "decide"),
}


def main(arguments: list[str]) -> None:
    """Decide, print, and exit at once, skipping what Python does when it shuts down."""
    _limit_time()
    name, part = arguments[0] if arguments else "", arguments[1:2]
    try:
        text = events.encode(_decide(name, arguments[1:]))
    except BaseException as error:  # the error boundary: nothing else may reach Claude Code
        why = name + " failed: " + type(error).__name__ + ": " + str(error)
        text = events.encode(events.failure(why))
    if part and not text:
        text = "-"  # the front takes silence for a failure
    data = (text + "\n").encode("ascii") if text else b""
    while data:
        data = data[os.write(1, data) :]
    os.close(1)  # the front waits for the end of the output, not of the process
    os._exit(0)


def _decide(name: str, arguments: list[str]) -> events.Answer:
    is_off = os.environ.get("PREREAD_CHILD") or os.environ.get("PREREAD_GATES") == "off"
    if is_off and name != "--explain":
        return None
    module, function = HOOKS[name]
    decide = getattr(__import__("preread.gates." + module, None, None, [function]), function)
    try:
        event = events.read(_input(arguments))
        answer: events.Answer = decide(event, os.environ)
    except events.InvalidEvent as error:
        return events.failure(name + ": " + str(error))
    if events.is_block(answer):
        from preread.gates import blocks

        blocks.note(event, answer, os.environ)
    return answer


def _input(arguments: list[str]) -> bytes:
    """The bytes of the event: what the front has read, and the rest."""
    blocks = [os.fsencode(os.environ.pop("PREREAD_EVENT", "")) if arguments else b""]
    while arguments[:1] != ["whole"]:
        block = os.read(0, 1 << 20)
        if not block:
            break
        blocks.append(block)
    return b"".join(blocks)


def _limit_time() -> None:
    """Have SIGALRM end this process after TIMEOUT, even if it hangs. Not on Windows."""
    try:
        # The C half of `signal`: importing all of it takes longer than a decision.
        from _signal import (  # type: ignore[import-not-found,unused-ignore]
            SIG_DFL,
            SIGALRM,
            alarm,
            signal,
        )
    except ImportError:
        return
    if sys.platform != "win32":
        signal(SIGALRM, SIG_DFL)
        alarm(TIMEOUT)
