"""The records parsed from source text; named tuples, because there are thousands.

Lines are 1-based and inclusive, and end at "\\n" only.
"""

from typing import Literal, NamedTuple

SymbolKind = Literal[
    "function", "method", "class", "interface", "type", "enum", "constant", "component", "heading"
]
MemberKind = Literal["enum", "constant", "option", "field", "union"]


class Symbol(NamedTuple):
    """A definition; its decorators are before `start`."""

    name: str
    kind: SymbolKind
    start: int
    end: int
    container: str  # "" at module level, else "Class" or "Outer.Inner"
    signature: str  # without body, folded to one line, at most 160 characters
    doc: str  # first sentence of its docstring or leading comment, at most 160 characters
    decorators: tuple[str, ...]  # as written, folded, with the "@"


class TestCase(NamedTuple):
    """One test, named as its runner names it."""

    name: str
    start: int
    end: int
    group: str  # class name, or "describe > describe"
    params: tuple[str, ...]  # requested fixtures
    markers: tuple[str, ...]  # decorators, ".skip", "t.Skip(…)" and the like, as written
    is_row: bool = False  # of a table in the test around it, which runs them all


TestCase.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it by its name


class Import(NamedTuple):
    """One imported module and the names imported from it ("*" for all, () for the module)."""

    module: str
    names: tuple[str, ...]
    line: int


class Outline(NamedTuple):
    """The definitions, tests and imports of a file, each in line order."""

    symbols: tuple[Symbol, ...] = ()
    tests: tuple[TestCase, ...] = ()
    imports: tuple[Import, ...] = ()


class Call(NamedTuple):
    """One call expression."""

    callee: str  # "page.getByTestId", "expect(…).toBeVisible", "new LoginPage"
    text: str  # folded to one line, cut at 120 characters
    line: int
    end: int
    literals: tuple[str, ...]  # string arguments, also in lists and objects, raw as in the source
    keywords: tuple[str, ...]  # keyword arguments and property names passed
    within: str  # innermost test or symbol, "" at module level
    hook: str  # "beforeEach", "setUp", "fixture:<name>", … if the call is inside one, else ""


class Comment(NamedTuple):
    """A comment without markers; consecutive line comments are joined by newlines."""

    text: str
    start: int
    end: int
    within: str


class Member(NamedTuple):
    """A named member of `owner`: an enum, class, union or function."""

    name: str
    value: str  # as written, folded, cut at 120 characters, "" if none
    line: int
    owner: str
    kind: MemberKind


class Raise(NamedTuple):
    """An error raised with a literal message."""

    message: str  # longest literal run without placeholders, as written
    exception: str
    line: int
    within: str


class Attribute(NamedTuple):
    """An attribute of a JSX element with a literal value."""

    element: str
    name: str
    value: str  # raw inner text of the string
    line: int
    within: str


class Details(NamedTuple):
    """Everything inside definitions, each in line order."""

    calls: tuple[Call, ...] = ()
    comments: tuple[Comment, ...] = ()
    members: tuple[Member, ...] = ()
    raises: tuple[Raise, ...] = ()
    attributes: tuple[Attribute, ...] = ()
