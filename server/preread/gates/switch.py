"""The person's switch, `.project/.state/gates-off`: until when the gates are off, and what set it.

Only a file that names one of Preread's two ways to switch counts: the model can write a file from
any program, but does not get past the gates by doing so.
"""

from __future__ import annotations

import os
import time

from preread.gates import dossiers, events, paths, sessions, state_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

COMMAND, PROMPT = "preread gates off", "/preread:gates"
FOREVER = "forever"
NAME = ".project/.state/gates-off"
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MAX_SECONDS = 366 * 86400
HOW = "Write 90s, 30m, 2h or 1d; the maximum is 366d."
USAGE = "Write /preread:gates off 2h, /preread:gates off, /preread:gates on, or /preread:gates"
SLACK = 2.0  # the times of files and of hooks may differ by this many seconds


class Switch:
    """What the file says: `until` in epoch seconds, None for good; `problem` if it is ignored."""

    __slots__ = ("is_off", "problem", "until")

    def __init__(self, is_off: bool, until: float | None = None, problem: str = "") -> None:
        self.is_off = is_off
        self.until = until
        self.problem = problem


def path_of(root: str) -> str:
    return os.path.join(root, ".project", ".state", "gates-off")


def text(seconds: int | None, writer: str) -> bytes:
    """The file's content: off for `seconds` from now, or for good."""
    until = FOREVER if seconds is None else f"{time.time() + seconds:.0f}"
    return f"{until}\nby {writer}\n".encode("ascii")


def read(root: str) -> Switch:
    path = path_of(root)
    if not os.path.lexists(path):
        return Switch(False)
    try:
        data = dossiers.read_start(path, dossiers.MAX_HINT) or b""
    except OSError:
        data = b""
    first, _, rest = data.strip().partition(b"\n")
    until = dossiers.time_of(first.strip())
    if until is None and first.strip() != FOREVER.encode():
        return Switch(False, None, "contains neither `forever` nor a time")
    if rest.strip() not in (f"by {COMMAND}".encode(), f"by {PROMPT}".encode()):
        return Switch(False, None, f"was written neither by `{COMMAND}` nor by {PROMPT}")
    return Switch(until is None or until > time.time(), until)


def seconds_of(duration: str) -> int | None:
    """The seconds of `90s`, `30m`, `2h`, `1d`; None if it is not a duration, or too long."""
    number, unit = duration[:-1], UNITS.get(duration[-1:])
    if unit is None or not number.isdecimal() or not number.isascii() or len(number) > 9:
        return None
    seconds = int(number) * unit
    return seconds if 0 < seconds <= MAX_SECONDS else None


# -- `/preread:gates`, which only a person can submit


def submitted(event: events.Event, environ: Mapping[str, str]) -> events.Answer:
    """Switch the gates if that is what a prompt asks for; the model never sees such a prompt."""
    prompt = event.get("prompt")
    words = prompt.split() if isinstance(prompt, str) else []
    if words[:1] != [PROMPT]:
        from preread.gates import notices

        return with_report(notices.of_session(event, environ), event, environ)
    root = paths.session_root(event, environ)
    if root is None or not os.path.exists(os.path.join(root, ".project", "gates")):
        said = "there is no .project/gates here, so nothing is gated"
    else:
        said = _switched(root, words[1:])
        is_unknown(event, root)  # this session knows who did that
    return {"decision": "block", "reason": f"preread: {said}."}


def _switched(root: str, words: list[str]) -> str:
    """Do what the words say; returns what was done, or the state."""
    if words[:1] == ["off"]:
        given = [word for word in words[1:] if word != "--for"]
        seconds = seconds_of(given[0]) if given else None
        if len(given) > 1 or (given and seconds is None):
            return f"that is not a time. {HOW} Nothing was changed"
        state_files.make_folder(root, ".state")
        state_files.write_bytes(path_of(root), text(seconds, PROMPT))
    elif words == ["on"]:
        state_files.remove_file(path_of(root))
    elif words:
        return f"{USAGE}. Nothing was changed"
    switch = read(root)
    if not switch.is_off:
        return "the switch is on: .project/gates decides"
    if switch.until is None:
        return f"the gates are off until {PROMPT} on"
    return time.strftime("the gates are off until %Y-%m-%d %H:%M", time.localtime(switch.until))


# -- who wrote the file


def changed_by_command(event: events.Event, environ: Mapping[str, str]) -> events.Answer:
    """A line for the person if the file was written while a command of the model ran, or since."""
    root = paths.session_root(event, environ)
    path = path_of(root) if root is not None else ""
    # A time can be set back, but not that of the change itself.
    written = state_files.changed(path) if path else 0.0
    took = event.get("duration_ms")
    seconds = took / 1000 if isinstance(took, (int, float)) else 0.0
    if root is None or not written or written < time.time() - seconds - SLACK:
        return with_report(None, event, environ)
    is_unknown(event, root)
    command = str(events.input_of(event).get("command"))
    shown = events.shown(" ".join(command.split()), 80)
    return {"systemMessage": _report(root, f"while `{shown}` ran")}


def with_report(
    answer: events.Answer, event: events.Event, environ: Mapping[str, str]
) -> events.Answer:
    """An answer with a line for the person if the file was written and this session did not see it.

    A process in the background may have written it, or another tool, or the person elsewhere.
    """
    root = paths.session_root(event, environ)
    if root is None or not is_unknown(event, root):
        return answer
    report = _report(root, "outside of this session's prompts")
    return events.with_notes(answer or {}, [report[len("preread: ") :]])


def is_unknown(event: events.Event, root: str) -> bool:
    """Whether the file has changed since this session last saw it; afterwards it has seen it."""
    session, written = event.get("session_id"), state_files.changed(path_of(root))
    return bool(session and written) and sessions.first_time(root, session, f"switch {written}")


def _report(root: str, when: str) -> str:
    switch = read(root)
    if switch.problem:
        then = f"It {switch.problem}, and is ignored"
    else:
        then = f"If that was not you, write {PROMPT} on"
    return f"preread: {NAME} was written {when}. {then}."
