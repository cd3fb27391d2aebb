"""Quoting: how rules write names, lines and sentences so that the check finds them in their
sources.
"""

import re
from collections.abc import Iterable, Sequence

from preread import dossier
from preread.dossier import MIN_QUOTE, code
from preread.evidence.files import FileView
from preread.sources import Ref

MAX_LINE = 100  # characters of a quoted line; a longer one is not quoted
MAX_SENTENCE = 200
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


def line(file: FileView, number: int) -> str:
    """One line of a file as a code span; empty if it is too long to quote whole."""
    text = file.lines[number - 1].strip() if 0 < number <= len(file.lines) else ""
    text = re.sub(r"\s*[{;,]$", "", text)
    return code(text) if is_provable(text) and len(text) <= MAX_LINE else ""


def sentences(text: str) -> list[str]:
    """The sentences of a text, white space folded."""
    return [part for part in ENDS.split(" ".join(text.split())) if part]


def sentence_around(text: str, position: int) -> str:
    """The whole sentence at an offset of the folded text; empty if it is too long to quote."""
    at = 0
    for part in sentences(text):
        at += len(part) + 1
        if position < at:
            return part if len(part) <= MAX_SENTENCE else ""
    return ""


def shortest_path(path: str, others: Sequence[str]) -> str:
    """A file's name, with its folder if another of these files has the same name."""
    name = path.rpartition("/")[2]
    clashes = any(other != path and other.rpartition("/")[2] == name for other in others)
    return "/".join(path.split("/")[-2:]) if clashes else name
