"""The common form of all report formats: outcomes of tests, with cleaned texts."""

import math
import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from preread.gates import failure_kinds
from preread.gates.printable import without_controls

Verdict = Literal["passed", "failed", "skipped", "flaky"]  # flaky: failed, then passed on a retry
MAX_OUTCOMES = 50_000  # of one report
MAX_NAME, MAX_MESSAGE = 300, 300
MAX_TEXT = 20_000  # characters of one failure that are examined
LATEST = 1e11  # seconds since the epoch; a later time is invalid

# Invisible characters: direction marks and those without width.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufff9-\ufffb]")
_MESSAGE = re.compile(
    r"(?i)\b\w*(error|exception|timeout|failure)\b.*[:\w]|\bexpect(ed)?\b|\bassert"
)
# After such a line, the next two say what was expected.
_CONTINUES = re.compile(r"(?:\w*Error: )?expect\(|AssertionError(?: \[\w+\])?:?$")
_CODE = re.compile(r"^\s*(?:>?\s*\d* ?\||at |❯ )")


class Outcome(NamedTuple):
    """The outcome of one test in one run. Fields that the report lacks are empty."""

    file: str  # as the report has it, with `/`
    group: str  # classes or titles around it, joined by ` > `
    name: str
    verdict: Verdict
    message: str = ""  # the start of a failure's message, on one line
    kind: str = ""  # of a failure: one of `failure_kinds.KINDS`, or `other`
    retries: int = 0
    line: int = 0  # of the report, 1-based


@dataclass
class Report:
    """What one file reports."""

    outcomes: list[Outcome] = field(default_factory=list)
    at: float = 0.0  # when the run began, in seconds since the epoch; 0: unknown
    problem: str = ""  # why the file, or part of it, could not be read


def clean(value: object, limit: int = MAX_NAME) -> str:
    """A text on one line, without colours and control characters; empty if it is not a text."""
    if not isinstance(value, str):
        return ""
    if value.isascii() and value.isprintable():  # the usual case, and there are many
        return " ".join(value[: limit * 4].split())[:limit].strip()
    text = plain(value[: limit * 4])
    return " ".join(_INVISIBLE.sub("", text).split())[:limit].strip()


def plain(text: str) -> str:
    """A text without colours and control characters; it may have several lines."""
    return without_controls(text).replace("\t", "    ")


def path(value: object) -> str:
    """A path with `/` as separator."""
    return _path(value) if isinstance(value, str) else ""


def joined(*parts: object) -> str:
    """Join the titles of nested groups, outermost first; values that are not text are skipped."""
    return _joined(tuple(part for part in parts if isinstance(part, str)))


@lru_cache(maxsize=1024)  # all tests of a file have the same path and few groups
def _path(value: str) -> str:
    return clean(value).replace("\\", "/").removeprefix("./")


@lru_cache(maxsize=1024)
def _joined(parts: tuple[str, ...]) -> str:
    return " > ".join(text for part in parts if (text := clean(part)))[:MAX_NAME]


def number(value: object) -> float:
    """A count, or a time in seconds or milliseconds since the epoch; 0 for anything invalid."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if math.isfinite(value) and 0 <= value < LATEST * 1000 else 0.0


def timestamp(value: object) -> float:
    """An ISO 8601 time in epoch seconds, in the local zone if it names none; 0 if it is invalid."""
    try:
        at = datetime.fromisoformat(value if isinstance(value, str) else "").timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
    return at if 0 < at < LATEST else 0.0


def failure(message: object, text: object = "", name: str = "") -> tuple[str, str]:
    """The start of a failure's message and the failure's kind; both empty without a message.

    `text` is its whole output. A message that only repeats the test's `name` is ignored.
    """
    text = plain(text[:MAX_TEXT]) if isinstance(text, str) else ""
    own = plain(message[:MAX_TEXT]) if isinstance(message, str) else ""
    if name and name in own:
        own = ""
    start = clean(_first(own) or _first(_without_code(text)) or message, MAX_MESSAGE)
    return start, failure_kinds.kind_of(f"{own}\n{_without_code(text)}") if start else ""


def _first(text: str) -> str:
    """The first line that reads as a message, with the lines on what was expected."""
    lines = [line.strip().removeprefix("E ").strip() for line in text.split("\n")]
    lines = [line for line in lines if line and not line.startswith("● ")]  # Jest's heading
    start = next((number for number, line in enumerate(lines) if _MESSAGE.search(line)), 0)
    more = 2 if lines and _CONTINUES.match(lines[start]) else 0
    return " ".join(lines[start : start + 1 + more])


def _without_code(text: str) -> str:
    """A failure's output without the source code in it, which could look like a message."""
    lines = text.split("\n")
    marked = [line for line in lines if line.startswith("E ")]
    return "\n".join(marked or [line for line in lines if not _CODE.match(line)])


class Lines:
    """Finds the line numbers of texts; fast if they are looked up roughly in order."""

    def __init__(self, text: str) -> None:
        self._text, self._place, self._line = text, 0, 1

    def of(self, needle: str) -> int:
        """The next line with this text, 1-based, starting over after the last one; 0 if none."""
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
    """The objects in a list of JSON; none if it is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(value: object) -> list[str]:
    """The strings in a list of JSON; none if it is not a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
