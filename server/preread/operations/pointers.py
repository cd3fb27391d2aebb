"""JSON Pointers (RFC 6901) in a call's params, replaced by what they point to in a result."""

import re
from typing import Any

from preread.errors import PrereadError

REF = "$ref"  # {"$ref": "#/facts/0/id"}, as in JSON Schema
INDEX = re.compile(r"0|[1-9]\d{0,8}")


def resolved(value: Any, result: Any) -> Any:  # noqa: ANN401 - any JSON
    """`value` with each `{"$ref": "#/…"}` replaced. Raises E_USAGE for one that leads nowhere."""
    if isinstance(value, dict):
        if set(value) == {REF} and isinstance(value[REF], str):
            return target(result, value[REF])
        return {key: resolved(inner, result) for key, inner in value.items()}
    if isinstance(value, list):
        return [resolved(inner, result) for inner in value]
    return value


def passed_on(own: dict[str, Any], result: dict[str, Any], fields: set[str]) -> dict[str, Any]:
    """The params of a call that follows `result`: its own, with their pointers replaced.

    If all keys of the result are among the call's `fields`, the whole result is passed on as well.
    """
    params: dict[str, Any] = resolved(own, result)
    return result | params if set(result) <= fields else params


def target(result: Any, pointer: str) -> Any:  # noqa: ANN401 - any JSON
    """What a pointer like `#/facts/0/id` points to. Raises E_USAGE."""
    if pointer == "#":
        return result
    if not pointer.startswith("#/"):
        raise _missing(pointer, "it does not start with `#/`")
    value = result
    for part in pointer[2:].split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            raise _missing(pointer, f"the result has no `{ascii(name[:40])[1:-1]}` there")
    return value


def _missing(pointer: str, why: str) -> PrereadError:
    return PrereadError(
        "E_USAGE",
        f"The pointer `{ascii(pointer[:80])[1:-1]}` leads nowhere: {why}.",
        "Point into the `result` of the call before, like `#/facts/0/id`.",
    )
