"""Text from outside: made harmless to look at, marked so that a template cannot print it where orders stand."""

import hashlib
import re
from itertools import count

from preread.errors import PrereadError
from preread.infra.sandbox import CLOSE, MARK, OPEN

# What a reader does not see, or sees in another order than it stands: controls, formats, marks of direction, blanks
# of no width, tags, lone surrogates. A model reads them all the same.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """The text with what cannot be seen in it written out, like `<U+202E>`; lines end at `\\n`."""
    return UNSEEN.sub(lambda match: f"<U+{ord(match[0]):04X}>", text.replace("\r\n", "\n"))


def block(text: str, most: int) -> str:
    """Outside text of many lines, at most so many characters of it."""
    cut = len(text) - most
    shown = visible(text[:most]).strip("\n")
    if cut > 0:
        shown += f"\n[cut: {cut} more characters]"
    return f"{OPEN}{shown}{CLOSE}" if shown.strip() else ""


def line(text: str, most: int = 400) -> str:
    """Outside text on one line."""
    shown = plain_line(text, most)
    return f"{OPEN}{shown}{CLOSE}" if shown else ""


def plain_line(text: str, most: int) -> str:
    """`line` without the marks that keep it out of a template's own text."""
    shown = " ".join(visible(text[:most]).split())
    return f"{shown} […]" if len(text) > most else shown


def fenced(text: str) -> str:
    """A rendered prompt with the mark of its blocks chosen: the same text gives the same, which stands nowhere in it.

    Raises E_PROMPT when outside text stands outside of every block.
    """
    if (start := text.find(OPEN)) >= 0 or CLOSE in text:
        printed = text[start + 1 : start + 41].partition(CLOSE)[0]
        raise PrereadError(
            "E_PROMPT",
            f"The template prints text from outside, {printed!a}, where orders stand.",
            'Put it between {% filter data("name") %} and {% endfilter %}.',
        )
    return text.replace(MARK, mark_for(text))


def mark_for(text: str, length: int = 12) -> str:
    """Hex digits that depend on the text alone and stand nowhere in it."""
    searched, data = text.lower(), text.encode("utf-8", "surrogatepass")
    marks = (hashlib.sha256(b"%d\n%b" % (n, data)).hexdigest()[:length] for n in count())
    return next(mark for mark in marks if mark not in searched)
