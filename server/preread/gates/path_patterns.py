"""Matches a pattern of the gates file against a path.

Without regular expressions: nothing to import, and no pattern that takes forever.
"""

from __future__ import annotations

FEATURE = "{feature}"
WILDCARDS = ("**/", "**", "*", "?", FEATURE)  # in the order in which they are tried
LITERAL = "="  # a part of a pattern that begins with it is literal text


def parts(pattern: str) -> list[str]:
    """A pattern cut into wildcards and literal texts."""
    found: list[str] = []
    start = at = 0
    while at < len(pattern):
        wildcard = next((word for word in WILDCARDS if pattern.startswith(word, at)), "")
        if wildcard == "**/" and at and pattern[at - 1] != "/":
            wildcard = "**"
        if wildcard:
            found += [LITERAL + pattern[start:at], wildcard] if start < at else [wildcard]
            start = at + len(wildcard)
        at += len(wildcard) or 1
    return [*found, LITERAL + pattern[start:]] if start < at else found


def match(pattern: list[str], text: str) -> str | None:
    """What {feature} captures, "" without one, None when the pattern does not match.

    Wildcards take as much as they can from left to right, {feature} as little.
    """
    table = _reachable(pattern, text)
    if not table[0][0]:
        return None
    if pattern.count(FEATURE) > 1:
        return _same_twice(pattern, text, table)
    at, captured = 0, ""
    for index, part in enumerate(pattern):
        end = next(end for end in _ends(part, text, at) if table[index + 1][end])
        if part == FEATURE:
            captured = text[at:end]
        at = end
    return captured


def _reachable(pattern: list[str], text: str) -> list[bytearray]:
    """For each part and position, whether the parts from there on match the rest of the text."""
    after = bytearray(len(text) + 1)
    after[-1] = 1
    table = [after]
    for part in reversed(pattern):
        step = _STEPS.get(part)
        after = _literal(part[len(LITERAL) :], text, after) if step is None else step(text, after)
        table.append(after)
    table.reverse()
    return table


# One step back in the table: where a part can begin, given where the next part can.


def _literal(literal: str, text: str, after: bytearray) -> bytearray:
    here = bytearray(len(after))
    at = text.find(literal)
    while at >= 0:
        here[at] = after[at + len(literal)]
        at = text.find(literal, at + 1)
    return here


def _star(text: str, after: bytearray) -> bytearray:
    here = bytearray(after)
    for at in range(len(text) - 1, -1, -1):
        if text[at] != "/":
            here[at] = here[at] or here[at + 1]
    return here


def _feature(text: str, after: bytearray) -> bytearray:
    star = _star(text, after)
    here = bytearray(len(after))
    for at, char in enumerate(text):
        here[at] = star[at + 1] if char != "/" else 0
    return here


def _question_mark(text: str, after: bytearray) -> bytearray:
    here = bytearray(len(after))
    for at, char in enumerate(text):
        here[at] = after[at + 1] if char != "/" else 0
    return here


def _anything(text: str, after: bytearray) -> bytearray:
    last = after.rfind(1)
    return bytearray(b"\1" * (last + 1) + b"\0" * (len(text) - last))


def _folders(text: str, after: bytearray) -> bytearray:
    here = bytearray(after)
    found = 0
    for at in range(len(text) - 1, -1, -1):
        found = found or (text[at] == "/" and after[at + 1])
        here[at] = 1 if found or after[at] else 0
    return here


_STEPS = {
    "*": _star,
    "?": _question_mark,
    "**": _anything,
    "**/": _folders,
    FEATURE: _feature,
}


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
    if part == FEATURE:
        return range(at + 1, stop + 1)
    return [at + (1 if part == "?" else len(part) - len(LITERAL))]


def _same_twice(pattern: list[str], text: str, table: list[bytearray]) -> str | None:
    """A pattern with {feature} more than once: each text for the first is tried for the others."""
    first = pattern.index(FEATURE)
    starts = [0]
    for index in range(first):
        reached = [
            end for at in starts for end in _ends(pattern[index], text, at) if table[index + 1][end]
        ]
        starts = list(dict.fromkeys(reached))
    for at in starts:
        for end in _ends(FEATURE, text, at):
            name = text[at:end]
            rest = [LITERAL + name if part == FEATURE else part for part in pattern[first + 1 :]]
            if table[first + 1][end] and _reachable(rest, text[end:])[0][0]:
                return name
    return None
