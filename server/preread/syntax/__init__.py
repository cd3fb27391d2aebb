"""Source text read without a model: what a file defines, tests and imports, and what stands inside."""

import importlib
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from preread.languages import Language, language_of
from preread.syntax.comments import split_comments
from preread.syntax.editions import edition
from preread.syntax.embedded import split_script
from preread.syntax.model import (
    Assertion,
    Attribute,
    Call,
    Comment,
    Details,
    Import,
    Member,
    Outline,
    Parameter,
    Raise,
    Symbol,
    TestCase,
)
from preread.syntax.names import Names, named

if TYPE_CHECKING:
    from preread.syntax.grammars import Source

__all__ = [
    "Assertion",
    "Attribute",
    "Call",
    "Comment",
    "Details",
    "Import",
    "Member",
    "Names",
    "Outline",
    "Parameter",
    "Raise",
    "Symbol",
    "TestCase",
    "details",
    "edition",
    "enclosing",
    "names",
    "outline",
]

# The grammar rules of a language, by the end of their modules' names, which are imported when first met: a build that
# finds all but one file read before needs few of them.
_RULES = {
    "Python": "python",
    "JavaScript": "script",
    "TypeScript": "script",
    "TSX": "script",
    "Java": "java",
    "Rust": "rust",
    "Go": "go",
    "Vue": "script",
    "Svelte": "script",
}
# Languages that are a table of their grammar's nodes, by the end of the table's module.
_TABLES = {
    "Kotlin": "kotlin",
    "C": "c",
    "C++": "c",
    "C#": "csharp",
    "Ruby": "ruby",
    "PHP": "php",
    "Swift": "swift",
}

_COMPONENTS = frozenset(("Vue", "Svelte"))  # markup with scripts in it
# What only a header of C++ holds; both languages call theirs `.h`.
_CPLUSPLUS = re.compile(
    r"^[ \t]*(?:class\s+\w|namespace\b[^;=]*\{|template\s*<|(?:public|private|protected)\s*:|using\s+\w+\s*=)",
    re.MULTILINE,
)
MAX_CHARACTERS = 400_000  # of a file
MAX_LINE = 20_000  # characters


def outline(path: str, text: str) -> Outline:
    """The outline of a file; an empty one for a file in no known language, or beyond the size bounds."""
    language = _readable(path, text)
    if language is None:
        return Outline()
    source = _parsed(path, text, language)
    if source is None:
        from preread.syntax.plain import plain_outline

        return plain_outline(language, text)
    return _outline(source, language)


def names(path: str, text: str) -> Names:
    """What a file's outline would name, nearly, and much quicker; bounds as for outlines."""
    language = _readable(path, text)
    return named(language, text) if language is not None else Names([], [])


def details(path: str, text: str) -> Details:
    """The details of a file; empty ones for a file in no known language, or beyond the size bounds."""
    language = _readable(path, text)
    if language is None:
        return Details()
    source = _parsed(path, text, language)
    if source is None:
        from preread.syntax.plain import plain_details

        return plain_details(language, text)
    found: Details = _rules("details", language)(source, _outline(source, language))
    if language.name in _COMPONENTS:
        _, comments = split_comments(language, split_script(text)[1].split("\n"))
        found = found._replace(
            comments=tuple(sorted((*found.comments, *comments), key=lambda comment: comment.start))
        )
    return found


def _outline(source: "Source", language: Language) -> Outline:
    found: Outline = _rules("outline", language)(source)
    return found


def _parsed(path: str, text: str, language: Language) -> "Source | None":
    """The file parsed when there are rules for its language's grammar and the grammar takes it."""
    if language.name not in _RULES and language.name not in _TABLES:
        return None
    from preread.syntax.grammars import parse

    if language.name in _COMPONENTS:
        script = language_of("component.ts")
        return (
            parse(path, split_script(text)[0], script)
            if script is not None and "<script" in text
            else None
        )
    return parse(path, text, language)


def _rules(what: str, language: Language) -> Callable[..., Any]:
    """The function that reads outlines or details of this language; its module has its name."""
    name = f"{what}_{_RULES.get(language.name, 'table')}"
    function: Callable[..., Any] = getattr(importlib.import_module(f"preread.syntax.{name}"), name)
    if language.name in _TABLES:
        tables = importlib.import_module(f"preread.syntax.table_{_TABLES[language.name]}").TABLES
        return partial(function, table=tables[language.name])
    return function


def enclosing(outline: Outline, line: int) -> Symbol | TestCase | None:
    """The innermost symbol or test whose lines hold this 1-based line."""
    found: Symbol | TestCase | None = None
    entries: tuple[Symbol | TestCase, ...] = (*outline.symbols, *outline.tests)
    for entry in entries:
        if entry.start <= line <= entry.end and (
            found is None or (entry.start, -entry.end) >= (found.start, -found.end)
        ):
            found = entry
    return found


def _readable(path: str, text: str) -> Language | None:
    """The file's language when its text is within the bounds."""
    language = language_of(path)
    if language is None or len(text) > MAX_CHARACTERS:
        return None
    if len(text) > MAX_LINE and max(map(len, text.split("\n"))) > MAX_LINE:
        return None
    if language.name == "C" and path.lower().endswith(".h") and _CPLUSPLUS.search(text):
        return language_of("x.hpp")
    return language
