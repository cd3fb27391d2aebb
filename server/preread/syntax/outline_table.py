"""Definitions, tests and imports of a file, read by the table of its language."""

import re
from typing import TYPE_CHECKING, NamedTuple

from preread.languages import role_of
from preread.syntax.call_tests import call_tests
from preread.syntax.grammars import Source, first_line, last_line
from preread.syntax.model import Import, Outline, Symbol, SymbolKind, TestCase
from preread.syntax.table import NEVER, TYPES, Named, Table
from preread.syntax.text import comment_text, first_sentence, nested

if TYPE_CHECKING:
    from tree_sitter import Node

_TAIL = re.compile(r"(\s*;?\s+end|[\s;{=(]+)$")
_WRAPPERS = frozenset(("modifiers", "attribute_list"))
_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>")
_MOST_LINES = 4000  # of a test, searched for what skips it


def outline_table(source: Source, table: Table) -> Outline:
    """The outline of a parsed file."""
    walk = _Walk(source, table)
    walk.run()
    found = Outline(
        tuple(sorted(walk.symbols, key=lambda symbol: (symbol.start, -symbol.end))),
        tuple(sorted(walk.tests, key=lambda test: (test.start, -test.end))),
        tuple(sorted(walk.imports, key=lambda found: found.line)),
    )
    if not source.root.has_error and not walk.misread:
        return found
    from preread.syntax.mending import mended

    return mended(source, table, found, walk.misread)


class _Block(NamedTuple):
    """Nodes to look into, and what is known of the place."""

    node: "Node"
    container: str = ""
    in_type: bool = False
    above: tuple["Node", ...] = ()  # comments directly above


class _Walk:
    def __init__(self, source: Source, table: Table) -> None:
        self.source = source
        self.table = table
        self.in_tests = role_of(source.path) == "test"
        self.symbols: list[Symbol] = []
        self.tests: list[TestCase] = []
        self.imports: list[Import] = []
        self.misread: list[Node] = []
        self._stack = [_Block(source.root)]

    def run(self) -> None:
        """Reads the whole file, iteratively."""
        while self._stack:
            self._read(self._stack.pop())
        declared = self.table.tests.declared
        if self.in_tests and declared is not None and declared.search(self.source.data):
            self.tests += call_tests(self.source, self.table)

    def _read(self, block: _Block) -> None:
        table = self.table
        above = list(block.above)
        inherited = bool(
            above
        )  # the comments stand above the holder: what comes first in it may be far below
        ended = -1  # the row on which the last node that is no comment ended
        for node in block.node.named_children:
            kind = node.type
            row = node.start_point[0]
            if above and not inherited and above[-1].end_point[0] + 1 < row:
                above = []
            if kind.endswith("comment"):
                if row != ended:
                    above = [*(above if not inherited else ()), node]
                    inherited = False
                continue
            if kind in table.imports:
                self.imports += table.imports[kind](self.source, node)
            if kind in table.kinds:
                self._define(node, block, above)
            if kind in table.holders or kind == "ERROR":
                self._stack.append(
                    block._replace(node=node, above=tuple(above) if kind in table.wrappers else ())
                )
            elif kind in table.misread:
                self.misread.append(node)
            elif inherited and kind not in table.kinds:
                continue
            above, inherited = [], False
            ended = node.end_point[0]

    def _define(self, node: "Node", block: _Block, above: list["Node"]) -> None:
        body = self.table.body(node)
        marks, after = annotations(self.source, node, self.table)
        for found in self.table.named(self.source, node):
            if not found.name:
                continue
            begin = max(after, found.begin)
            container = nested(block.container, found.owner) if found.owner else block.container
            is_method = found.kind == "function" and (block.in_type or bool(found.owner))
            kind = "method" if is_method else found.kind
            if self._is_test(found, marks, above):
                self._test(node, found, container, marks, begin)
            elif kind != "test":
                self._symbol(node, found, kind, container, (marks, begin, body, above))
            if kind in TYPES and body is not None:
                self._stack.append(_Block(body, nested(container, found.name), in_type=True))

    def _symbol(
        self,
        node: "Node",
        found: Named,
        kind: SymbolKind,
        container: str,
        around: tuple[tuple[str, ...], int, "Node | None", list["Node"]],
    ) -> None:
        marks, begin, body, above = around
        end = body.start_byte if body is not None and body.start_byte > begin else node.end_byte
        if kind == "constant":
            line_end = self.source.data.find(b"\n", begin, end)
            end = line_end if line_end >= 0 else end
        signature = found.signature or self.source.fold_between(begin, end)
        signature = _TAIL.sub("", signature.partition("{")[0] if kind in TYPES else signature)
        text = "\n".join(comment_text(self.source.text(comment)) for comment in above)
        doc = first_sentence(_MARKUP.sub("", text) if "</" in text else text)
        lines = line_at(self.source, node, begin), last_line(node)
        self.symbols.append(Symbol(found.name, kind, *lines, container, signature, doc, marks))

    def _is_test(self, found: Named, marks: tuple[str, ...], above: list["Node"]) -> bool:
        if found.kind not in ("function", "method", "test"):
            return False
        tests = self.table.tests
        return (
            found.kind == "test"
            or any(tests.marks.search(mark) for mark in marks)
            or (self.in_tests and tests.names.fullmatch(found.name) is not None)
            or (
                tests.doc is not NEVER
                and any(tests.doc.search(self.source.text(comment)) for comment in above)
            )
        )

    def _test(
        self, node: "Node", found: Named, container: str, marks: tuple[str, ...], begin: int
    ) -> None:
        tests = self.table.tests
        others = [mark for mark in marks if not tests.marks.search(mark) or "(" in mark]
        if tests.skips is not NEVER:
            text = self.source.data[node.start_byte : node.end_byte].decode("utf-8", "ignore")
            for line in text.split("\n")[:_MOST_LINES]:
                skip = tests.skips.search(line)
                others += [skip[0].strip()] if skip else []
        start = line_at(self.source, node, begin)
        self.tests.append(
            TestCase(found.name, start, last_line(node), container, (), tuple(others))
        )


def annotations(source: Source, node: "Node", table: Table) -> tuple[tuple[str, ...], int]:
    """The annotations of a definition, as written, folded; and the offset at which the rest of it begins."""
    marks: list[str] = []
    begin = node.start_byte
    for child in node.named_children if table.marks else ():
        is_mark = child.type in table.marks
        if not is_mark and child.type not in _WRAPPERS:
            continue
        for part in (child,) if is_mark else child.named_children:
            if part.type in table.marks:
                marks.append(source.fold(part))
                begin = part.end_byte
    return tuple(marks), begin


def line_at(source: Source, node: "Node", offset: int) -> int:
    """The 1-based line of the first text of a node at or after an offset."""
    while offset < node.end_byte and source.data[offset : offset + 1].isspace():
        offset += 1
    return first_line(node) + source.data.count(b"\n", node.start_byte, offset)
