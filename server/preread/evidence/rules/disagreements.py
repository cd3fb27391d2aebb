"""Where a document states a value, or lists an option, that the code does not have.

Only what is certain: a name in code font with one literal beside it, and one literal in the code.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import quoting
from preread.evidence.files import FileView
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.sources import Ref

MAX_FACTS, MAX_SUFFIXES = 6, 2
MIN_SIBLINGS, SHARE = (
    3,
    0.6,
)  # options of one table found in the code before the others count as missing
LITERAL = r"-?\d[\d_]*(?:\.\d+)?|\"[^\"`]*\"|'[^'`]*'|[Tt]rue|[Ff]alse"
VALUE = re.compile(rf"(?:[^=]*=\s*)?({LITERAL})[,;]?")
PARAMETER = re.compile(rf"(\w+)\s*(?::[^=,()]+)?=\s*({LITERAL})\s*[,)]")
# A sentence that states a default: `limit` (default: 20), `limit` defaults to `20`.
SAYS = re.compile(
    rf"`{{1,2}}(\w+)`{{1,2}},?\s*\(?(?:which |that )?(?:by )?defaults?\s*(?:is|to|:|=)?\s*"
    rf"(`{{1,2}})?({LITERAL})(?(2)\2)(?=\s*[).;,]?(?:\s*$|[).;,]\s))"
)
CELL = re.compile(rf"`*({LITERAL})(?: ?(\w+))?`*")  # a value, and its unit
NAME = re.compile(r"`{1,2}(\w+)`{1,2}")
COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]")  # a name that is not a plain word
PAST = re.compile(r"(?i)change|history|news|release|migrat|upgrad")  # documents of other versions


class _Stated(NamedTuple):
    """A value that one line gives for a name."""

    name: str
    value: str
    file: FileView
    line: int


class _Row(NamedTuple):
    """A row of a table in a document, by the headings of its columns."""

    cells: dict[str, str]
    first: str
    line: int


def find(view: View) -> Iterator[Found]:
    """Values that differ, then options that no code has."""
    if view.thin:
        return
    docs = [doc for doc in view.docs if not PAST.search(doc.path)]
    found = [*_differing(view, docs), *(one for doc in docs for one in _missing(view, doc))]
    yield from found[:MAX_FACTS]


def _differing(view: View, docs: list[FileView]) -> Iterator[Found]:
    values: dict[str, list[_Stated]] = defaultdict(list)
    for file in view.sources:
        for one in _set_in(file):
            values[one.name].append(one)
    for stated in (one for doc in docs for one in _stated_in(doc)):
        known = values.get(stated.name, [])
        if len({_plain(one.value) for one in known}) != 1 or not _is_about(
            view, stated.file, stated
        ):
            continue
        ours = known[0]
        is_same_kind = _kind(ours.value) == _kind(stated.value)
        if is_same_kind and _plain(ours.value) != _plain(stated.value):
            text = f"{code(stated.name)} is {_at(stated)}, but {_at(ours)}"
            cited = (stated.file.cite(stated.line), ours.file.cite(ours.line))
            yield Found(text, cited, 1.0)


def _at(stated: _Stated) -> str:
    """A value with its place."""
    return quoting.anchored(stated.value, stated.line, quoting.path_of(stated.file.path))


def _set_in(file: FileView) -> Iterator[_Stated]:
    """The values of constants and fields, and the defaults of parameters."""
    for member in file.details.members:
        match = VALUE.fullmatch(member.value)
        if match and member.kind in {"constant", "field"}:
            yield _Stated(member.name, match[1], file, member.line)
    for symbol in file.outline.symbols:
        for match in PARAMETER.finditer(symbol.signature):
            lines = range(symbol.start, min(symbol.start + 30, symbol.end) + 1)
            named = re.compile(rf"(?<!\w){re.escape(match[1])}\b.*=\s*{re.escape(match[2])}")
            line = next((n for n in lines if named.search(file.lines[n - 1])), 0)
            if line:
                yield _Stated(match[1], match[2], file, line)


def _stated_in(doc: FileView) -> Iterator[_Stated]:
    """The defaults that a document gives, in sentences and in tables."""
    for number, line in enumerate(doc.lines, 1):
        for match in SAYS.finditer(line):
            yield _Stated(match[1], match[3], doc, number)
    for row in (one for table in _tables(doc) for one in table):
        default = next((cell for head, cell in row.cells.items() if "default" in head), "")
        name, value = NAME.fullmatch(row.first), CELL.fullmatch(default)
        if name and value and value[2] in {None, name[1].rpartition("_")[2]}:  # `timeout_s`: 30 s
            yield _Stated(name[1], value[1], doc, row.line)


def _tables(doc: FileView) -> Iterator[list[_Row]]:
    """The tables of a document of markdown."""
    heads: list[str] = []
    rows: list[_Row] = []
    for number, line in enumerate((*doc.lines, ""), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.strip().startswith("|"):
            if rows:
                yield rows
            heads, rows = [], []
        elif not heads:
            heads = [cell.lower() for cell in cells]
        elif len(cells) == len(heads) and not set(line) <= set("|-: "):
            rows.append(_Row(dict(zip(heads, cells, strict=True)), cells[0], number))


def _plain(value: str) -> str:
    """A literal, normalized for comparison: 1_000 is 1000, "a" is 'a', True is true."""
    if _kind(value) == "number":
        return str(float(value.replace("_", "")))
    return value.strip("\"'") if value[0] in "\"'" else value.lower()


def _kind(value: str) -> str:
    if value[0] in "\"'":
        return "string"
    return "number" if value.lstrip("-")[0].isdigit() else "truth"


def _is_about(view: View, doc: FileView, stated: _Stated) -> bool:
    """Whether a line of a document is about the feature, or all of it is."""
    if view.whole_project:
        return True
    return view.relevance.has_feature(doc.path, stated.name, doc.lines[stated.line - 1])


def _missing(view: View, doc: FileView) -> Iterator[Found]:
    """Options of a table that no code has, where it has most of the table's others."""
    suffixes = [one.path.rpartition(".")[2] for one in view.sources if "." in one.path]
    globs = [f"**/*.{suffix}" for suffix in dict.fromkeys(suffixes)][:MAX_SUFFIXES]
    roles = ("source", "test", "support", "config", "data", "generated")
    for table in _tables(doc):
        named = [(match[1], row) for row in table if (match := NAME.fullmatch(row.first))]
        options = [(name, row) for name, row in named if COMPOUND.search(name)]
        gone = [(name, row) for name, row in options if not view.candidates(name, roles)]
        known = len(options) - len(gone)
        if known < MIN_SIBLINGS or known < SHARE * len(options):
            continue
        for name, row in gone:
            if not _is_about(view, doc, _Stated(name, "", doc, row.line)):
                continue
            absent = tuple(str(Ref("absent", glob, name=name)) for glob in globs)
            paths = {path for glob in globs for path in view.services.tree.matching(glob)}
            if view.services.tree.containing(name, paths) is None:
                text = f"{code(name)} is in no code, unlike the {known} other options of its table"
                yield Found(text, (doc.cite(row.line), *absent), 0.8)


RULE = Rule(
    name="disagreements",
    file="anti-patterns.md",
    heading="Documents and code disagree",
    weight=0.15,
    find=find,
    example="`max_redirects` is `30` docs/limits.md:12, but `20` src/config.py:248",
)
