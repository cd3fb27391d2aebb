"""Tests that are declared by calls: `it("…") { … }` in any language whose table names what is called."""

import re
from typing import TYPE_CHECKING

from preread.syntax.grammars import Source, first_line, last_line
from preread.syntax.model import TestCase
from preread.syntax.table import TYPES, Parts, Table
from preread.syntax.text import nested

if TYPE_CHECKING:
    from tree_sitter import Node

_LAST = re.compile(r"[`#]?(\w+[!?]?)`?$")
_CLOSURES = frozenset(
    (
        "anonymous_function",
        "anonymous_function_creation_expression",
        "arrow_function",
        "lambda_literal",
    )
)
_PENDING = re.compile(r"[xf](?=[a-z])|pending|skip|ignore|disabled|todo|broken", re.IGNORECASE)
_MARK_KINDS = frozenset(("simple_symbol", "pair"))


def call_tests(source: Source, table: Table) -> list[TestCase]:
    """The tests of a parsed file that calls declare, by one iterative walk."""
    return _Walk(source, table).run()


class _Walk:
    def __init__(self, source: Source, table: Table) -> None:
        self.source = source
        self.table = table
        self.tests: list[TestCase] = []
        self._groups: dict[
            int, str
        ] = {}  # of blocks that stand behind the call that names them, by their offset

    def run(self) -> list[TestCase]:
        """Every test in the order of the text."""
        table = self.table
        stack: list[tuple[Node, str]] = [(self.source.root, "")]
        while stack:
            node, group = stack.pop()
            if node.type in table.calls:
                group = self._call(node, group)
            elif table.kinds.get(node.type) in TYPES:
                found = next(iter(table.named(self.source, node)), None)
                group = (
                    nested(group, found.name, " > ") if found is not None and found.name else group
                )
            elif node.start_byte in self._groups and node.type == "compound_statement":
                group = self._groups[node.start_byte]
            stack.extend((child, group) for child in reversed(node.named_children))
        return self.tests

    def _call(self, node: "Node", group: str) -> str:
        """The group of what stands inside of a call."""
        tests = self.table.tests
        parts = self.table.parts(node)
        name = self._name(parts)
        is_case = tests.cases.fullmatch(name) is not None
        if not is_case and not tests.groups.fullmatch(name):
            return group
        block = parts.block or self._behind(node)
        closure = block or self._closure(parts.arguments)
        title = self._title(parts, name)
        if not title and tests.untitled.fullmatch(name):
            title = self.source.fold(node, 80)
        if closure is None or not title:
            return group
        if is_case:
            end = (
                last_line(block)
                if block is not None and block.end_byte > node.end_byte
                else last_line(node)
            )
            self.tests.append(
                TestCase(title, first_line(node), end, group, (), self._marks(node, parts, name))
            )
        inside = nested(group, title, " > ")
        if block is not None and block.start_byte >= node.end_byte:
            self._groups[block.start_byte] = inside
            return group
        return inside

    def _name(self, parts: Parts) -> str:
        """The last link of what is called; '"' for a string that is called."""
        function = parts.function
        if function is None:
            return ""
        if function.type in self.table.strings:
            return '"'
        found = _LAST.search(self.source.fold(function))
        return found[1] if found else ""

    def _title(self, parts: Parts, name: str) -> str:
        if name == '"' and parts.function is not None:
            return self.source.fold(parts.function).strip('"')
        given = parts.arguments.named_children if parts.arguments is not None else []
        for argument in given[:2]:  # a fixture's class may stand before the title
            part = argument
            while part.type in ("argument", "value_argument") and part.named_children:
                part = part.named_children[-1]
            if part.type in self.table.strings:
                return self.source.fold(part).strip("\"'")
        first = self.source.fold(given[0], 80) if given else ""
        return (
            first
            if first and self.table.tests.groups.fullmatch(name) and re.fullmatch(r"[\w:.]+", first)
            else ""
        )

    def _marks(self, node: "Node", parts: Parts, name: str) -> tuple[str, ...]:
        given = parts.arguments.named_children if parts.arguments is not None else []
        marks = [self.source.fold(argument) for argument in given if argument.type in _MARK_KINDS]
        if name[:1] in "xf" and _PENDING.match(name):
            marks.insert(0, name)
        outer = node.parent
        if outer is not None and (
            outer.type in self.table.links or outer.type == "member_call_expression"
        ):  # test(…)->skip()
            behind = self.source.fold_between(node.end_byte, outer.end_byte)
            marks += [behind] if _PENDING.search(behind) else []
        return tuple(marks)

    def _behind(self, node: "Node") -> "Node | None":
        """The block after a call that is a macro with a body: the grammar sees two statements."""
        parent = node.parent
        if parent is None or parent.type not in ("expression_statement", "ERROR"):
            return None
        following = parent.next_named_sibling
        return (
            following if following is not None and following.type == "compound_statement" else None
        )

    def _closure(self, arguments: "Node | None") -> "Node | None":
        for argument in arguments.named_children if arguments is not None else ():
            for part in (argument, *argument.named_children):
                if part.type in _CLOSURES:
                    return part
        return None
