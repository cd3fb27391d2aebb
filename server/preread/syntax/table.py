"""A language as a table: which nodes of its grammar define, call, raise and import, and what its tests look like."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from preread.syntax.grammars import Source
from preread.syntax.model import Import, MemberKind, SymbolKind

if TYPE_CHECKING:
    from tree_sitter import Node

TYPES = frozenset(("class", "interface", "enum"))
NEVER = re.compile(r"(?!)")
_BLOCKS = frozenset(("annotated_lambda", "lambda_literal", "do_block", "block"))
_ARGUMENTS = frozenset(("value_arguments", "argument_list", "arguments"))


class Named(NamedTuple):
    """One name that a node defines."""

    name: str
    kind: SymbolKind | Literal["test"]
    owner: str = ""  # the type of a member that is defined outside of it, the suite of a test
    signature: str = ""  # "" where it is the node's text up to its body
    begin: int = -1  # offset; -1 where it is the node's own


class Shape(NamedTuple):
    """Where a call's parts are: fields of its node; "" for the first named child."""

    function: str = ""
    receiver: str = ""
    prefix: str = ""


class Parts(NamedTuple):
    """A call taken apart: what is called, on what, with what."""

    function: "Node | None"
    receiver: "Node | None"
    arguments: "Node | None"
    block: "Node | None"
    inner: "Node | None" = (
        None  # a call node that is a part of this call: `f(x) { … }` is two in some grammars
    )


Reader = Callable[[Source, "Node"], Iterable[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Family:
    """Nodes that are members of a family; `read` gives names and values."""

    kind: MemberKind
    read: Reader


@dataclass(frozen=True, slots=True)
class Tests:
    """What a language's test runners take for a test, and its checks. A pattern meets a whole name or mark."""

    marks: re.Pattern[str] = NEVER  # an annotation that makes a function a test
    names: re.Pattern[str] = NEVER  # of functions that are tests, in a test file
    doc: re.Pattern[str] = NEVER  # searched in the comment above a function
    declared: re.Pattern[bytes] | None = (
        None  # what a file holds where calls declare tests; None: they never do
    )
    cases: re.Pattern[str] = NEVER  # what is called to declare a test
    groups: re.Pattern[str] = NEVER  # … or a group of them
    untitled: re.Pattern[str] = NEVER  # cases that may go without a title
    skips: re.Pattern[str] = NEVER  # calls in a test that skip it
    hooks: re.Pattern[str] = (
        NEVER  # functions, annotations or calls with a block that run around tests
    )
    fixtures: re.Pattern[str] = (
        NEVER  # calls that define what tests are given, by their first argument
    )
    assertions: re.Pattern[str] = NEVER  # callees, with "(…)" for arguments


@dataclass(frozen=True, slots=True)
class Table:
    """One language. Node kinds are those of its grammar."""

    kinds: Mapping[str, SymbolKind]  # of nodes that define something
    calls: Mapping[str, Shape]
    links: Mapping[
        str, str
    ]  # member access: the field of what is accessed; "" for the first named child
    strings: frozenset[str]
    identifiers: frozenset[str]
    define: Callable[[Source, "Node"], Iterable[Named]] | None = None  # None: the field "name"
    holders: frozenset[str] = frozenset()  # nodes that define nothing and are looked into
    wrappers: frozenset[str] = frozenset()  # holders of one definition: a comment above is about it
    misread: frozenset[str] = (
        frozenset()
    )  # nodes that are no declarations, where the grammar took one for another thing
    bodies: frozenset[str] = frozenset()  # bodies of definitions, where no field is called so
    marks: frozenset[str] = frozenset()  # annotations
    imports: Mapping[str, Callable[[Source, "Node"], Iterable[Import]]] = field(
        default_factory=dict
    )
    families: Mapping[str, Family] = field(default_factory=dict)
    throws: frozenset[str] = frozenset()
    raising: re.Pattern[str] = NEVER  # callees that raise
    checks: Mapping[str, re.Pattern[str]] = field(
        default_factory=dict
    )  # assertions that are no calls, by their text
    parameters: Mapping[str, str] = field(default_factory=dict)  # node kind -> field of the name
    imposed: re.Pattern[str] = (
        NEVER  # searched in a signature: its parameters are not the author's choice
    )
    embedded: re.Pattern[str] = NEVER  # variables in strings that the grammar does not show
    tests: Tests = field(default_factory=Tests)

    def named(self, source: Source, node: "Node") -> Iterable[Named]:
        """The names that a node of one of `kinds` defines."""
        if self.define is not None:
            return self.define(source, node)
        return by_name(source, node, self.kinds[node.type])

    def body(self, node: "Node") -> "Node | None":
        """The body of a definition."""
        found = node.child_by_field_name("body")
        return found or next(
            (child for child in node.named_children if child.type in self.bodies), None
        )

    def parts(self, node: "Node") -> Parts:
        """A node of one of `calls`, taken apart."""
        shape = self.calls[node.type]
        children = node.named_children
        function = child(node, shape.function)
        arguments, block, inner = node.child_by_field_name("arguments"), None, None
        for part in children[1:]:
            for of in part.named_children if part.type == "call_suffix" else (part,):
                if of.type in _BLOCKS:
                    block = of
                elif of.type in _ARGUMENTS:
                    arguments = of
        if (
            block is not None
            and arguments is None
            and function is not None
            and function.type == node.type
        ):
            last = function.named_children[-1:]
            if last and last[0].type in _ARGUMENTS:
                return self.parts(function)._replace(block=block, inner=function)
        return Parts(
            function,
            child(node, shape.receiver) if shape.receiver else None,
            arguments,
            block,
            inner,
        )


def child(node: "Node", field_name: str) -> "Node | None":
    """The child in a field; the first named one for ""."""
    if field_name:
        return node.child_by_field_name(field_name)
    return node.named_children[0] if node.named_children else None


def by_name(source: Source, node: "Node", kind: SymbolKind) -> list[Named]:
    """The definition whose name is the node's field "name"."""
    name = node.child_by_field_name("name")
    return [Named(source.fold(name, 400), kind)] if name is not None else []


def words_before(source: Source, node: "Node", end: "Node | None") -> str:
    """The text of a node up to another one in it."""
    return source.fold_between(
        node.start_byte, end.start_byte if end is not None else node.end_byte
    )


def entries(source: Source, node: "Node") -> list[tuple[str, str]]:
    """The names a node gives to members of an enum, with what stands behind each."""
    names = node.children_by_field_name("name") or node.named_children[:1]
    ends = [*(name.start_byte for name in names[1:]), node.end_byte]
    return [
        (source.fold(name), source.fold_between(name.end_byte, end, 120).strip(" =,;"))
        for name, end in zip(names, ends, strict=True)
    ]


def typed(source: Source, node: "Node") -> list[tuple[str, str]]:
    """The field that a node with a name and a type declares."""
    name, of = node.child_by_field_name("name"), node.child_by_field_name("type")
    return (
        [(source.fold(name), source.fold(of, 120) if of is not None else "")]
        if name is not None
        else []
    )
