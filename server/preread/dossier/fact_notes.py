"""The note of a remembered fact: a comment at the end of its line, which rendered markdown hides.

`<!-- id: 3f9a01bc; by: ada; at: 2026-11-22T11:40:02Z; commit: 1a2b3c4d5e; tags: money, tests -->`
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from preread.dossier import brackets, fact_text

NOTE = re.compile(r"<!-- id: ([0-9a-f]{8})((?:; [a-z-]+: [^;]*)*) -->")
ODD = re.compile(r"(?:\s|-->|<!--|;)+")  # these would end a value or the note
RETIRED = ("replaced-by", "forgotten")  # either of these takes a fact out of use
RETIRED_AT = "retired-at"
ADDED_TO = "in"  # the collection of a fact with a topic
MARKS = (*RETIRED, RETIRED_AT)
TIME = "%Y-%m-%dT%H:%M:%SZ"
MAX_VALUE = 200  # characters
FILE = "knowledge.md"
INDENTED = re.compile(r"[ \t]+\S")
OTHER = re.compile(r"\s+(?:[-*+]\s|\d+[.)]\s|```|~~~)")  # an indented list or code
MAX_ROWS = 50  # of a fact


class Line(NamedTuple):
    """The line of one fact: its number, the fact's words, and the note in its comments."""

    number: int
    text: str
    note: Mapping[str, str]

    @property
    def is_retired(self) -> bool:
        return is_retired(self.note)


def split(line: str) -> tuple[str, str]:
    """Split a line from the comments at its end."""
    text = line.rstrip()
    while text.endswith("-->") and (at := text.rfind("<!--")) >= 0:
        text = text[:at].rstrip()
    return text, line[len(text) :].strip()


def joined(lines: Sequence[str], index: int) -> tuple[str, int]:
    """The bullet at an index as one line, with the indented lines that continue it.

    Also returns the index after them. They end with the last sources or comment; what follows
    these is not part of the fact.
    """
    end = index + 1
    while end < min(len(lines), index + MAX_ROWS) and _may_continue(lines[end]):
        end += 1
    for last in range(end, index, -1):
        text = " ".join((lines[index].rstrip(), *(row.strip() for row in lines[index + 1 : last])))
        if text.endswith("-->") or brackets.are_sources(brackets.split_sources(text)[1]):
            return text, last
    return " ".join((lines[index].rstrip(), *map(str.strip, lines[index + 1 : end]))), end


def _may_continue(row: str) -> bool:
    return bool(INDENTED.match(row)) and not OTHER.match(row)


def at(lines: Sequence[str], number: int) -> tuple[str, str]:
    """The bullet at a line number, and the comments at its end."""
    return split(joined(lines, number - 1)[0])


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


def is_retired(note: Mapping[str, str]) -> bool:
    return any(key in note for key in RETIRED)


def since(note: Mapping[str, str]) -> str:
    """Since when a line is in use or retired; later ones sort after earlier ones."""
    if not is_retired(note):
        return note.get("at", "")
    day = re.match(r"\d{4}-\d\d-\d\d", note.get("forgotten", ""))
    return note.get(RETIRED_AT) or (f"{day[0]}T23:59:59Z" if day else note.get("at", ""))


def after(mark: str, now: str) -> str:
    """The time of a revival: now, but later than the mark, even within the same second."""
    if now <= mark:
        with suppress(ValueError):
            return (datetime.fromisoformat(mark) + timedelta(seconds=1)).strftime(TIME)
    return now


def words_of(text: str) -> str:
    """A text normalized for comparison: case, white space and a final full stop do not count."""
    return " ".join(text.split()).casefold().rstrip(" .!")


def entries(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """The lines of each fact by its id, in the order of the file.

    Git's `merge=union` may have kept several lines of a fact. The latest one comes first; it says
    whether the fact is retired. Of lines with the same time, a mark comes first.
    """
    found: dict[str, list[Line]] = {}
    for id_, line in zip(_ids(lines), lines, strict=True):
        found.setdefault(id_, []).append(line)
    for same in found.values():
        same.sort(key=lambda line: (since(line.note), line.is_retired), reverse=True)
    return found


def _ids(lines: Sequence[Line]) -> list[str]:
    """The id of each line's fact; facts with different words have different ids.

    A person may change the words of a line. It keeps the id of its note, unless another fact has
    the words of that id, or an earlier one has its note.
    """
    own = [fact_text.fact_id(FILE, line.text) for line in lines]
    words = [words_of(line.text) for line in lines]
    noted = [line.note.get("id", id_) for line, id_ in zip(lines, own, strict=True)]
    meant = dict(zip(own, words, strict=True))
    for id_, said in zip(noted, words, strict=True):
        meant.setdefault(id_, said)
    return [
        id_ if meant[id_] == said else alone
        for id_, said, alone in zip(noted, words, own, strict=True)
    ]


def retired(lines: Sequence[Line]) -> frozenset[int]:
    """The numbers of the lines to skip: of retired facts, and marked ones of revived facts."""
    if not any(line.is_retired for line in lines):
        return frozenset()
    return frozenset(
        line.number
        for same in entries(lines).values()
        for line in same
        if same[0].is_retired or line.is_retired
    )
