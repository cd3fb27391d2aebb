"""Quote names, lines and sentences so that the check finds them in their sources."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from preread.dossier import anchors, named_files
from preread.dossier.anchors import ANCHOR
from preread.dossier.fact_text import MIN_QUOTE, code
from preread.dossier.sources import Ref
from preread.evidence.files import FileView
from preread.evidence.rule import Found
from preread.syntax import Symbol

T = TypeVar("T")

LIKELY = 8  # of the files that are only named: how many are named first
MAX_LINE = 100  # characters of a quoted line; a longer one is not quoted
MAX_SENTENCE = 200
# The comment markers that the check ignores at both ends of a line.
MARKS = re.compile(r"^(?:#+!?|//+!?|/?\*+/?|--|\"{3})\s?|\*/$|\"{3}$")
ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")

# The first of several arguments, if it is a name or a call; not of a macro: `case!(name, …)`.
FIRST_ARGUMENT = re.compile(r"(?<!\w)[\w.]*[a-z]\w*\(\s*([A-Za-z_][\w.]*(?:\([^()\n]*\))?)\s*,")
EMPTY_TITLE = re.compile(r"\s*[\w.]+\(\s*(?:\"\"|''|``)\s*,")


def anchored(name: str, lines: int | str, path: str = "") -> str:
    """A name with its line or lines, or with file and line: `name` :12."""
    return f"{code(name)} {anchors.written_path(path) if path else ''}:{lines}"


def qualified(symbol: Symbol) -> str:
    """A definition's name behind its class: `Cart.__init__`."""
    owner = symbol.container.rpartition(".")[2]
    return f"{owner}.{symbol.name}" if owner.isidentifier() else symbol.name


def listed(named: Iterable[tuple[str, int]]) -> str:
    """Names with their lines, in the order given."""
    return ", ".join(anchored(name, line) for name, line in named)


def rows(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """The items in rows of at most this size."""
    return [items[n : n + size] for n in range(0, len(items), size)]


def in_file(path: str, named: Sequence[tuple[str, int | str]], most: int = 1_000) -> str:
    """Names of one file with their lines, the first with its path; how many more there are."""
    (name, line), *rest = named[:most]
    more = f" and {len(named) - most} more" if len(named) > most else ""
    return ", ".join((anchored(name, line, path), *(anchored(*one) for one in rest))) + more


def file_source(path: str) -> str:
    """A source that cites the whole file."""
    return str(Ref("path", path))


def only_named(
    kind: str, paths: Sequence[str], most: int = LIKELY, score: float = 0.75
) -> Iterator[Found]:
    """Files of which only the path is said, in two facts: the budget may only have room for one.

    At most so many are in the first fact, which has this score.
    """
    likely, others = (tuple(map(file_source, p)) for p in (paths[:most], paths[most:]))
    if likely:
        yield Found(named_files.likely(kind), likely, score)
    if others:
        yield Found(named_files.less_likely(kind), others, 0.2)


def is_provable(text: str) -> bool:
    """Whether a quote is long enough to prove anything."""
    return len(text.strip()) >= MIN_QUOTE


def whole(text: str, most: int = MAX_SENTENCE) -> str:
    """A text as a code span; empty if it is too short to prove anything or too long."""
    folded = " ".join(text.split())
    if not is_provable(folded) or len(folded) > most or ANCHOR.search(code(folded)):
        return ""  # it would be checked as a name with its line
    return code(folded)


def mark(text: str) -> str:
    """A decorator as a code span; only its name if it is long or was cut by the outline."""
    is_cut = "(" in text and not text.endswith((")", "]"))
    return ("" if is_cut else whole(text)) or whole(text.partition("(")[0])


def can_be_anchored(name: str) -> bool:
    """Whether a name can be written with its line: some names contain backticks."""
    return ANCHOR.fullmatch(anchored(name, 1)) is not None


def is_variable(file: FileView, title: str, number: int) -> bool:
    """Whether a test's title is an expression, as in `t.Run(tc.name, …)`: it names no test.

    So is an empty one, for which the test's own code makes up a title.
    """
    line = file.line(number)
    return bool(EMPTY_TITLE.match(line)) or title in FIRST_ARGUMENT.findall(line)


def unmarked(text: str) -> str:
    """One line without the markers of a comment or docstring."""
    return MARKS.sub("", text.strip()).strip()


def sentences(text: str) -> list[str]:
    """The sentences of a text, white space folded."""
    return [part for part in ENDS.split(" ".join(text.split())) if part]


def shortest_path(path: str, others: Sequence[str]) -> str:
    """A file's name, with as many of its folders as tell it from these other files."""
    parts = path.split("/")
    others = [f"/{other}" for other in others if other != path]
    ends = ("/".join(parts[-n:]) for n in range(1, len(parts)))
    return next((e for e in ends if not any(o.endswith(f"/{e}") for o in others)), path)


def message(text: str) -> str:
    """An error's literal text without leftovers of a placeholder at its ends."""
    text = re.sub(r"^[`'\"\])}]*[\s,.:;]+", "", text)
    return re.sub(r"(?:(?<=[\s:])\s*[`'\"(\[{\\]+|\\)$", "", text).strip()


def line_with(file: FileView, text: str, start: int, within: int) -> int:
    """The first of these lines that contains the whole text; 0 if none does."""
    lines = range(start, min(start + within, len(file.lines) + 1))
    return next((n for n in lines if text in file.line(n)), 0)
