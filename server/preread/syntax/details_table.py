"""Details of a file, read by the table of its language."""

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from preread.languages import role_of
from preread.syntax.details_walk import SUBSCRIPTS, Collector, Handler
from preread.syntax.grammars import Source, first_line
from preread.syntax.model import Details, Member, Outline, Symbol
from preread.syntax.table import NEVER, TYPES, Parts, Table, child

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_LINKS = 40  # of a call chain that a callee spells out
_PLAIN = re.compile(r"[@$&~\\]?\$?[\w:\\.`?!]+")
_TYPE_ARGUMENTS = re.compile(r"<[^<>()]*>")
_CONTENT = re.compile(r"content|text|escape|str_part|escaped")
_BEFORE_VALUE = re.compile(r"^#\s*define\s+\w+\s*|^[^=]*=\s*")
_TRANSPARENT = frozenset(
    "try_expression await_expression unary_expression postfix_expression optional_chaining_expression".split()
)
_CARRIERS = frozenset(
    "argument value_argument array list array_creation_expression array_element_initializer array_literal"
    " dictionary_literal collection_literal initializer_list initializer_pair initializer_expression hash pair"
    " binary_expression additive_expression parenthesized_expression concatenated_string"
    " implicit_array_creation_expression element_value tuple_expression chained_string".split()
)
_KEYS = {"pair": "key", "argument": "name", "value_argument": "name"}


def details_table(source: Source, outline: Outline, table: Table) -> Details:
    """The details of a parsed file."""
    collector = _Collector(source, outline, table)
    found = collector.run()
    members = (*found.members, *collector.constants())
    return found._replace(members=tuple(sorted(members, key=lambda member: member.line)))


class _Collector(Collector):
    carriers = _CARRIERS

    def __init__(self, source: Source, outline: Outline, table: Table) -> None:
        super().__init__(source, outline)
        self.table = table
        self.strings = table.strings
        self.identifiers = table.identifiers
        self.in_tests = role_of(source.path) in ("test", "support")
        self._by_start: dict[int, Symbol] = {
            symbol.start: symbol
            for symbol in reversed(outline.symbols)
            if symbol.kind in ("function", "method")
        }
        self._types = [symbol for symbol in outline.symbols if symbol.kind in TYPES]
        self._type_starts = [symbol.start for symbol in self._types]
        self._asserted: set[int] = set()  # offsets at which a recorded chain of calls starts
        self._inner: set[int] = set()  # ids of nodes that are a part of a call that is recorded

    def handlers(self) -> dict[str, Handler]:
        table = self.table
        functions = [kind for kind, of in table.kinds.items() if of in ("function", "method")]
        handlers: dict[str, Handler] = dict.fromkeys(functions, self._function)
        if table.embedded is not NEVER:
            handlers |= dict.fromkeys(table.strings, self._string)
        handlers |= dict.fromkeys(table.families, self._family)
        handlers |= dict.fromkeys(table.throws, self._throw)
        handlers |= dict.fromkeys(table.checks, self._check)
        return handlers | dict.fromkeys(table.calls, self._call)

    def constants(self) -> list[Member]:
        """The constants of the outline: the signature holds the value."""
        return [
            Member(
                s.name,
                _BEFORE_VALUE.sub("", s.signature, count=1)[:120],
                s.start,
                s.container.rpartition(".")[2],
                "constant",
            )
            for s in self.outline.symbols
            if s.kind == "constant"
        ]

    def _call(self, node: "Node", hook: str) -> str:
        if node.id in self._inner:
            return hook
        if node.type in self.table.families:
            self._family(node, hook)
        parts = self.table.parts(node)
        if parts.inner is not None:
            self._inner.add(parts.inner.id)
        callee = self._callee_of(node, parts)
        self.add_call(node, callee, parts.arguments, hook)
        tests = self.table.tests
        if (
            self.in_tests
            and tests.assertions.fullmatch(callee)
            and node.start_byte not in self._asserted
        ):
            self._asserted.add(node.start_byte)
            self.add_assertion(node)
        if self.table.raising.fullmatch(callee):
            self._raise(node, callee, parts)
        if parts.block is None and parts.arguments is None:
            return hook
        if (
            tests.fixtures.fullmatch(callee)
            and parts.arguments is not None
            and parts.arguments.named_children
        ):
            return "fixture:" + self.source.fold(parts.arguments.named_children[0], 80).strip(
                ":\"'"
            )
        return callee if tests.hooks.fullmatch(callee) else hook

    def _raise(self, node: "Node", callee: str, parts: Parts) -> None:
        """A call that raises: what is raised may be its first argument."""
        given = parts.arguments.named_children if parts.arguments is not None else []
        first = given[0] if given else None
        if first is not None and first.type in self.table.calls:  # raise CartError.new("…")
            callee = self._callee_of(first, self.table.parts(first)).removesuffix(".new")
        elif first is not None and first.type in ("constant", "scope_resolution"):
            callee = self.source.fold(first)
        self.add_raise(node, callee, node)

    def _throw(self, node: "Node", hook: str) -> str:
        value = node.named_children[-1] if node.named_children else None
        if (
            value is not None
            and value.type in self.table.calls
            and self.source.fold(node, 8).startswith("throw")
        ):
            exception = self._callee_of(value, self.table.parts(value)).removeprefix("new ")
            self.add_raise(node, exception, value)
        return hook

    def _check(self, node: "Node", hook: str) -> str:
        pattern = self.table.checks[node.type]
        if (
            self.in_tests
            and node.start_byte not in self._asserted
            and pattern.search(self.source.fold(node))
        ):
            self._asserted.add(node.start_byte)
            self.add_assertion(node)
        return hook

    def _string(self, node: "Node", hook: str) -> str:
        for name in self.table.embedded.findall(self.source.text(node)):
            self.note_use(name, node.start_byte)
        return hook

    def _family(self, node: "Node", hook: str) -> str:
        family = self.table.families[node.type]
        owner = self._owner(first_line(node))
        for name, value in family.read(self.source, node):
            self.add_member(node, name, value, owner, family.kind)
        return hook

    def _owner(self, line: int) -> str:
        """The innermost type on a line."""
        found = self._type_at(line)
        return found.name if found is not None else ""

    def _type_at(self, line: int) -> Symbol | None:
        at = bisect_right(self._type_starts, line)
        for symbol in reversed(self._types[max(0, at - 50) : at]):
            if symbol.end >= line:
                return symbol
        return None

    def _function(self, node: "Node", hook: str) -> str:
        symbol = self._symbol_of(node)
        if symbol is None:
            return hook
        body = self.table.body(node)
        if body is not None and self.table.parameters and not self._is_imposed(symbol, body):
            # Some grammars have the parameters in a list of their own, some right in the function.
            for held in (
                node,
                *(
                    part
                    for part in node.named_children
                    if part.type.endswith(("parameters", "parameter_list"))
                ),
            ):
                for part in held.named_children:
                    if part.type in self.table.parameters:
                        names = (
                            part.children_by_field_name(self.table.parameters[part.type])
                            or part.named_children[:1]
                        )
                        name = next(
                            (
                                n
                                for n in names
                                if n.type in self.identifiers and n.start_byte < body.start_byte
                            ),
                            None,
                        )
                        if name is not None:
                            self.add_parameter(
                                name, self.source.text(name), symbol.name, body.end_byte
                            )
        hooks = self.table.tests.hooks
        if not self.in_tests:
            return hook
        marked = next(
            (found[0] for mark in symbol.decorators if (found := hooks.search(mark.strip("@[]#")))),
            "",
        )
        return marked or (symbol.name if hooks.fullmatch(symbol.name) else hook)

    def _symbol_of(self, node: "Node") -> Symbol | None:
        """The outline's symbol of a function: annotations may stand on lines before it."""
        last = node.end_point[0] + 1
        for line in range(first_line(node), min(last, first_line(node) + 12) + 1):
            symbol = self._by_start.get(line)
            if symbol is not None:
                return symbol if symbol.end <= last else None
        return None

    def _is_imposed(self, symbol: Symbol, body: "Node") -> bool:
        """Whether somebody else says which parameters a function takes; or it is only a stub."""
        inside = self.source.fold(body, 60).strip("{} ;")
        if (
            not inside
            or re.match(r"throw|TODO|fatalError|return null$", inside)
            or self.table.imposed.search(symbol.signature)
        ):
            return True
        outer = self._type_at(symbol.start)
        inherits = outer is not None and (
            outer.kind == "interface"
            or re.search(r"\w\W*:|\b(extends|implements)\b", outer.signature) is not None
        )
        return inherits and "private" not in symbol.signature

    def callee(self, node: "Node | None") -> str:
        """A callee as written, without arguments: "expect(…).toBe"."""
        links: list[str] = []
        while node is not None:
            if len(links) >= _MAX_LINKS:
                links.append("…")
                break
            kind = node.type
            if kind in self.table.calls:
                parts = self.table.parts(node)
                shape = self.table.calls[kind]
                links.append(
                    "(…)" if parts.arguments is not None or parts.block is not None else ""
                )
                if parts.receiver is not None and parts.function is not None:
                    links.append(self._between(parts.receiver.end_byte, parts.function.end_byte))
                    node = parts.receiver
                elif shape.prefix:
                    links.append(shape.prefix + self._first(parts.function))
                    break
                else:
                    node = parts.function
            elif kind in self.table.links:
                inner = child(node, self.table.links[kind])
                links.append(
                    self._between(inner.end_byte, node.end_byte) if inner is not None else ""
                )
                node = inner
            elif kind in SUBSCRIPTS:
                links.append("[…]")
                node = child(node, "")
            elif kind in _TRANSPARENT and node.named_children:
                inner = node.named_children[-1]
                links.append(self._between(inner.end_byte, node.end_byte)[:3])
                node = inner
            else:
                links.append(self._first(node))
                break
        return "".join(reversed(links))

    def _callee_of(self, node: "Node", parts: Parts) -> str:
        """The callee of a call, whose own arguments are left out."""
        prefix = self.table.calls[node.type].prefix
        if prefix:
            return prefix + self._first(parts.function)
        if parts.receiver is not None and parts.function is not None:
            return self.callee(parts.receiver) + self._between(
                parts.receiver.end_byte, parts.function.end_byte
            )
        return self.callee(parts.function)

    def _between(self, start: int, end: int) -> str:
        return _TYPE_ARGUMENTS.sub("", self.source.fold_between(start, end).replace(" ", ""))

    def _first(self, node: "Node | None") -> str:
        if node is None:
            return ""
        if node.type in self.strings:
            return '"…"'
        text = _TYPE_ARGUMENTS.sub("", self.source.fold(node)).strip()
        if _PLAIN.fullmatch(text):
            return text
        return "(…)" if text.startswith("(") else "…"

    def key(self, node: "Node") -> "Node | None":
        name = node.child_by_field_name(_KEYS[node.type]) if node.type in _KEYS else None
        if (
            name is None
            and node.type == "value_argument"
            and len(node.children) > 2
            and node.children[1].type == "="
        ):
            return node.children[0]
        return name

    def raw(self, string: "Node") -> str:
        """The text between the quotes of a string node, as it stands in the source."""
        quotes = [part for part in string.children if not part.is_named]
        if len(quotes) < 2:
            return self.source.text(string).lstrip("@$LuU8R").strip("\"'`")
        return self.source.data[quotes[0].end_byte : quotes[-1].start_byte].decode(
            "utf-8", "ignore"
        )

    def runs_of(self, string: "Node") -> list[str]:
        """The literal parts of a string."""
        runs = [""]
        for part in string.named_children:
            if _CONTENT.search(part.type):
                runs[-1] += self.source.text(part)
            else:
                runs.append("")
        return runs if string.named_children else [self.raw(string)]
