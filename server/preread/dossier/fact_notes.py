"""The note of a remembered fact: a comment at the end of its line, which rendered markdown hides.

`<!-- id: 3f9a01bc; by: ada; at: 2026-11-22T11:40:02Z; commit: 1a2b3c4d5e; tags: money, tests -->`
"""

import re
from collections.abc import Iterable, Mapping

NOTE = re.compile(r"<!-- id: ([0-9a-f]{8})((?:; [a-z-]+: [^;]*)*) -->")
ODD = re.compile(r"(?:\s|-->|<!--|;)+")  # these would end a value or the note
RETIRED = ("replaced-by", "forgotten")  # either of these takes a fact out of use
MAX_VALUE = 200  # characters


def split(line: str) -> tuple[str, str]:
    """Split a line from the comments at its end."""
    text = line.rstrip()
    while text.endswith("-->") and (at := text.rfind("<!--")) >= 0:
        text = text[:at].rstrip()
    return text, line[len(text) :].strip()


def read(comments: str) -> dict[str, str]:
    """The values of the note in these comments, in the note's order; empty without a note."""
    match = NOTE.search(comments)
    if match is None:
        return {}
    parts = (part.partition(": ") for part in match[2].split("; ")[1:])
    return {"id": match[1], **{key: value for key, _, value in parts}}


def written(comments: str, values: Mapping[str, str]) -> str:
    """The comments with a note of these values in place of theirs, or at the end if they have none.

    Empty values are left out.
    """
    kept = {key: ODD.sub(" ", value).strip()[:MAX_VALUE] for key, value in values.items()}
    pairs = "; ".join(f"{key}: {value}" for key, value in kept.items() if value)
    note = f"<!-- {pairs} -->"
    if NOTE.search(comments):
        return NOTE.sub(lambda _: note, comments, count=1)
    return f"{comments} {note}".strip()


def retired(lines: Iterable[str]) -> frozenset[str]:
    """The ids of retired facts.

    One mark is enough: git's `merge=union` may have kept another branch's line without it.
    """
    notes = (read(split(line)[1]) for line in lines if line.rstrip().endswith("-->"))
    return frozenset(note["id"] for note in notes if any(key in note for key in RETIRED))
