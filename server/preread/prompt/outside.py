"""Outside text, made visible and marked so that a template cannot print it as instructions."""

import hashlib
import re
from itertools import count

from preread.errors import PrereadError
from preread.infra.sandbox import CLOSE, MARK, OPEN

# Characters that a reader does not see or that reorder what they see, but that a model reads:
# control and format characters, direction marks, zero-width spaces, tags, lone surrogates.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """The text with invisible characters written out, like `<U+202E>`; lines end with `\\n`."""
    return INVISIBLE.sub(lambda match: f"<U+{ord(match[0]):04X}>", text.replace("\r\n", "\n"))


def block(text: str, limit: int) -> str:
    """Outside text of several lines, cut to `limit` characters."""
    cut = len(text) - limit
    shown = visible(text[:limit]).strip("\n")
    if cut > 0:
        shown += f"\n[cut: {cut} more characters]"
    return f"{OPEN}{shown}{CLOSE}" if shown.strip() else ""


def line(text: str, limit: int = 400) -> str:
    """Outside text on one line, cut to `limit` characters."""
    shown = plain_line(text, limit)
    return f"{OPEN}{shown}{CLOSE}" if shown else ""


def plain_line(text: str, limit: int) -> str:
    """`line` without the marks that keep it out of a template's own text."""
    shown = " ".join(visible(text[:limit]).split())
    return f"{shown} […]" if len(text) > limit else shown


def marked(text: str) -> str:
    """A rendered prompt with the final mark on its data blocks.

    The mark occurs nowhere else in the text, and the same text always gets the same one. Raises
    E_PROMPT when outside text is printed outside of all blocks.
    """
    if (start := text.find(OPEN)) >= 0 or CLOSE in text:
        printed = text[start + 1 : start + 41].partition(CLOSE)[0]
        raise PrereadError(
            "E_PROMPT",
            f"The template prints text from outside, {printed!a}, among its own instructions.",
            'Put it between {% filter data("name") %} and {% endfilter %}.',
        )
    return text.replace(MARK, mark_for(text))


def mark_for(text: str, length: int = 12) -> str:
    """Hex digits that depend on the text alone and do not occur in it."""
    searched, data = text.lower(), text.encode("utf-8", "surrogatepass")
    marks = (hashlib.sha256(b"%d\n%b" % (n, data)).hexdigest()[:length] for n in count())
    return next(mark for mark in marks if mark not in searched)
