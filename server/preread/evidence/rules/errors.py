"""The errors that the feature raises, with their messages, by file and kind of error."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preread.dossier.fact_text import code
from preread.evidence import quoting
from preread.evidence.files import FileView
from preread.evidence.relevance import RELATED
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.syntax import Raise

MAX_FILES, MAX_SHOWN = 6, 6  # files read; messages in one fact
MAX_BELOW = 8  # lines between the error's name and its message
MIN_MESSAGE = 8  # characters


class _Message(NamedTuple):
    """An error's message with the lines that it is on."""

    start: int
    end: int
    text: str
    relevance: float


def find(view: View) -> Iterator[Found]:
    """For each ranked file the messages of its errors, those of one kind together."""
    for rank, file in enumerate(view.code[:MAX_FILES]):
        kinds: dict[str, dict[str, _Message]] = defaultdict(dict)
        for raised in file.details.raises:
            texts = (raised.message, raised.exception, raised.within)
            relevance = view.relevance_at(file, raised.line, *texts)
            if relevance >= RELATED and (anchor := _anchored(file, raised)):
                kinds[raised.exception].setdefault(anchor[2], _Message(*anchor, relevance))
        for exception, messages in kinds.items():
            best = sorted(messages.values(), key=lambda one: -one.relevance)[:MAX_SHOWN]
            score = min(1.0, 0.3 + 0.5 * best[0].relevance + 0.2 / (1 + rank))
            yield Found(f"{code(exception)}: {_listed(file, sorted(best))}", (), score)


def _anchored(file: FileView, raised: Raise) -> tuple[int, int, str] | None:
    """The lines from an error's name to its message; None unless both are there to be quoted."""
    message = quoting.message(raised.message)
    end = quoting.line_with(file, message, raised.line, MAX_BELOW)
    named = end and raised.exception in file.line(raised.line)
    is_sentence = " " in message and "``" not in message  # a single word is a code or a key
    fits = is_sentence and MIN_MESSAGE <= len(message) <= quoting.MAX_LINE
    return (raised.line, end, message) if named and fits else None


def _listed(file: FileView, messages: Sequence[_Message]) -> str:
    """Messages with their lines, the first one with the file's path."""
    named = [
        (one.text, f"{one.start}-{one.end}" if one.end > one.start else one.start)
        for one in messages
    ]
    return quoting.in_file(file.path, named)


RULE = Rule(
    name="errors",
    file="codebase.md",
    heading="Errors",
    weight=0.06,
    find=find,
    example="`UsageError`: `No such command` src/core.py:1980, `Missing command.` :1984",
)
