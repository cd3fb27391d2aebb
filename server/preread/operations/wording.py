"""Rewrites the calls that Preread's texts name into the form of the face that shows the text.

Hints name a call as a command in backticks: `preread load login`. Other faces get their own form of
the call instead, without options in brackets. What only the command line can do, and commands that
a text describes as for a terminal, stay commands.
"""

import json
import re
import shlex
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic.fields import FieldInfo

from preread.operations import COMMANDS, REGISTRY
from preread.operations.registry import Operation

Face = Literal["commands", "tools", "states"]  # the last: HTTP, JSON-RPC, the Python client
OPTION = re.compile(r" \(`--[^`\n]+`\)")  # the command line's option for what a text describes
COMMAND = re.compile(r"`preread ([^`\n]+)`( in a terminal)?")
LOAD, LOAD_TOOL, TOOL = "context.load", "load_context", "context_operation"
# What is Preread's own text in a reply, and what a reply repeats or quotes.
OWN = frozenset(
    ("next", "hint", "message", "warnings", "missing", "found", "says", "notes", "left", "reasons")
)
GIVEN = frozenset(("params", "details", "options", "metadata"))
NESTED = (dict, list)


class Call(NamedTuple):
    """One call of an operation."""

    method: str
    params: dict[str, Any]


def in_words_of(face: Face, text: str) -> str:
    """A text with its calls in the form of a face."""
    if face == "commands" or "`" not in text:
        return text
    return COMMAND.sub(lambda match: _call_text(face, match), OPTION.sub("", text))


def reply_for(face: Face, data: Any) -> Any:  # noqa: ANN401 - any JSON
    """A reply's or an error's JSON data, with the calls in Preread's own texts in a face's form."""
    if face == "commands":
        return data
    if isinstance(data, list):
        return [reply_for(face, one) if isinstance(one, NESTED) else one for one in data]
    if not isinstance(data, dict):
        return data
    return {
        key: _field(face, key, value) if key in OWN or isinstance(value, NESTED) else value
        for key, value in data.items()
    }


def _field(face: Face, key: str, value: Any) -> Any:  # noqa: ANN401 - any JSON
    if key in GIVEN:
        return value
    if key not in OWN:
        return reply_for(face, value)
    if isinstance(value, list):
        return [in_words_of(face, v) if isinstance(v, str) else reply_for(face, v) for v in value]
    return in_words_of(face, value) if isinstance(value, str) else reply_for(face, value)


def _call_text(face: Face, match: re.Match[str]) -> str:
    call = None if match[2] else parsed(match[1])
    if call is None:
        return f"`preread {match[1]}` in a terminal"
    if face == "tools" and call.method == LOAD:
        return f"`{LOAD_TOOL} with {_json(call.params)}`"
    state = _json({"method": call.method, "params": call.params})
    return f"`{TOOL} with {state}`" if face == "tools" else f"`{state}`"


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False)


def parsed(line: str) -> Call | None:
    """What a command line calls, without `preread`; None if it is only for a terminal."""
    try:
        words = shlex.split(line)
        if words[:1] == ["call"]:
            return Call(words[1], json.loads(words[2]) if len(words) > 2 else {})
        size = 2 if " ".join(words[:2]) in COMMANDS else 1
        operation = REGISTRY[COMMANDS[" ".join(words[:size])]]
        params = _params(operation, words[size:])
    except (ValueError, LookupError):  # no command, or none with these options
        return None
    return None if operation.people_only else Call(operation.name, params)


def _params(operation: Operation, words: list[str]) -> dict[str, Any]:
    """The params that a command's options and positional words set. Raises LookupError."""
    fields = operation.request.model_fields
    flags = {f"--{name.strip('_').replace('_', '-')}": name for name in fields}
    places, params = list(operation.positional), dict[str, Any]()
    left = iter(words)
    for word in left:
        if word.startswith("--"):
            name = flags[word]
            value = "true" if fields[name].annotation is bool else next(left, "")
        else:
            value, name = word, places[0] if _is_many(fields[places[0]]) else places.pop(0)
        if _is_many(fields[name]):
            params.setdefault(name, []).append(value)
        else:
            params[name] = _value(fields[name], value)
    return params


def _is_many(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is tuple


def _value(field: FieldInfo, word: str) -> str | bool | int:
    if field.annotation is bool:
        return True
    return int(word) if int in (field.annotation, *get_args(field.annotation)) else word
