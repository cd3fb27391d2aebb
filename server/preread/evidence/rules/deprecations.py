"""Which of the feature's definitions are deprecated, and what the code says to use instead."""

import re
from collections.abc import Iterator
from itertools import islice

from preread.dossier.fact_text import code
from preread.evidence import quoting
from preread.evidence.files import Definition
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.syntax import Call, enclosing

MAX_FACTS = 8
FLOOR = 0.3  # of the best definition's score: definitions below only share the file
MARK = re.compile(r"(?i)\bdeprecat|\bobsolete\b")
# Deprecation tags in the comment above a definition or in its docstring.
TAG = re.compile(r"@deprecated\b|Deprecated:|\.\. deprecated::")
IN_DOCSTRING = re.compile(r"\.\. deprecated::")
NEXT_TAG = re.compile(r"@\w+|\.\. \w+::|:\w[\w ]*:(?!`)")
MAX_TEXT = 300  # characters
MAX_LINES = 20  # cited from the definition on; what is further away is cited alone


def find(view: View) -> Iterator[Found]:
    """One fact per definition: its decorator, its documentation or its warning, as written."""
    near = (one for one in view.definitions if one.score >= FLOOR * view.best_score)
    found = ((one, _documented(one) or _decorated(one) or _warned(one)) for one in near)
    deprecated = ((one, notice) for one, notice in found if notice is not None)
    for one, notice in islice(deprecated, MAX_FACTS):
        name = f"{code(one.symbol.name)}: " if one.symbol.name.isidentifier() else ""
        yield notice._replace(text=f"{name}{notice.text}", score=one.score / view.best_score)


def _documented(one: Definition) -> Found | None:
    """The paragraph after a tag in the comment above a definition or in its own docstring."""
    file, symbol = one.file, one.symbol
    reach = range(symbol.start - 1 - len(symbol.decorators), symbol.start)
    above = [comment for comment in file.details.comments if comment.end in reach]
    for comment in above:
        if (found := _tagged(one, TAG, comment.start, comment.end)) is not None:
            return found
    inner = [other.start for other in file.outline.symbols if other.start > symbol.start]
    end = min([symbol.end, len(file.lines), *(start - 1 for start in inner)])
    return _tagged(one, IN_DOCSTRING, symbol.start, end)


def _tagged(one: Definition, tag: re.Pattern[str], start: int, last: int) -> Found | None:
    """The first paragraph with a tag in these lines."""
    lines = one.file.lines
    for number in range(start, last + 1):
        if tag.match(quoting.unmarked(lines[number - 1])):
            end = min(last, _paragraph_end(lines, number))
            parts = [quoting.unmarked(line) for line in lines[number - 1 : end]]
            return _quoted(one, quoting.whole(" ".join(parts), MAX_TEXT), number, end)
    return None


def _paragraph_end(lines: list[str], start: int) -> int:
    """The last line of the paragraph that begins on a line."""
    end = start
    while end < len(lines):
        line = quoting.unmarked(lines[end])
        if not line or NEXT_TAG.match(line) or lines[end].strip() in {"*/", '"""'}:
            break
        end += 1
    return end


def _decorated(one: Definition) -> Found | None:
    """A decorator or annotation that deprecates it."""
    marks = [mark for mark in one.symbol.decorators if MARK.search(mark.partition("(")[0])]
    top = max(1, one.symbol.start - len(one.symbol.decorators) - 8)
    return _quoted(one, quoting.mark(marks[0]), top, one.symbol.start) if marks else None


def _warned(one: Definition) -> Found | None:
    """A call in its body that warns of the deprecation, by its arguments."""
    for call in one.calls:
        texts = _texts_of_warning(call)
        inner = enclosing(one.file.outline, call.line) if texts else None
        if inner is not None and inner.start == one.symbol.start:
            quoted = [quoting.whole(text) for text in texts]
            message = " ".join(quoted) if all(quoted) else ""
            return _quoted(one, message, call.line, call.end)
    return None


def _texts_of_warning(call: Call) -> list[str]:
    """The texts of a call if it warns of a deprecation, else none."""
    texts = [text for text in call.literals if " " in text]
    is_warning = "warn" in call.callee.lower() or MARK.search(call.callee)
    says_so = MARK.search(" ".join(texts)) or "DeprecationWarning" in call.text
    return texts if is_warning and says_so else []


def _quoted(one: Definition, text: str, start: int, end: int) -> Found | None:
    """A quoted text, with its lines and the definition's own, which has the name."""
    if not text or len(text) > MAX_TEXT:
        return None
    first, last = min(start, one.symbol.start), max(end, one.symbol.start)
    is_near = last - first <= MAX_LINES
    return Found(text, (one.file.cite(first, last) if is_near else one.file.cite(start, end),))


RULE = Rule(
    name="deprecations",
    file="anti-patterns.md",
    heading="Deprecated",
    weight=0.03,
    find=find,
    example="`isolated_filesystem`: `.. deprecated:: 8.2 Use tmp_path instead.`",
)
