"""Reads outside values of unknown type: as the expected type, or as its empty value."""

import json
import re
from typing import Any

MAX_LINE = 32 << 20  # bytes
ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b.?|\x9b[0-?]*[ -/]*[@-~]"
)


def clean(value: object, width: int) -> str:
    """The text as one printable line of at most `width` characters, without terminal escapes."""
    seen = ESCAPES.sub("", text(value, 20 * width))
    if not seen.isprintable():
        seen = "".join(c if c.isprintable() else " " for c in seen)
    line = " ".join(seen.split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def json_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a line; None for anything else."""
    if len(line) > MAX_LINE:
        return None
    try:
        event = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: object, limit: int = 4000) -> str:
    """A text of bounded length that can be encoded: JSON can contain lone surrogates."""
    return value[:limit].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def content_text(content: object, limit: int = 4000) -> str:
    """The text of a message or tool result, whose content is a string or a list of blocks."""
    if isinstance(content, str):
        return text(content, limit)
    parts = (
        block if isinstance(block, str) else mapping(block).get("text") for block in items(content)
    )
    return "\n".join(filter(None, (text(part, limit) for part in parts)))[:limit]


def count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return value if 0 <= value < 10**12 else 0


def status(value: object) -> int | None:
    return count(value) or None


def number(value: object) -> float | None:
    """A finite number that is not negative."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
        return float(value)
    return None


def tail(path: str, width: int) -> str:
    """The last `width` characters of a path: its end says more than its beginning."""
    return path if len(path) <= width else "…" + path[1 - width :]
