"""Comments, from a grammar or, without one, split from the code line by line."""

from typing import TYPE_CHECKING

from preread.languages import Language
from preread.syntax.grammars import Source, first_line, last_line
from preread.syntax.model import Comment
from preread.syntax.places import Places
from preread.syntax.text import comment_text

if TYPE_CHECKING:
    from tree_sitter import Node


def joined_comments(source: Source, places: Places, nodes: list["Node"]) -> tuple[Comment, ...]:
    """The comments; consecutive line comments in the same column are joined."""
    runs: list[list[Node]] = []
    for node in nodes:
        if runs and _follows(source, runs[-1][-1], node):
            runs[-1].append(node)
        else:
            runs.append([node])
    found = []
    for run in runs:
        line = first_line(run[0])
        text = "\n".join(comment_text(source.text(node)) for node in run)
        found.append(Comment(text, line, last_line(run[-1]), places.within(line)))
    return tuple(found)


def _follows(source: Source, before: "Node", node: "Node") -> bool:
    (row, column), (next_row, next_column) = before.start_point, node.start_point
    together = row + 1 == next_row and column == next_column
    return together and _is_line_alone(source, before) and _is_line_alone(source, node)


def _is_line_alone(source: Source, node: "Node") -> bool:
    """Whether this is a line comment on a line of its own."""
    start = source.data.rfind(b"\n", 0, node.start_byte) + 1
    alone = not source.data[start : node.start_byte].strip()
    return alone and not source.data.startswith(b"/*", node.start_byte)


def split_comments(language: Language, lines: list[str]) -> tuple[list[str], list[Comment]]:
    """The lines without comments, and the comments. Strings are recognized only within one
    line.
    """
    splitter = _Splitter(language)
    code = [splitter.line(number, line) for number, line in enumerate(lines, 1)]
    splitter.finish(len(lines))
    return code, splitter.comments


class _Splitter:
    def __init__(self, language: Language) -> None:
        self.comments: list[Comment] = []
        self._line_comment = language.line_comment
        self._opener, self._closer = language.block_comment or ("", "")
        self._block: list[str] | None = None  # lines of the open block comment
        self._block_start = 0
        self._run: list[tuple[int, str]] = []  # consecutive line comments

    def line(self, number: int, line: str) -> str:
        """One line without its comments."""
        if number == 1 and line.startswith("#!"):
            return ""
        kept, rest = "", self._after_block(number, line)
        while rest is not None:
            position, marker = self._comment_start(rest, first=not kept)
            if position < 0:
                kept += rest
                break
            kept += rest[:position]
            if marker != self._opener:
                self._add_line_comment(number, rest[position:], alone=not kept.strip())
                break
            self._block, self._block_start = [marker], number
            rest = self._after_block(number, rest[position + len(marker) :])
        if self._run and self._run[-1][0] != number:
            self._flush()
        return kept

    def _after_block(self, number: int, rest: str) -> str | None:
        """What follows the open block comment, if there is one; None if it goes on."""
        if self._block is None:
            return rest
        text, closer, after = rest.partition(self._closer)
        self._block.append(text + closer)
        if not closer:
            return None
        self._close_block(number)
        return after

    def finish(self, last: int) -> None:
        """Close an open comment at the end of the file."""
        self._flush()
        if self._block is not None:
            self._close_block(last)

    def _comment_start(self, rest: str, first: bool) -> tuple[int, str]:
        if self._opener == "=begin":  # Ruby's block comments are whole lines
            if first and rest.startswith(self._opener):
                return 0, self._opener
            return comment_start(rest, (self._line_comment,))
        return comment_start(rest, (self._line_comment, self._opener))

    def _add_line_comment(self, number: int, text: str, alone: bool) -> None:
        if not alone:
            self._flush()
        self._run.append((number, text))
        if not alone:
            self._flush()

    def _flush(self) -> None:
        if self._run:
            text = "\n".join(comment_text(part) for _, part in self._run)
            self.comments.append(Comment(text, self._run[0][0], self._run[-1][0], ""))
            self._run = []

    def _close_block(self, number: int) -> None:
        self._flush()
        text = comment_text("\n".join(self._block or ()))
        self.comments.append(Comment(text, self._block_start, number, ""))
        self._block = None


def comment_start(line: str, markers: tuple[str, ...]) -> tuple[int, str]:
    """The position and marker of the first comment outside strings; (-1, "") if none."""
    present = [marker for marker in markers if marker and marker in line]
    quote = ""
    at = 0
    while present and at < len(line):
        char = line[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "\"'`":
            quote = char if char in line[at + 1 :] else ""  # a lone apostrophe opens no string
        elif marker := next((one for one in present if _opens_comment(line, at, one)), ""):
            return at, marker
        at += 1
    return -1, ""


def _opens_comment(line: str, at: int, marker: str) -> bool:
    """Whether the marker of a comment is there; not in `$#` and `http://`."""
    before = line[at - 1] if at else " "
    if marker == "#" and not before.isspace():
        return False
    return line.startswith(marker, at) and not (marker == "//" and before == ":")
