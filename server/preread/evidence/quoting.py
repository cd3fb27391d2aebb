"""Quoting: how rules write names, lines and sentences so that the check finds them in their
sources.
"""

import re
from collections.abc import Iterable, Sequence

from preread import dossier
from preread.dossier import ANCHOR, MIN_QUOTE, code
from preread.evidence.files import FileView
from preread.sources import Ref

MAX_LINE = 100  # characters of a quoted line; a longer one is not quoted
MAX_SENTENCE = 200
# What begins and ends a line of a comment, as the check leaves it out.
MARKS = re.compile(r"^(?:#+!?|//+!?|/?\*+/?|--|\"{3})\s?|\*/$|\"{3}$")
ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")


def anchored(name: str, line: int, path: str = "") -> str:
    """A name with the line that it is on: `name` :12, or with its file."""
    return f"{code(name)} {path}:{line}"


def listed(named: Iterable[tuple[str, int]]) -> str:
    """Names with their lines, in the order given."""
    return ", ".join(anchored(name, line) for name, line in named)


def path_of(path: str) -> str:
    """A path as an anchor writes it, before its line."""
    return dossier.anchor_path(path)


def file_source(path: str) -> str:
    """A source: the whole file."""
    return str(Ref("path", path))


def is_provable(text: str) -> bool:
    """Whether a quote is long enough to prove anything."""
    return len(text.strip()) >= MIN_QUOTE


def whole(text: str, most: int = MAX_SENTENCE) -> str:
    """A text as a code span; empty if it is too short to prove anything, or too long to quote."""
    folded = " ".join(text.split())
    if not is_provable(folded) or len(folded) > most or ANCHOR.search(code(folded)):
        return ""  # what reads as a name with its line would be checked as one
    return code(folded)


def mark(text: str) -> str:
    """A decorator as a code span; by its name alone where an outline has cut it, or it is long."""
    is_cut = "(" in text and not text.endswith((")", "]"))
    return ("" if is_cut else whole(text)) or whole(text.partition("(")[0])


def can_be_anchored(name: str) -> bool:
    """Whether a name with a line reads as one: not with all backticks that a name may have."""
    return ANCHOR.fullmatch(anchored(name, 1)) is not None


def line(file: FileView, number: int) -> str:
    """One line of a file as a code span; empty if it is too long to quote whole."""
    text = file.lines[number - 1].strip() if 0 < number <= len(file.lines) else ""
    text = re.sub(r"\s*[{;,]$", "", text)
    return code(text) if is_provable(text) and len(text) <= MAX_LINE else ""


def unmarked(text: str) -> str:
    """One line without the marks of a comment or docstring around it."""
    return MARKS.sub("", text.strip()).strip()


def sentences(text: str) -> list[str]:
    """The sentences of a text, white space folded."""
    return [part for part in ENDS.split(" ".join(text.split())) if part]


def shortest_path(path: str, others: Sequence[str]) -> str:
    """A file's name, with its folder if another of these files has the same name."""
    name = path.rpartition("/")[2]
    clashes = any(other != path and other.rpartition("/")[2] == name for other in others)
    return "/".join(path.split("/")[-2:]) if clashes else name


def message(text: str) -> str:
    """An error's literal text without what only belongs to a placeholder before or after it."""
    text = re.sub(r"^[`'\"\])}]*[\s,.:;]+", "", text)
    return re.sub(r"(?<=[\s:])\s*[`'\"(\[{]+$", "", text).strip()


def line_with(file: FileView, text: str, start: int, within: int) -> int:
    """The first of these lines that has a text whole; 0 if none does."""
    lines = range(start, min(start + within, len(file.lines) + 1))
    return next((n for n in lines if text in file.lines[n - 1]), 0)
