"""`hook.py NAME < event`: the decision of one hook, printed once as JSON; a pass prints nothing. Always exits 0.

`hook.py NAME whole EVENT` and `hook.py NAME part EVENT_SO_FAR < rest` are how the bash front calls it, which has read from
stdin already: there a pass prints `-`, so that silence is known for a failure. `hook.py --explain` is in gatelib/explain.py.
"""

import os
import sys

SECONDS = 5
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


def limit_time():
    """End this process by SIGALRM, which the front tells as a time-out, whatever it hangs in."""
    try:
        # The built-in half of `signal`: importing all of it costs more than a decision.
        from _signal import SIG_DFL, SIGALRM, alarm, signal
    except ImportError:
        return
    signal(SIGALRM, SIG_DFL)
    alarm(SECONDS)


def read_event(arguments):
    """The bytes of the event: what the front has read, and what it left."""
    before = os.fsencode(arguments[1]) if len(arguments) > 1 else b""
    blocks = [before]
    while arguments[:1] != ["whole"]:
        block = os.read(0, 1 << 20)
        if not block:
            break
        blocks.append(block)
    return b"".join(blocks)


def decide(name, arguments):
    """The answer's text."""
    from gatelib import events

    try:
        module, function = HOOKS[name]
        if name != "--explain" and (os.environ.get("PREREAD_CHILD") or os.environ.get("PREREAD_GATES") == "off"):
            return ""
        library = getattr(__import__("gatelib." + module), module)
        answer = getattr(library, function)(events.read(read_event(arguments)), os.environ)
    except events.Odd as error:
        answer = events.note(name + ": " + str(error))
    except Exception as error:
        answer = events.note(name + " failed: " + type(error).__name__ + ": " + str(error))
    return events.encode(answer)


def main(arguments):
    """Decide, print, and leave without what Python does at its end."""
    limit_time()
    sys.dont_write_bytecode = sys.pycache_prefix is None
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        text = decide(arguments[0] if arguments else "", arguments[1:])
    except BaseException as error:  # a library that is not there, or is broken
        kind = "".join([char for char in type(error).__name__ if char.isalnum()])
        text = '{"systemMessage": "preread: the gates cannot be loaded (' + kind + '); this call was let through"}'
    data = (text or ("-" if len(arguments) > 1 else "")).encode("ascii", "replace")
    data += b"\n" if data else b""
    while data:
        data = data[os.write(1, data) :]
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
