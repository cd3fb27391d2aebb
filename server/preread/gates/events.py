"""What comes in (one JSON event) and what goes out (one JSON answer, or nothing)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    Event = Dict[str, Any]
    Answer = Optional[Dict[str, Any]]  # None: nothing is printed, and the call proceeds

MAX_NOTE = 300
NOT_BLOCKED = "; nothing was blocked"


class InvalidEvent(Exception):  # noqa: N818 - the name that docs/gates-reference.md uses
    """An event that cannot be decided; its text says why."""


class _Decoder:
    """The attributes that the C scanner reads from a decoder: the defaults of `json.loads`."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> float:
        raise ValueError(name + " is not JSON")


def parse(text: str) -> Any:  # noqa: ANN401
    """`json.loads`, but without importing `json`, which is slow, unless the C scanner gives up."""
    try:
        from _json import make_scanner  # type: ignore[import-not-found,unused-ignore]

        text = text.strip(" \t\n\r")
        value, end = make_scanner(_Decoder)(text, 0)  # type: ignore[arg-type]
        if end == len(text):
            return value
    except Exception:  # noqa: S110 - without `json` the scanner raises even SystemError
        pass
    import json

    return json.loads(text, parse_constant=_Decoder.parse_constant)


def read(data: bytes) -> Event:
    """The event in `data`, without NUL bytes, which bash cannot pass on. Raises InvalidEvent."""
    try:
        event = parse(data.replace(b"\0", b"").decode("utf-8"))
    except RecursionError:
        raise InvalidEvent("the event is nested too deeply") from None
    except ValueError:
        raise InvalidEvent("the event is not valid JSON") from None
    if not isinstance(event, dict):
        raise InvalidEvent("the event is not a JSON object")
    return event


def text_of(fields: Event, key: str) -> str:
    """A required, non-empty text. Raises InvalidEvent."""
    value = fields.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidEvent("the event has no " + key)
    return value


def input_of(event: Event) -> Event:
    """The tool's input. Raises InvalidEvent."""
    value = event.get("tool_input")
    if not isinstance(value, dict):
        raise InvalidEvent("the event has no tool_input")
    return value


def shown(text: str, size: int = 200) -> str:
    """A name or path as a message shows it: printable, on one line, at most `size` characters."""
    return "".join([char if char.isprintable() else "?" for char in text[:size]])


def remark(text: str, hook: str = "PreToolUse") -> Answer:
    """Text for the model; the call proceeds, under the person's own permissions."""
    return {"hookSpecificOutput": {"hookEventName": hook, "additionalContext": text}}


def block(text: str, person: str) -> Answer:
    """Denies the call: `text` says what the model should do, `person` how to switch it off."""
    denial = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": text,
    }
    return {"systemMessage": person, "hookSpecificOutput": denial}


def is_block(answer: Answer) -> bool:
    return bool(answer and answer.get("hookSpecificOutput", {}).get("permissionDecision") == "deny")


def failure(why: str) -> Answer:
    """A failure of the gate itself: one line for the person; the call proceeds."""
    room = MAX_NOTE - len("preread: ") - len(NOT_BLOCKED)
    return {"systemMessage": "preread: " + shown(why, room) + NOT_BLOCKED}


def with_notes(answer: Answer, notes: list[str]) -> Answer:
    """An answer with notes for the person added, on what is wrong with the gates' set-up."""
    if answer is None or not notes:
        return answer
    lines = ["preread: " + shown(note, MAX_NOTE) for note in notes]
    if "systemMessage" in answer:
        lines.append(answer["systemMessage"])
    rest = {key: answer[key] for key in answer if key != "systemMessage"}
    return {"systemMessage": "\n".join(lines), **rest}


def encode(answer: Answer) -> str:
    """An answer as one line of ASCII JSON; empty for None."""
    if answer is None:
        return ""
    try:
        from _json import (  # type: ignore[import-not-found,unused-ignore]
            encode_basestring_ascii as quote,
        )
    except ImportError:
        import json

        return json.dumps(answer)
    return _encode(answer, quote)


def _encode(value: Any, quote: Any) -> str:  # noqa: ANN401
    if isinstance(value, str):
        return str(quote(value))
    if not isinstance(value, dict):
        import json

        return json.dumps(value)
    fields = [quote(key) + ": " + _encode(inner, quote) for key, inner in value.items()]
    return "{" + ", ".join(fields) + "}"
