"""Values from outside whose types nobody promises: each is read as what it should be, or as an empty one."""

import json
import re
from typing import Any

LONGEST_LINE = 32 << 20  # bytes
ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b.?|\x9b[0-?]*[ -/]*[@-~]"
)


def clean(value: object, width: int) -> str:
    """A text as one printable line of at most `width` characters, without terminal escapes."""
    seen = ESCAPES.sub("", text(value, 20 * width))
    if not seen.isprintable():
        seen = "".join(c if c.isprintable() else " " for c in seen)
    line = " ".join(seen.split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def record(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line; None for anything else."""
    if len(line) > LONGEST_LINE:
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


def text(value: object, most: int = 4000) -> str:
    """A bounded text that can be encoded: JSON can spell surrogates that are no characters."""
    return value[:most].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def words(content: object, most: int = 4000) -> str:
    """The text of a message's or a tool result's content: a text, or a list of texts or of blocks."""
    if isinstance(content, str):
        return text(content, most)
    parts = (
        block if isinstance(block, str) else mapping(block).get("text") for block in items(content)
    )
    return "\n".join(filter(None, (text(part, most) for part in parts)))[:most]


def count(value: object) -> int:
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12
        else 0
    )


def status(value: object) -> int | None:
    return count(value) or None


def number(value: object) -> float | None:
    """A finite number from 0 on."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
        return float(value)
    return None


def tail(path: str, width: int) -> str:
    """The end of a path says more than its beginning."""
    return path if len(path) <= width else "…" + path[1 - width :]
