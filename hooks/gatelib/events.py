"""What comes in (one JSON event) and what goes out (one JSON answer, or nothing)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    Event = Dict[str, Any]
    Answer = Optional[Dict[str, Any]]  # None: nothing is printed, and the call goes on

LONGEST_NOTE = 300
LET_THROUGH = "; this call was let through"


class Odd(Exception):  # noqa: N818 - the word of docs/gates.md
    """An event that cannot be judged; its text says why."""


class _Plain:
    """What the C scanner asks of a decoder: the defaults of `json.loads`."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> float:
        raise ValueError(name + " is no JSON")


def parse(text: str) -> Any:  # noqa: ANN401
    """`json.loads` by its C scanner alone, for `json` is slow to import; in any doubt it decides."""
    try:
        from _json import make_scanner  # type: ignore[import-not-found,unused-ignore]

        text = text.strip(" \t\n\r")
        value, end = make_scanner(_Plain)(text, 0)  # type: ignore[arg-type]
        if end == len(text):
            return value
    except Exception:  # noqa: S110 - a scanner without `json` raises even SystemError for invalid text
        pass
    import json

    return json.loads(text, parse_constant=_Plain.parse_constant)


def read(data: bytes) -> Event:
    """The event in `data`. NUL bytes count as not there, for bash cannot hand them on. Raises Odd."""
    try:
        event = parse(data.replace(b"\0", b"").decode("utf-8"))
    except RecursionError:
        raise Odd("the event is nested too deeply") from None
    except ValueError:
        raise Odd("the event is not valid JSON") from None
    if not isinstance(event, dict):
        raise Odd("the event is no JSON object")
    return event


def text_of(fields: Event, key: str) -> str:
    """A text that has to be there. Raises Odd."""
    value = fields.get(key)
    if not isinstance(value, str) or not value:
        raise Odd("the event has no " + key)
    return value


def input_of(event: Event) -> Event:
    """The tool's input. Raises Odd."""
    value = event.get("tool_input")
    if not isinstance(value, dict):
        raise Odd("the event has no tool_input")
    return value


def shown(text: str, longest: int = 200) -> str:
    """A name or path as it stands in a text: printable, on one line, of bounded length."""
    return "".join([char if char.isprintable() else "?" for char in text[:longest]])


def remark(text: str, hook: str = "PreToolUse") -> Answer:
    """Text for the model; the call goes on, under the person's own permissions."""
    return {"hookSpecificOutput": {"hookEventName": hook, "additionalContext": text}}


def block(text: str, person: str) -> Answer:
    """The call is denied: `text` tells the model what to do, `person` tells the person how to switch it off."""
    denial = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": text,
    }
    return {"systemMessage": person, "hookSpecificOutput": denial}


def note(line: str) -> Answer:
    """A failure of the gate itself: one line for the person."""
    line = (
        "preread: " + shown(line, LONGEST_NOTE - len("preread: ") - len(LET_THROUGH)) + LET_THROUGH
    )
    return {"systemMessage": line}


def with_notes(answer: Answer, lines: list[str]) -> Answer:
    """The answer with what is wrong beside it, for the person."""
    if answer is None or not lines:
        return answer
    said = ["preread: " + shown(line, LONGEST_NOTE) for line in lines]
    if "systemMessage" in answer:
        said.append(answer["systemMessage"])
    return {
        "systemMessage": " ".join(said),
        **{key: answer[key] for key in answer if key != "systemMessage"},
    }


def encode(answer: Answer) -> str:
    """An answer as one line of ASCII JSON; nothing for None."""
    if answer is None:
        return ""
    try:
        from _json import encode_basestring_ascii as quote  # type: ignore[import-not-found,unused-ignore]
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
    return (
        "{"
        + ", ".join([quote(key) + ": " + _encode(inner, quote) for key, inner in value.items()])
        + "}"
    )
