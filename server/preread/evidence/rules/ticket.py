"""What the ticket asks for: its title and its listed items, word for word."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from preread.evidence import quoting
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View

MAX_ITEMS = 20
MAX_ITEM = 300  # characters; a longer one is a paragraph, which is read in the ticket itself
HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*$|\*\*(.+?)\*\*:?$")
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s*)?(.+)|\s*((?:Given|When|Then|And)\s.+)")


class _Item(NamedTuple):
    heading: str
    text: str


def find(view: View) -> Iterator[Found]:
    """The title, then each item, labelled with its heading; for thin features, too."""
    source = f"ticket:{view.request.ticket}"
    lines = view.ticket.split("\n") if view.ticket else []
    title = next((line.lstrip("# ").strip() for line in lines if line.startswith("# ")), "")
    if quoted := quoting.whole(title, MAX_ITEM):
        yield Found(quoted, (source,), 1.0)
    heading = ""
    for number, item in enumerate(islice(_items(lines), MAX_ITEMS)):
        label = f"{item.heading}: " if item.heading and item.heading != heading else ""
        heading = item.heading
        yield Found(f"{label}{item.text}", (source,), 0.95 - 0.03 * number)


def _items(lines: list[str]) -> Iterator[_Item]:
    """Each listed item with its heading; indented lines below it belong to it."""
    heading, text = "", ""
    for line in (*lines, ""):
        found = ITEM.match(line)
        if text and (found or not line.startswith("  ") or not line.strip()):
            if quoted := quoting.whole(text, MAX_ITEM):
                yield _Item(heading, quoted)
            text = ""
        if found:
            text = " ".join((found[1] or found[2]).split())
        elif text:
            text = f"{text} {' '.join(line.split())}"
        elif match := HEADING.match(line.strip()):
            heading = (match[1] or match[2]).strip(" :`")


RULE = Rule(
    name="ticket",
    file="requirements.md",
    heading="Ticket",
    weight=0.12,
    find=find,
    for_thin=True,
    example="Acceptance criteria: `Paying again with the same key never makes a second charge.`",
)
