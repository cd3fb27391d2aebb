"""The addresses that the feature's files serve or go to."""

import re
from collections.abc import Iterator

from preread.evidence import quoting
from preread.evidence.files import FileView
from preread.evidence.relevance import RELATED
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.index import words
from preread.syntax import Call

MAX_FILES, MAX_SHOWN = 6, 8  # files that are read; routes in one fact
MAX_OTHERS = 3  # files that are read though they rank lower, for addresses with its words
TABLE = re.compile(r"(?:^|/)(?:routes|routing|routers?|urls)(?:/[^/]*|\.[^/]*)$")
RESOURCES = re.compile(r"resources? :\w+")  # Rails: several routes by one name
MAX_LINES = 10  # from the beginning of a call to its address
METHOD = r"(?:[A-Z]+ )?"  # Go: `mux.HandleFunc("GET /carts/{id}", show)`
ADDRESS = re.compile(METHOD + r"/[\w\-./{}:<>\[\]$*]*[A-Za-z][\w\-./{}:<>\[\]$*]*")
QUOTED = re.compile(rf"[\"'`]{METHOD}/([^\s\"'`]+)")
RELATIVE = re.compile(r"[\w\-.{}:<>\[\]$*^?][\w\-./{}:<>\[\]$*^?]*")  # in a table of routes
DECORATED = re.compile(r"@([\w.]+)\(\s*(?:\w+\s*=\s*)?[\"']([^\"']+)[\"']")
# HTTP's methods, and other functions of routers and browsers that take an address.
VERBS = frozenset(
    "get post put patch delete head options route mapping path handle mount redirect navigate goto"
    " visit".split()
)


def find(view: View) -> Iterator[Found]:
    """The routes of each ranked file in one fact."""
    for rank, file in enumerate(_files(view)):
        found: dict[str, int] = {}
        for address, line, owner in _routes(file):
            if _is_related(view, file, owner, address) and "`" not in address:
                found.setdefault(address, line)
        if found:
            text = quoting.in_file(file.path, list(found.items()), MAX_SHOWN)
            yield Found(text, (), 0.9 / (1 + rank))


def _files(view: View) -> list[FileView]:
    """The best sources, and others with such addresses; tables of routes first."""
    others = (*view.sources[MAX_FILES:], *view.further["files"])
    serving = [one for one in others if any(map(view.relevance.has_feature, _quoted(one)))]
    files = view.sources[:MAX_FILES] + sorted(serving, key=_is_no_table)[:MAX_OTHERS]
    return sorted((one for one in files if not _is_example(one.path)), key=_is_no_table)


def _is_no_table(file: FileView) -> bool:
    return TABLE.search(file.path) is None


def _quoted(file: FileView) -> list[str]:
    """The texts of a file that look like addresses: a cheap first test."""
    return (RELATIVE if TABLE.search(file.path) else QUOTED).findall(file.text)


def _is_example(path: str) -> bool:
    """Whether a file shows others how to use the project: what it serves is not the project's."""
    return not {"example", "examples"}.isdisjoint(words.parts(path.rpartition("/")[0]))


def _is_related(view: View, file: FileView, owner: int, address: str) -> bool:
    """Whether a route is one of the feature's, by its words or by the definition around it."""
    is_first = file in view.sources[:MAX_FILES]
    if file.is_in_test(owner):
        return False
    is_named = view.relevance.has_feature(address)
    return is_named or (is_first and view.relevance_at(file, owner, address) >= RELATED)


def _routes(file: FileView) -> Iterator[tuple[str, int, int]]:
    """Each address that a routing call or a decorator begins with, its line, and theirs."""
    called = [
        (one.callee, address, one.line) for one in file.details.calls if (address := _first(one))
    ]
    called += [
        (name, address, symbol.start)
        for symbol in file.outline.symbols
        for decorator in symbol.decorators
        for name, address in DECORATED.findall(decorator)
    ]
    shape = RELATIVE if TABLE.search(file.path) else ADDRESS
    for callee, address, line in sorted(called, key=lambda one: one[2]):
        last = re.split(r"\W", callee)[-1]
        is_route = not VERBS.isdisjoint(words.parts(last)) and (
            ADDRESS.fullmatch(address) or shape.fullmatch(address)
        )
        if (is_route or RESOURCES.fullmatch(address)) and (at := _line(file, address, line)):
            yield address, at, line


def _first(call: Call) -> str:
    """What a call begins with, if it may be an address: `get "/a" => "b#c"` begins with a key."""
    if match := RESOURCES.match(call.text):
        return match[0]
    key = next((one for one in call.keywords if one.startswith("/")), "")
    return key or next(iter(call.literals), "")


def _line(file: FileView, address: str, line: int) -> int:
    """The line of an address in quotes: below the call's beginning, or above what it decorates."""
    quoted = re.compile(rf"(?:[\"'`]|(?=resource)){re.escape(address)}(?!\w)")
    near = (*range(line, line + MAX_LINES), *range(line - 1, max(0, line - MAX_LINES), -1))
    return next((n for n in near if quoted.search(file.line(n))), 0)


RULE = Rule(
    name="routes",
    file="codebase.md",
    heading="Routes",
    weight=0.03,
    find=find,
    example="`/login` src/app.py:12, `/login/reset` :30",
)
