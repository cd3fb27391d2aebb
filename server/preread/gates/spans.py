"""The lines that sources cite: how they are written, read and digested."""

from __future__ import annotations

import re

MAX_BYTES = 1_000_000  # a larger file is data, not something that a person reads
MAX_CITED = 10_000_000  # bytes of a file whose lines a source names
# `path:12`, `path:12-20`; the path in angle brackets when it has a comma, a colon or white space.
LINES = re.compile(r"(?:<([^<>]+)>|([^<>,:`]*[^<>,:`\s])):([1-9][0-9]{0,6})(?:-([1-9][0-9]{0,6}))?")
DIGEST_LENGTH = 16  # hex digits
# Lines within a text, perhaps with a path. (A possessive `*+` would need Python 3.11.)
PLACE = re.compile(r"(?:<[^<>]+>|[^\s`,:<>()]*):\d+(?:-\d+)?")


def decoded(data: bytes | None) -> str | None:
    """The text of a file's bytes; None for binary data."""
    if data is None or b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def lines_of(text: str) -> list[str]:
    """The lines of a text: they end at LF only, and CR before it is not part of a line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return without_carriage_returns(lines) if "\r" in text else lines


def without_carriage_returns(lines: list[str]) -> list[str]:
    return [line[:-1] if line.endswith("\r") else line for line in lines]


def digest(lines: list[str] | tuple[str, ...]) -> str:
    """The SHA-256 of lines joined by LF, shortened to DIGEST_LENGTH hex digits."""
    import hashlib

    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:DIGEST_LENGTH]


def without_places(text: str) -> str:
    """A text without the lines that it names, and without their paths."""
    return PLACE.sub(":", text)


def is_relative(path: str) -> bool:
    """Whether a path can be one inside the project: not absolute, not climbing out, no drive."""
    return bool(path) and not (
        "\0" in path
        or "\\" in path
        or path.startswith("/")
        or ".." in path.split("/")
        or re.match(r"[A-Za-z]:", path)
    )
