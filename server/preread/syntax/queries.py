"""The queries that match definitions in syntax trees, one file per language in `queries/`.

Their captures are documented at the head of `queries/python.scm`. A language without a file of its
own is read by the `tags.scm` that the wheel of its grammar ships.
"""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from preread.infra import assets
from preread.languages import Language
from preread.syntax.grammars import grammar_of

if TYPE_CHECKING:
    from tree_sitter import Query

FOLDER = Path(__file__).parent / "queries"
_INSIDE = "\n;;; Inside\n"
_INHERITS = re.compile(r"^; inherits: (.*)$", re.MULTILINE)
_COMMENTS = ("comment", "line_comment", "block_comment")


class Section(NamedTuple):
    """One half of a language's query, and the names that its patterns set."""

    query: "Query"
    names: dict[int, str]  # by pattern: for definitions without a name of their own


@cache
def definitions_of(language: Language) -> Section | None:
    """The patterns for definitions, None for a language without a grammar."""
    text = _text(language)
    return _section(language, text.partition(_INSIDE)[0]) if text else None


@cache
def contents_of(language: Language) -> Section | None:
    """The patterns for what is inside definitions."""
    text = _text(language)
    return _section(language, text.partition(_INSIDE)[2] or text) if text else None


def file_of(language: Language) -> Path:
    """The path of a language's query, which may not exist."""
    name = language.name.lower().replace("+", "p").replace("#", "sharp")
    return FOLDER / f"{name}.scm"


@cache
def _text(language: Language) -> str:
    """Both halves of a language's query; "" if it has no query or no grammar."""
    if grammar_of(language) is None:
        return ""
    path = file_of(language)
    return _with_inherited(path) if path.is_file() else _tags(language)


def _with_inherited(path: Path) -> str:
    """A query appended to the ones it inherits, half by half."""
    text = assets.text(path)
    found = _INHERITS.search(text)
    names = found[1].split(", ") if found else []
    parts = [_with_inherited(FOLDER / f"{name}.scm").partition(_INSIDE) for name in names]
    parts.insert(0, text.partition(_INSIDE))
    return "\n".join(part[0] for part in parts) + _INSIDE + "\n".join(part[2] for part in parts)


def _tags(language: Language) -> str:
    """The tags query shipped in a grammar's wheel, extended by comments, which it lacks."""
    grammar = grammar_of(language)
    spec = find_spec(language.grammar[0]) if language.grammar is not None else None
    path = Path(spec.origin).parent / "queries/tags.scm" if spec and spec.origin else None
    if grammar is None or path is None or not path.is_file():
        return ""
    comments = [kind for kind in _COMMENTS if grammar.id_for_node_kind(kind, True) is not None]
    added = [f"({kind}) @comment" for kind in comments]
    return "\n".join((assets.text(path), *added))


def _section(language: Language, text: str) -> Section | None:
    from tree_sitter import Query, QueryError

    grammar = grammar_of(language)
    if grammar is None:
        return None
    try:
        query = Query(grammar, text)
    except QueryError:
        if file_of(language).is_file():
            raise
        return None  # a wheel whose query does not match its own grammar
    settings = {n: query.pattern_settings(n) for n in range(query.pattern_count)}
    return Section(
        query, {n: given["name"] or "" for n, given in settings.items() if "name" in given}
    )
