"""Whether lines are inside a comment or string that begins before them: text, and not code."""

from typing import TYPE_CHECKING

from preread.languages import Language
from preread.syntax.grammars import parse

if TYPE_CHECKING:
    from tree_sitter import Node

_QUOTES = ('"""', "'''", "`")  # of strings of several lines, in any language
_TYPES = ("comment", "string", "heredoc")  # parts of the names of such nodes in every grammar


def may_be_inside(language: Language, before: str) -> bool:
    """Whether the text before some lines may have opened a comment or string. It parses nothing:
    most lines are not inside one.
    """
    if any(before.count(quote) % 2 for quote in _QUOTES):
        return True
    opener, closer = language.block_comment or ("", "")
    if not opener or opener not in before:
        return False
    # Strings such as globs may have such marks, and comments may be nested.
    is_last = before.rindex(opener) > before.rfind(closer)
    return is_last or before.count(opener) > before.count(closer)


def is_inside(language: Language, text: str, start: int, end: int) -> bool:
    """Whether a grammar says so of lines; 1-based and inclusive, each with its whole text."""
    source = parse("", text, language)
    rows = text.split("\n")
    filled = [row for row in range(start - 1, min(end, len(rows))) if rows[row].strip()]
    if source is None or not filled:
        return False
    first, last = filled[0], filled[-1]
    node: Node | None = source.root.descendant_for_point_range(
        (first, _bytes(rows[first], len(rows[first]) - len(rows[first].lstrip()))),
        (last, _bytes(rows[last], len(rows[last].rstrip()))),
    )
    while node is not None:
        if node.start_point[0] < first and any(word in node.type for word in _TYPES):
            return True
        node = node.parent
    return False


def _bytes(line: str, characters: int) -> int:
    return len(line[:characters].encode("utf-8", "replace"))
