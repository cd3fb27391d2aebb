"""Source text read without a model: what a file defines, tests and imports, and what stands inside."""

from collections.abc import Callable

from preread.languages import Language, language_of
from preread.syntax.details_go import details_go
from preread.syntax.details_java import details_java
from preread.syntax.details_python import details_python
from preread.syntax.details_rust import details_rust
from preread.syntax.details_script import details_script
from preread.syntax.grammars import Source, parse
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
from preread.syntax.outline_go import outline_go
from preread.syntax.outline_java import outline_java
from preread.syntax.outline_python import outline_python
from preread.syntax.outline_rust import outline_rust
from preread.syntax.outline_script import outline_script
from preread.syntax.plain import plain_details, plain_outline

__all__ = [
    "Assertion",
    "Attribute",
    "Call",
    "Comment",
    "Details",
    "Import",
    "Member",
    "Outline",
    "Parameter",
    "Raise",
    "Symbol",
    "TestCase",
    "details",
    "enclosing",
    "outline",
]

_OUTLINES: dict[str, Callable[[Source], Outline]] = {
    "Python": outline_python,
    "JavaScript": outline_script,
    "TypeScript": outline_script,
    "TSX": outline_script,
    "Java": outline_java,
    "Rust": outline_rust,
    "Go": outline_go,
}

_DETAILS: dict[str, Callable[[Source, Outline], Details]] = {
    "Python": details_python,
    "JavaScript": details_script,
    "TypeScript": details_script,
    "TSX": details_script,
    "Java": details_java,
    "Rust": details_rust,
    "Go": details_go,
}

MAX_CHARACTERS = 400_000  # of a file
MAX_LINE = 20_000  # characters


def outline(path: str, text: str) -> Outline:
    """The outline of a file; an empty one for a file in no known language, or beyond the size bounds."""
    language = _readable(path, text)
    if language is None:
        return Outline()
    reader = _OUTLINES.get(language.name)
    source = parse(path, text, language) if reader is not None else None
    if source is None or reader is None:
        return plain_outline(language, text)
    return reader(source)


def details(path: str, text: str) -> Details:
    """The details of a file; empty ones for a file in no known language, or beyond the size bounds."""
    language = _readable(path, text)
    if language is None:
        return Details()
    reader = _DETAILS.get(language.name)
    source = parse(path, text, language) if reader is not None else None
    if source is None or reader is None:
        return plain_details(language, text)
    return reader(source, _OUTLINES[language.name](source))


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
    return language
