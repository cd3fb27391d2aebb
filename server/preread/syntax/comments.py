"""Comments told from code line by line, for languages without a grammar."""

from preread.languages import Language
from preread.syntax.model import Comment
from preread.syntax.text import comment_text


def split_comments(language: Language, lines: list[str]) -> tuple[list[str], list[Comment]]:
    """The lines with comments blanked out, and the comments; strings are told apart within a line only."""
    code: list[str] = []
    comments: list[Comment] = []
    run: list[tuple[int, str]] = []
    block: list[str] | None = None
    block_start = 0
    opener, closer = language.block_comment or ("", "")
    at_line_start = opener == "=begin"

    def flush() -> None:
        if run:
            text = "\n".join(comment_text(part) for _, part in run)
            comments.append(Comment(text, run[0][0], run[-1][0], ""))
            run.clear()

    for number, line in enumerate(lines, 1):
        rest = line
        kept = ""
        while True:
            if block is not None:
                end = rest.find(closer)
                if end < 0:
                    block.append(rest)
                    break
                block.append(rest[: end + len(closer)])
                comments.append(Comment(comment_text("\n".join(block)), block_start, number, ""))
                rest, block = rest[end + len(closer) :], None
            position, marker = _comment_start(rest, language.line_comment, "" if at_line_start else opener)
            if at_line_start and rest.startswith(opener) and not kept:
                position, marker = 0, opener
            if position < 0:
                kept += rest
                break
            kept += rest[:position]
            if marker == opener and marker:
                flush()
                block, block_start, rest = [marker], number, rest[position + len(marker) :]
                continue
            if kept.strip() or (run and run[-1][0] != number - 1):
                flush()
            run.append((number, rest[position:]))
            if kept.strip():
                flush()
            break
        if run and run[-1][0] != number:
            flush()
        code.append(kept)
    flush()
    if block is not None:
        comments.append(Comment(comment_text("\n".join(block)), block_start, len(lines), ""))
    return code, comments


def _comment_start(line: str, line_comment: str, opener: str) -> tuple[int, str]:
    """Where a comment starts outside of strings, and its marker; (-1, "") for none."""
    markers = [marker for marker in (line_comment, opener) if marker and marker in line]
    if not markers:
        return -1, ""
    quote = ""
    at = 0
    while at < len(line):
        char = line[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "\"'`":
            quote = char if char in line[at + 1 :] else ""  # an apostrophe opens nothing
        else:
            for marker in markers:
                if line.startswith(marker, at) and not (marker == "#" and at and not line[at - 1].isspace()):
                    if not (marker == "//" and at and line[at - 1] == ":"):
                        return at, marker
        at += 1
    return -1, ""
