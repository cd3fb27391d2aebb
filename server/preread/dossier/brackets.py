"""The round brackets of a fact: the last ones contain its sources, all others are text."""

import re

from preread.dossier import sources

# Round brackets in these do not delimit sources: paths in angle brackets, the text of an absence.
OPAQUE = re.compile(r'<[^<>]+>(?=:[1-9:]|#p|[,)]|$)|~"[^"]*"(?=[,)]|$)')
SHORT = re.compile(r":([1-9]\d{0,6})(?:-([1-9]\d{0,6}))?")  # lines of the section's source
ALMOST = re.compile(r"[\w)\]]:\d")  # part of a path with a line
MAX_SHOWN = 120  # characters of a bracket in a message


def without_lines(bullet: str) -> str:
    """The bullet without brackets at its end that only name lines, like `(:12, :20-30)`."""
    text, parts = split_sources(bullet)
    return text if text and parts and all(map(SHORT.fullmatch, parts)) else bullet


def split_sources(bullet: str) -> tuple[str, list[str]]:
    """Split a bullet into its text and the parts of the balanced round brackets it ends with.

    There are no parts when it does not end with brackets.
    """
    if not bullet.endswith(")"):
        return bullet, []
    shape = OPAQUE.sub(lambda match: "x" * len(match[0]), bullet)
    depth = 0
    for i in range(len(shape) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(shape[i], 0)
        if depth == 0:
            return bullet[:i].rstrip(), _split(bullet[i + 1 : -1], shape[i + 1 : -1])
    return bullet, []


def _split(inner: str, shape: str) -> list[str]:
    """Split `inner` at each `, ` outside brackets; `shape` is the same text with OPAQUE masked."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(shape):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth == 0 and char == "," and shape.startswith(", ", i):
            parts.append(inner[start:i])
            start = i + 2
    return [*parts, inner[start:]]


def full_stop(line: str) -> str:
    """The full stop after the sources that a line ends with; else empty."""
    is_after = line.endswith(").") and are_sources(split_sources(line[:-1])[1])
    return "." if is_after else ""


def are_sources(parts: list[str]) -> bool:
    """Whether all parts of some brackets are sources."""
    return bool(parts) and all(map(_is_source, parts))


def _is_source(part: str) -> bool:
    return bool(SHORT.fullmatch(part)) or sources.parse(part) is not None


def why_unread(bullet: str) -> str:
    """Why a bullet's brackets are not read as sources, as the end of a message; else empty."""
    _, parts = split_sources(bullet)
    odd = next((part for part in parts if not _is_source(part)), "")
    if odd and (ALMOST.search(odd) or any(map(_is_source, parts))):
        return f"; its last brackets are text, because `{odd[:MAX_SHOWN]}` is not one source"
    bare = next((part for part in parts if SHORT.fullmatch(part)), "")
    if bare and not odd:
        return f"; `{bare}` names no file here: repeat the name, as in `a.py{bare}`"
    return why_not_last(bullet)


def why_not_last(bullet: str) -> str:
    """A hint on sources in mid-sentence, as the end of a message; empty if there are none."""
    text, _ = split_sources(bullet)
    shape = OPAQUE.sub(lambda match: "x" * len(match[0]), text)
    for match in re.finditer(r"\(([^()]+)\)", shape):
        if are_sources(_split(text[match.start(1) : match.end(1)], match[1])):
            shown = text[match.start() : match.end()][:MAX_SHOWN]
            return f"; `{shown}` is not read as a source in mid-sentence: move it to the end"
    return ""
