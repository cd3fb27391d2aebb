"""The addresses that the feature's files serve or go to."""

import re
from collections.abc import Iterator

from preread.evidence import quoting
from preread.evidence.files import FileView
from preread.evidence.relevance import RELATED
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.index import words

MAX_FILES, MAX_SHOWN = 6, 8  # files that are read; routes in one fact
MAX_LINES = 10  # from the beginning of a call to its address
ADDRESS = re.compile(r"/[\w\-./{}:<>\[\]$*]*[A-Za-z][\w\-./{}:<>\[\]$*]*")
DECORATED = re.compile(r"@([\w.]+)\(\s*(?:\w+\s*=\s*)?[\"']([^\"']+)[\"']")
# HTTP's methods, and other functions of routers and browsers that take an address.
VERBS = frozenset(
    "get post put patch delete head options route mapping path handle mount redirect navigate goto"
    " visit".split()
)


def find(view: View) -> Iterator[Found]:
    """The routes of each ranked file in one fact."""
    files = (file for file in view.sources[:MAX_FILES] if not _is_example(file.path))
    for rank, file in enumerate(files):
        found = {
            address: line
            for address, line, owner in _routes(file)
            if view.relevance_at(file, owner, address) >= RELATED and "`" not in address
        }
        if found:
            text = quoting.in_file(file.path, list(found.items()), MAX_SHOWN)
            yield Found(text, (), 0.9 / (1 + rank))


def _is_example(path: str) -> bool:
    """Whether a file shows others how to use the project: what it serves is not the project's."""
    return not {"example", "examples"}.isdisjoint(words.parts(path.rpartition("/")[0]))


def _routes(file: FileView) -> Iterator[tuple[str, int, int]]:
    """Each address that a routing call or a decorator begins with, its line, and theirs."""
    called = [(one.callee, one.literals[0], one.line) for one in file.details.calls if one.literals]
    called += [
        (name, address, symbol.start)
        for symbol in file.outline.symbols
        for decorator in symbol.decorators
        for name, address in DECORATED.findall(decorator)
    ]
    for callee, address, line in sorted(called, key=lambda one: one[2]):
        last = re.split(r"\W", callee)[-1]
        is_route = not VERBS.isdisjoint(words.parts(last)) and ADDRESS.fullmatch(address)
        if is_route and (at := _line(file, address, line)):
            yield address, at, line


def _line(file: FileView, address: str, line: int) -> int:
    """The line of an address in quotes: below the call's beginning, or above what it decorates."""
    quoted = re.compile(rf"[\"'`]{re.escape(address)}[\"'`]")
    near = (*range(line, line + MAX_LINES), *range(line - 1, max(0, line - MAX_LINES), -1))
    return next((n for n in near if quoted.search(file.span_text(n, n))), 0)


RULE = Rule(
    name="routes",
    file="codebase.md",
    heading="Routes",
    weight=0.03,
    find=find,
    example="`/login` src/app.py:12, `/login/reset` :30",
)
