"""A pattern against a path, without regular expressions: no import to pay for, and no way to run away."""

from __future__ import annotations

# The wildcards of a pattern in the order in which they are tried at one place.
WILDCARDS = ("**/", "**", "*", "?", "{feature}")


def parts(pattern: str) -> list[str]:
    """A pattern cut into wildcards and the literal texts between them; a literal text begins with `=`."""
    found: list[str] = []
    start = at = 0
    while at < len(pattern):
        wildcard = next((word for word in WILDCARDS if pattern.startswith(word, at)), "")
        if wildcard == "**/" and at and pattern[at - 1] != "/":
            wildcard = "**"
        if wildcard:
            found += ["=" + pattern[start:at], wildcard] if start < at else [wildcard]
            start = at + len(wildcard)
        at += len(wildcard) or 1
    return [*found, "=" + pattern[start:]] if start < at else found


def match(pattern: list[str], text: str) -> str | None:
    """What {feature} captures, "" without one, None without a match.

    Wildcards take as much as they can from left to right, {feature} as little.
    """
    table = _reachable(pattern, text)
    if not table[0][0]:
        return None
    if pattern.count("{feature}") > 1:
        return _same_twice(pattern, text, table)
    at, captured = 0, ""
    for place, part in enumerate(pattern):
        end = next(end for end in _ends(part, text, at) if table[place + 1][end])
        if part == "{feature}":
            captured = text[at:end]
        at = end
    return captured


def _reachable(pattern: list[str], text: str) -> list[bytearray]:
    """For each part and each position: whether the parts from there on can match the rest of the text."""
    size = len(text)
    after = bytearray(size + 1)
    after[size] = 1
    table = [after]
    for part in reversed(pattern):
        here = bytearray(size + 1)
        if part == "*" or part == "{feature}":
            free = 0
            for at in range(size, -1, -1):
                if at < size and text[at] == "/":
                    free = 0
                if part == "*":
                    free = here[at] = free or after[at]
                else:
                    here[at] = free if at < size and text[at] != "/" else 0
                    free = free or after[at]
        elif part == "**":
            last = after.rfind(1)
            here[: last + 1] = b"\1" * (last + 1)
        elif part == "**/":
            folder = 0
            for at in range(size, -1, -1):
                folder = folder or (at < size and text[at] == "/" and after[at + 1])
                here[at] = 1 if folder or after[at] else 0
        elif part == "?":
            for at in range(size):
                here[at] = after[at + 1] if text[at] != "/" else 0
        else:
            literal = part[1:]
            at = text.find(literal)
            while at >= 0:
                here[at] = after[at + len(literal)]
                at = text.find(literal, at + 1)
        table.append(here)
        after = here
    table.reverse()
    return table


def _ends(part: str, text: str, at: int) -> list[int] | range:
    """The positions at which a part that begins at `at` can end, the preferred first."""
    if part == "**":
        return range(len(text), at - 1, -1)
    if part == "**/":
        return [end + 1 for end in range(len(text) - 1, at - 1, -1) if text[end] == "/"] + [at]
    slash = text.find("/", at)
    stop = len(text) if slash < 0 else slash
    if part == "*":
        return range(stop, at - 1, -1)
    if part == "{feature}":
        return range(at + 1, stop + 1)
    return [at + (1 if part == "?" else len(part) - 1)]


def _same_twice(pattern: list[str], text: str, table: list[bytearray]) -> str | None:
    """A pattern with {feature} twice: each text that the first can be is tried in the place of the others."""
    first = pattern.index("{feature}")
    starts = [0]
    for place in range(first):
        reached = [
            end for at in starts for end in _ends(pattern[place], text, at) if table[place + 1][end]
        ]
        starts = list(dict.fromkeys(reached))
    for at in starts:
        for end in _ends("{feature}", text, at):
            name = text[at:end]
            rest = ["=" + name if part == "{feature}" else part for part in pattern[first + 1 :]]
            if table[first + 1][end] and _reachable(rest, text[end:])[0][0]:
                return name
    return None
