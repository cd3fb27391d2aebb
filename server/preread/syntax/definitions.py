"""Extract the definitions and tests of a file in one pass over the captures of its query.

The pass keeps a stack of the open nodes, which gives a definition its container and a test its
group. Comments and decorators right before a definition, or inside it before its name, belong to
it.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from preread.syntax.captures import Captured
from preread.syntax.grammars import Source
from preread.syntax.markers import is_inherited, states_of, without_injected
from preread.syntax.model import Member, Symbol, TestCase
from preread.syntax.open_node import FUNCTIONS, KINDS, TYPES, OpenNode
from preread.syntax.signatures import end_of, line_at, name_of, signature_of, split_name
from preread.syntax.text import comment_text, first_sentence, nested, without_tags

if TYPE_CHECKING:
    from tree_sitter import Node

# Allowed between a comment and its definition: `export const`, `template <typename T>`.
_BETWEEN = re.compile(rb"[\w\s]{0,200}")
_TEMPLATE = re.compile(rb"template\s*<[^;{}()]{0,200}>\s*")


class DefinitionReader:
    """Extracts definitions and tests from captures."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._symbols: list[tuple[int, Symbol]] = []  # with start offsets
        self._tests: list[tuple[int, TestCase]] = []
        self.constants: list[Member] = []
        self._open = [OpenNode("file", "", len(source.data) + 1)]
        self._above: list[Captured] = []  # consecutive comments and decorators
        self._seen: set[tuple[int, ...]] = set()  # spans already captured
        self._aliases: set[str] = set()

    def read(self, found: Iterable[Captured]) -> None:
        """Process the captures in source order."""
        handlers = {
            "definition": self._definition,
            "scope": self._scope,
            "anonymous": self._scope,
            "test": self._test,
            "test.group": self._test,
            "test.row": self._test,
            "test.aliased": self._test,
            "test.alias": self._alias,
            "test.param": self._param,
            "test.skip": self._mark,
            "test.mark": self._mark,
            "comment": self._comment,
            "decorator": self._decorator,
            "decorator.ignored": self._ignored,
            "docstring": self._docstring,
        }
        for entry in found:
            self._close(entry.start)
            handler = handlers.get(entry.role) or handlers.get(entry.role.partition(".")[0])
            if handler is not None:
                handler(entry)
        self._close(len(self.source.data))
        self.constants.sort(key=lambda member: member.line)

    def symbols(self) -> tuple[Symbol, ...]:
        """The definitions, outer ones first."""
        ordered = sorted(self._symbols, key=lambda found: (found[1].start, -found[1].end, found[0]))
        return tuple(symbol for _, symbol in ordered)

    def tests(self) -> tuple[TestCase, ...]:
        """The tests, outer ones first."""
        ordered = sorted(self._tests, key=lambda found: (found[1].start, -found[1].end, found[0]))
        return tuple(test for _, test in ordered)

    def _close(self, offset: int) -> None:
        while self._open[-1].end <= offset:
            closed = self._open.pop()
            if closed.found is None:
                continue
            if closed.is_test:
                self._add_test(closed, closed.found)
            elif closed.kind in KINDS:
                self._add_symbol(closed, closed.found)

    # What opens

    def _definition(self, entry: Captured) -> None:
        kind = KINDS.get(entry.role.partition(".")[2])
        around = self._open[-1]
        name = entry.part("name")
        if kind is None or around.kind == "anonymous" or not self._is_first(entry, name):
            return
        if around.is_test or (kind == "constant" and around.in_function):  # local
            self._open.append(OpenNode("anonymous", "", entry.end))
            return
        words = name_of(self.source, entry, name)
        if words:
            self._push(self._open_definition(entry, kind, words), entry)

    def _open_definition(self, entry: Captured, kind: str, words: str) -> OpenNode:
        """The node of a definition, with its place among the open ones."""
        around, owner = self._open[-1], entry.part("owner")
        outer, last = split_name(words)
        if owner is not None:
            outer = self.source.fold(owner).partition("<")[0].strip().replace("::", ".")
        container = nested(around.inside, outer) if outer else around.inside
        if kind == "function" and (outer or around.kind in TYPES or around.kind == "type-scope"):
            kind = "method"
        inside = nested(container, last) if kind != "type" or entry.part("body") else container
        node = OpenNode(kind, last, entry.end, container, inside)
        node.in_function = kind in FUNCTIONS or (around.in_function and kind not in TYPES)
        node.group = node.group_inside = around.group_inside
        if kind in TYPES:
            node.group_inside = nested(around.group_inside, last)
        return node

    def _scope(self, entry: Captured) -> None:
        around = self._open[-1]
        if entry.role == "anonymous" or around.kind == "anonymous":
            self._open.append(OpenNode("anonymous", "", entry.end))
            return
        named = entry.part("name")
        name = self.source.fold(named).partition("<")[0].strip() if named is not None else ""
        kind = "type-scope" if entry.role == "scope.type" else "scope"
        node = OpenNode(kind, name, entry.end, around.inside, nested(around.inside, name))
        node.group_inside = nested(around.group_inside, name)
        node.inherits = around.inherits
        node.in_function = around.in_function
        self._open.append(node)

    def _test(self, entry: Captured) -> None:
        if not self._declares_test(entry):
            return
        runner = entry.part("runner")
        states = states_of(self.source.fold(runner, 400)) if runner is not None else []
        node = self._open_test(entry)
        node.markers = [*states, *self._other_markers(entry)]
        self._push(node, entry)
        if node.kind == "group":
            states = [f"describe{mark}" if mark[0] == "." else mark for mark in states]
            node.inherits = [*states, *node.inherits]

    def _declares_test(self, entry: Captured) -> bool:
        """Whether a capture is a test or group where it is; records it."""
        around = self._open[-1]
        if entry.role == "test.aliased" and not self._is_alias(entry.part("runner")):
            return False
        if entry.role == "test.row" and around.kind != "test":
            return False
        return around.kind != "anonymous" and self._is_first(entry, entry.part("name"), alone=True)

    def _open_test(self, entry: Captured) -> OpenNode:
        """The node of a test or group, with its place among the open ones."""
        around, body, owner = self._open[-1], entry.part("body"), entry.part("owner")
        kind = "group" if entry.role == "test.group" else "test"
        name = name_of(self.source, entry, entry.part("name")) or self.source.fold(entry.node, 80)
        end = max(entry.end, body.end_byte if body is not None else 0)
        group = self.source.fold(owner) if owner is not None else around.group_inside
        node = OpenNode(kind, name, end, around.inside, around.inside, group)
        if entry.role == "test" and entry.part("runner") is None:
            node.inside = nested(around.inside, name)
        node.group_inside = nested(group, name, " > ")
        node.in_function = True
        node.is_test = kind == "test"
        return node

    def _other_markers(self, entry: Captured) -> list[str]:
        """The markers of a test besides those in its runner's name."""
        markers = [self.source.fold(mark) for mark in entry.parts.get("mark", ())]
        chained = entry.part("chained")
        if chained is not None:
            markers.append(self.source.fold_between(chained.end_byte, entry.end))
        return markers

    def _push(self, node: OpenNode, entry: Captured) -> None:
        """Open a node, with the comments and decorators above it."""
        node.found, node.begin = entry, entry.start
        around = self._open[-1]
        above = self._above if self._is_adjacent(self._above, entry.start) else []
        for leading in above:
            if not leading.role.startswith("comment"):
                self._decorate(node, leading)
            elif not self._is_trailing(leading):
                node.comments.append(comment_text(self.source.text(leading.node)))
                is_test = leading.role == "comment.test" and node.kind in ("function", "method")
                node.is_test = node.is_test or is_test
        self._above = []
        node.inherits = [*filter(is_inherited, node.decorators), *around.inherits]
        self._open.append(node)

    def _decorate(self, node: OpenNode, entry: Captured) -> None:
        """Add a decorator, unless it only marks a function as a test."""
        text = self.source.fold(entry.node)
        if entry.role != "decorator.test" or "(" in text or node.kind not in FUNCTIONS:
            node.decorators.append(text)
        if entry.role == "decorator.test" and node.kind in ("function", "method"):
            node.is_test = True

    def _is_first(self, entry: Captured, name: "Node | None", *, alone: bool = False) -> bool:
        """Whether no earlier pattern captured this node with this name; records it."""
        span = (entry.start, entry.end)
        key = (*span, name.start_byte) if name is not None else span
        named = (name.start_byte,) if name is not None else span
        if not self._seen.isdisjoint((span, key, named)):
            return False
        self._seen.add(key)
        if alone:  # a test: no other definition may use the node or its name
            self._seen.update((span, named))
        return True

    # Parts of the open nodes

    def _comment(self, entry: Captured) -> None:
        around = self._open[-1]
        if around.begin and not self.source.data[around.begin : entry.start].strip():
            around.begin = entry.end  # between the decorators and the definition
            return
        if not self._is_trailing(entry) or (
            self._above and self._is_adjacent(self._above, entry.start)  # behind an attribute
        ):
            self._add_above(entry)

    def _is_trailing(self, entry: Captured) -> bool:
        """Whether a comment is about the code before it on its line."""
        start = self.source.data.rfind(b"\n", 0, entry.start) + 1
        return bool(self.source.data[start : entry.start].strip())

    def _add_above(self, entry: Captured) -> None:
        if not self._is_first(entry, None) or (self._above and entry.start < self._above[-1].end):
            return
        if not self._is_adjacent(self._above, entry.start):
            self._above = []
        self._above.append(entry)

    def _decorator(self, entry: Captured) -> None:
        around = self._open[-1]
        name = around.found.part("name") if around.found is not None else None
        if name is not None and entry.start < name.start_byte:
            if self._is_first(entry, None):
                self._decorate(around, entry)
            around.begin = max(around.begin, entry.end)
            around.inherits = [*filter(is_inherited, around.decorators), *self._open[-2].inherits]
            return
        self._add_above(entry)

    def _ignored(self, entry: Captured) -> None:
        self._open[-1].begin = entry.end

    def _is_adjacent(self, above: list[Captured], start: int) -> bool:
        """Whether only words, and no empty line, separate these from an offset."""
        if not above:
            return True
        between = _TEMPLATE.sub(b"", self.source.data[above[-1].end : start][:600])
        return between.count(b"\n") <= 1 and _BETWEEN.fullmatch(between) is not None

    def _docstring(self, entry: Captured) -> None:
        around = self._open[-1]
        if not around.docstring:
            around.docstring = self.source.text(entry.node)

    def _param(self, entry: Captured) -> None:
        around, owner = self._open[-1], entry.part("owner")
        if not around.is_test or around.found is None or owner is None:
            return
        if around.found.start <= owner.start_byte and owner.end_byte == around.found.end:
            around.params.append(self.source.fold(entry.node))

    def _mark(self, entry: Captured) -> None:
        text = self.source.fold(entry.node)
        if (entry.start, entry.end) in self._seen:  # `test.skip("…", …)` declares a test itself
            return
        around = next((each for each in reversed(self._open) if each.is_test), self._open[-1])
        (around.skips if around.is_test else around.inherits).append(text)

    def _alias(self, entry: Captured) -> None:
        self._aliases.add(self.source.text(entry.node))

    def _is_alias(self, runner: "Node | None") -> bool:
        return runner is not None and self.source.fold(runner).partition(".")[0] in self._aliases

    # Closed nodes

    def _add_symbol(self, closed: OpenNode, entry: Captured) -> None:
        value = entry.part("value")
        kind = KINDS[closed.kind]
        doc = closed.docstring or "\n".join(closed.comments)
        shipped = entry.part("doc")  # from a query shipped with the grammar
        if shipped is not None and not doc:
            doc = comment_text(self.source.text(shipped))
        start, end = line_at(self.source, entry.node, closed.begin), end_of(entry)
        signature = signature_of(self.source, entry, closed.begin, closed.kind)
        decorators = tuple(closed.decorators)
        sentence = first_sentence(without_tags(doc))
        symbol = Symbol(
            closed.name, kind, start, end, closed.container, signature, sentence, decorators
        )
        self._symbols.append((entry.start, symbol))
        if kind == "constant" and value is not None:
            text = self.source.fold_between(value.start_byte, value.end_byte, 120)
            owner = closed.container.rpartition(".")[2]
            self.constants.append(Member(closed.name, text, start, owner, "constant"))

    def _add_test(self, closed: OpenNode, entry: Captured) -> None:
        above = self._open[1:]
        outer = [*self._open[0].inherits, *(above[-1].inherits if above else ())]
        params = without_injected(closed.decorators + outer, closed.params)
        markers = tuple(dict.fromkeys((*closed.decorators, *closed.markers, *outer, *closed.skips)))
        start = line_at(self.source, entry.node, closed.begin)
        end, group = end_of(entry), closed.group
        is_row = entry.role == "test.row"
        test = TestCase(closed.name, start, end, group, tuple(params), markers, is_row)
        self._tests.append((entry.start, test))
