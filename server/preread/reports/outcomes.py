"""What every format of report comes down to: the outcomes of tests, each made of text that was cleaned."""

import math
import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from preread.gates import failure_kinds
from preread.gates.printable import without_controls

Verdict = Literal[
    "passed", "failed", "skipped", "flaky"
]  # flaky: failed, and passed when it was tried again
MOST = 50_000  # outcomes of one report
MAX_NAME, MAX_MESSAGE = 300, 300
MAX_TEXT = 20_000  # characters of one failure that are looked at
LATEST = 1e11  # seconds since the epoch; a later time is none

# What a reader does not see, or sees elsewhere: marks of direction and of no width.
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufff9-\ufffb]")
_SAYS = re.compile(r"(?i)\b\w*(error|exception|timeout|failure)\b.*[:\w]|\bexpect(ed)?\b|\bassert")
_MORE = re.compile(
    r"(?:\w*Error: )?expect\(|AssertionError(?: \[\w+\])?:?$"
)  # what was expected stands below
_CODE = re.compile(r"^\s*(?:>?\s*\d* ?\||at |❯ )")


class Outcome(NamedTuple):
    """How one test went in one run. What a report does not say is empty."""

    file: str  # as the report has it, with `/`
    group: str  # classes or titles around it, joined by ` > `
    name: str
    verdict: Verdict
    message: str = ""  # what a failure said first, on one line
    kind: str = ""  # of a failure: one of `failure_kinds.KINDS`, or `other`
    retries: int = 0
    line: int = 0  # of the report, 1-based


@dataclass
class Report:
    """What one file says."""

    outcomes: list[Outcome] = field(default_factory=list)
    at: float = 0.0  # when the run began, in seconds since the epoch; 0: it does not say
    problem: str = ""  # why it, or a part of it, could not be read


def clean(value: object, most: int = MAX_NAME) -> str:
    """A text on one line, without colours, control characters and half characters; empty for what is no text."""
    if not isinstance(value, str):
        return ""
    if value.isascii() and value.isprintable():  # nearly every one of very many
        return " ".join(value[: most * 4].split())[:most].strip()
    text = plain(value[: most * 4])
    return " ".join(_UNSEEN.sub("", text).split())[:most].strip()


def plain(text: str) -> str:
    """A text of several lines without colours and control characters."""
    return without_controls(text).replace("\t", "    ")


def path(value: object) -> str:
    """A file's name, with `/`."""
    return _path(value) if isinstance(value, str) else ""


def joined(*parts: object) -> str:
    """Titles from the outermost inwards, those that are no text left out."""
    return _joined(tuple(part for part in parts if isinstance(part, str)))


@lru_cache(maxsize=1024)  # a file's name is asked for with each of its tests, and so are its groups
def _path(value: str) -> str:
    return clean(value).replace("\\", "/").removeprefix("./")


@lru_cache(maxsize=1024)
def _joined(parts: tuple[str, ...]) -> str:
    return " > ".join(text for part in parts if (text := clean(part)))[:MAX_NAME]


def number(value: object) -> float:
    """A count, or a time in seconds since the epoch; 0 for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if math.isfinite(value) and 0 <= value < LATEST * 1000 else 0.0


def moment(value: object) -> float:
    """Seconds since the epoch of an ISO 8601 time; one without a zone is of this machine's. 0 when it is none."""
    try:
        at = datetime.fromisoformat(value if isinstance(value, str) else "").timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
    return at if 0 < at < LATEST else 0.0


def said(message: object, text: object = "", name: str = "") -> tuple[str, str]:
    """What a failure says first, and its kind, empty where it says nothing; a message that names the test is none."""
    text = plain(text[:MAX_TEXT]) if isinstance(text, str) else ""
    told = plain(message[:MAX_TEXT]) if isinstance(message, str) else ""
    if name and name in told:
        told = ""
    first = clean(_first(told) or _first(_section(text)) or message, MAX_MESSAGE)
    return first, failure_kinds.kind_of(f"{told}\n{_section(text)}") if first else ""


def _first(text: str) -> str:
    """The first line that reads as a message, with what was expected where that stands below."""
    lines = [line.strip().removeprefix("E ").strip() for line in text.split("\n")]
    lines = [line for line in lines if line and not line.startswith("● ")]  # Jest's heading
    start = next((number for number, line in enumerate(lines) if _SAYS.search(line)), 0)
    more = 2 if lines and _MORE.match(lines[start]) else 0
    return " ".join(lines[start : start + 1 + more])


def _section(text: str) -> str:
    """The text of a failure without the source code that runners show in it: what a program says is no failure."""
    lines = text.split("\n")
    marked = [line for line in lines if line.startswith("E ")]
    return "\n".join(marked or [line for line in lines if not _CODE.match(line)])


class Lines:
    """On which line a text stands, for texts that are asked for in about the order in which they stand."""

    def __init__(self, text: str) -> None:
        self._text, self._place, self._line = text, 0, 1

    def of(self, needle: str) -> int:
        """The next line that holds it, 1-based; from the first on where none is left; 0: nowhere."""
        place = self._text.find(needle, self._place)
        if place < 0:
            self._place, self._line = 0, 1
            place = self._text.find(needle)
        if place < 0:
            return 0
        self._line += self._text.count("\n", self._place, place)
        self._place = place
        return self._line


def dicts(value: object) -> list[dict[str, Any]]:
    """The objects of a list in JSON; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
