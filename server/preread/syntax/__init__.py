"""Parse source text: the definitions, tests and imports of a file, and the details inside them."""

import re
from typing import TYPE_CHECKING

from preread.languages import Language, language_of
from preread.syntax.editions import edition
from preread.syntax.embedded import split_script
from preread.syntax.model import (
    Attribute,
    Call,
    Comment,
    Details,
    Import,
    Member,
    Outline,
    Raise,
    Symbol,
    TestCase,
)
from preread.syntax.names import Names, named
from preread.syntax.places import enclosing, names_between

if TYPE_CHECKING:
    from preread.syntax.reader import Reading

__all__ = [
    "Attribute",
    "Call",
    "Comment",
    "Details",
    "Import",
    "Member",
    "Names",
    "Outline",
    "Raise",
    "Symbol",
    "TestCase",
    "code_before_comments",
    "details",
    "edition",
    "enclosing",
    "is_inside_text",
    "names",
    "names_between",
    "outline",
]

_COMPONENTS = frozenset(("Vue", "Svelte"))  # markup with embedded scripts
# Found only in C++ headers; C and C++ share the suffix `.h`.
_CPLUSPLUS = re.compile(
    r"^[ \t]*(?:class\s+\w|namespace\b[^;=]*\{|template\s*<|(?:public|private|protected)\s*:"
    r"|using\s+\w+\s*=)",
    re.MULTILINE,
)
MAX_CHARACTERS = 400_000  # of a file
MAX_LINE = 20_000  # characters


def outline(path: str, text: str) -> Outline:
    """The outline of a file; empty if its language is unknown or it exceeds the size limits."""
    language = _readable(path, text)
    if language is None:
        return Outline()
    reading = _parsed(path, text, language)
    if reading is not None:
        return reading.outline
    from preread.syntax.plain import plain_outline

    return plain_outline(language, text)


def names(path: str, text: str) -> Names:
    """Roughly the names in a file's outline, but much faster; with the same size limits."""
    language = _readable(path, text)
    return named(language, text) if language is not None else Names([], [])


def details(path: str, text: str) -> Details:
    """The details of a file; empty if its language is unknown or it exceeds the size limits."""
    language = _readable(path, text)
    if language is None:
        return Details()
    reading = _parsed(path, text, language)
    if reading is None:
        from preread.syntax.plain import plain_details

        return plain_details(language, text)
    found = reading.details()
    if language.name not in _COMPONENTS:
        return found
    from preread.syntax.comments import split_comments

    _, comments = split_comments(language, split_script(text)[1].split("\n"))
    both = sorted((*found.comments, *comments), key=lambda comment: comment.start)
    return found._replace(comments=tuple(both))


def code_before_comments(path: str, text: str) -> dict[int, str]:
    """Number of each line that ends in a comment -> the code before it; only with a grammar."""
    language = _readable(path, text)
    reading = _parsed(path, text, language) if language is not None else None
    if language is None or reading is None:
        return {}
    from preread.syntax.comments import comment_start
    from preread.syntax.text import comment_text

    lines, found = text.split("\n"), {}
    for comment in reading.details().comments:
        line = lines[comment.start - 1]
        at, _ = comment_start(line, (language.line_comment, *(language.block_comment or ())[:1]))
        # The grammar knows that there is a comment, and its text where it begins.
        if line[: max(at, 0)].strip() and comment_text(line[at:]) == comment.text:
            found[comment.start] = line[:at]
    return found


def is_inside_text(path: str, text: str, start: int, end: int) -> bool:
    """Whether lines are inside a comment or string that begins before them; only with a grammar.

    It knows block comments, and strings between three quotes or backticks.
    """
    language = _readable(path, text)
    found = _with_grammar(text, language) if language is not None else None
    if found is None:
        return False
    from preread.syntax.inside import is_inside, may_be_inside

    before = "\n".join(found[1].split("\n")[: start - 1])
    return may_be_inside(found[0], before) and is_inside(*found, start, end)


def _parsed(path: str, text: str, language: Language) -> "Reading | None":
    """The file parsed by its grammar; None without a query or if the text cannot be parsed."""
    found = _with_grammar(text, language)
    if found is None:
        return None
    from preread.syntax.reader import read

    return read(path, found[1], found[0])


def _with_grammar(text: str, language: Language) -> tuple[Language, str] | None:
    """A file's language and text; of a component those of its scripts. None without a grammar."""
    if language.name in _COMPONENTS:
        script = language_of("component.ts")
        if script is None or "<script" not in text:
            return None
        language, text = script, split_script(text)[0]
    return (language, text) if language.grammar is not None else None


def _readable(path: str, text: str) -> Language | None:
    """The file's language, or None if it is unknown or the text exceeds the size limits."""
    language = language_of(path)
    if language is None or len(text) > MAX_CHARACTERS:
        return None
    if len(text) > MAX_LINE and max(map(len, text.split("\n"))) > MAX_LINE:
        return None
    if language.name == "C" and path.lower().endswith(".h") and _CPLUSPLUS.search(text):
        return language_of("x.hpp")
    return language
