"""The life of one hook's process: a time limit, the event, the decision, one line of output."""

from __future__ import annotations

import os
import sys

from gatelib import events

SECONDS = 5
# Hook -> the module that decides, and its function.
HOOKS = {
    "pre-spec-write": ("writes", "decide"),
    "pre-task-gate": ("tasks", "decide"),
    "pre-retry-gate": ("retry", "decide"),
    "post-test-run": ("testruns", "decide"),
    "post-task": ("agents", "finished"),
    "session-start": ("starting", "decide"),
    "subagent-start": ("agents", "started"),
    "subagent-stop": ("agents", "stopped"),
    "pre-compact": ("starting", "compacting"),
    "stop": ("audit", "decide"),
    "--explain": ("explain", "decide"),
}


def main(arguments: list[str]) -> None:
    """Decide, print, and leave at once: what Python does at its end is not needed."""
    _limit_time()
    name, how = arguments[0] if arguments else "", arguments[1:2]
    try:
        text = events.encode(_decide(name, arguments[1:]))
    except BaseException as error:  # the one boundary: no accident may reach Claude Code as one
        text = events.encode(
            events.note(name + " failed: " + type(error).__name__ + ": " + str(error))
        )
    data = ((text or "-" * len(how)) + "\n").encode("ascii") if text or how else b""
    while data:
        data = data[os.write(1, data) :]
    os.close(1)  # the front goes on at the end of what is said, not of this process
    os._exit(0)


def _decide(name: str, arguments: list[str]) -> events.Answer:
    off = os.environ.get("PREREAD_CHILD") or os.environ.get("PREREAD_GATES") == "off"
    if off and name != "--explain":
        return None
    module, function = HOOKS[name]
    library = getattr(__import__("gatelib." + module), module)
    try:
        answer: events.Answer = getattr(library, function)(
            events.read(_input(arguments)), os.environ
        )
    except events.Odd as error:
        answer = events.note(name + ": " + str(error))
    return answer


def _input(arguments: list[str]) -> bytes:
    """The bytes of the event: what the front has read, and what it left."""
    blocks = [os.fsencode(os.environ.pop("PREREAD_EVENT", "")) if arguments else b""]
    while arguments[:1] != ["whole"]:
        block = os.read(0, 1 << 20)
        if not block:
            break
        blocks.append(block)
    return b"".join(blocks)


def _limit_time() -> None:
    """End this process by SIGALRM after five seconds, whatever it hangs in; there is none on Windows."""
    try:
        # The built-in half of `signal`: to import all of it costs more than a decision.
        from _signal import SIG_DFL, SIGALRM, alarm, signal  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return
    if sys.platform != "win32":
        signal(SIGALRM, SIG_DFL)
        alarm(SECONDS)
