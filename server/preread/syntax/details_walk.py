"""The walk through a syntax tree that gathers details; each language adds its own handlers."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preread.syntax.grammars import Source, first_line, last_line
from preread.syntax.model import (
    Assertion,
    Attribute,
    Call,
    Comment,
    Details,
    Member,
    MemberKind,
    Outline,
    Parameter,
    Raise,
    Symbol,
    TestCase,
)
from preread.syntax.text import comment_text, longest_run

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_LINKS = 40  # of a call chain that a callee spells out
_MAX_LITERALS = 60  # of one call
_STRINGS = frozenset(
    (
        "string",
        "template_string",
        "interpreted_string_literal",
        "raw_string_literal",
        "string_literal",
    )
)
_NAMES = frozenset(
    "identifier this super self import field_identifier type_identifier package_identifier property_identifier"
    " scoped_identifier crate".split()
)
SUBSCRIPTS = frozenset(("subscript_expression", "subscript", "index_expression", "array_access"))
_MEMBERS = {
    "member_expression": ("object", "property"),
    "attribute": ("object", "attribute"),
    "selector_expression": ("operand", "field"),
    "field_expression": ("value", "field"),
    "field_access": ("object", "field"),
}
_CALLS = frozenset(("call_expression", "call"))
_TRANSPARENT = frozenset(
    ("non_null_expression", "generic_function", "type_instantiation_expression")
)
# Arguments in which literals still count as given to the call.
_CARRIERS = frozenset(
    "array list tuple set object dictionary pair keyword_argument parenthesized_expression spread_element as_expression"
    " satisfies_expression concatenated_string binary_expression binary_operator ternary_expression"
    " conditional_expression list_splat literal_value literal_element keyed_element composite_literal"
    " reference_expression array_expression tuple_expression unary_expression element_value_array_initializer"
    " token_tree".split()
)
_KEYS = {"pair": "key", "keyword_argument": "name", "keyed_element": "key"}

Handler = Callable[["Node", str], str]


@dataclass(frozen=True, slots=True)
class _Pending:
    name: str
    function: str
    line: int
    start: int  # byte range in which a use counts
    end: int


class Collector:
    """Gathers details of one file. A handler takes (node, hook) and returns the hook for the node's children."""

    identifiers = frozenset(("identifier", "shorthand_property_identifier"))
    strings = _STRINGS
    carriers = _CARRIERS
    see_all = frozenset[str]()  # names whose use reads every parameter: locals, arguments

    def __init__(self, source: Source, outline: Outline) -> None:
        self.source = source
        self.outline = outline
        self.test_lines = {test.start for test in outline.tests}
        self.calls: list[Call] = []
        self.assertions: list[Assertion] = []
        self.members: list[Member] = []
        self.raises: list[Raise] = []
        self.attributes: list[Attribute] = []
        self.not_uses: set[int] = (
            set()
        )  # offsets of identifiers that name a property, not a variable
        self._comments: list[Node] = []
        self._pending: list[_Pending] = []
        self._uses: dict[str, list[int]] = defaultdict(list)
        self._within = _names_by_line((*outline.symbols, *outline.tests))

    def handlers(self) -> dict[str, Handler]:
        """The handlers by node type."""
        raise NotImplementedError

    def run(self) -> Details:
        """Walks the whole tree, iteratively, in the order of the text."""
        handlers = self.handlers()
        stack: list[tuple[Node, str]] = [(self.source.root, "")]
        while stack:
            node, hook = stack.pop()
            kind = node.type
            if kind in self.identifiers:
                if node.start_byte not in self.not_uses:
                    self._uses[self.source.text(node)].append(node.start_byte)
                continue
            if kind.endswith("comment"):
                self._comments.append(node)
                continue
            handler = handlers.get(kind)
            if handler is not None:
                hook = handler(node, hook)
            stack.extend((child, hook) for child in reversed(node.named_children))
        return Details(
            tuple(self.calls),
            tuple(self._joined_comments()),
            tuple(self.assertions),
            tuple(sorted(self.members, key=lambda member: member.line)),
            tuple(self.raises),
            tuple(self._parameters()),
            tuple(self.attributes),
        )

    def within(self, line: int) -> str:
        """The name of the innermost test or symbol on a line, "" at module level."""
        return self._within.get(line, "")

    def add_call(self, node: "Node", callee: str, arguments: "Node | None", hook: str) -> None:
        """Records a call expression."""
        literals, keywords = self.arguments(arguments)
        line = first_line(node)
        text = self.source.fold(node, 120)
        self.calls.append(
            Call(callee, text, line, last_line(node), literals, keywords, self.within(line), hook)
        )

    def add_assertion(self, node: "Node") -> None:
        """Records a check."""
        line = first_line(node)
        self.assertions.append(
            Assertion(self.source.fold(node, 200), line, last_line(node), self.within(line))
        )

    def add_member(
        self, node: "Node", name: str, value: "Node | str | None", owner: str, kind: MemberKind
    ) -> None:
        """Records a member of a family at the node's line."""
        text = (
            self.source.fold(value, 120)
            if value is not None and not isinstance(value, str)
            else value or ""
        )
        self.members.append(Member(name, text, first_line(node), owner, kind))

    def add_raise(self, node: "Node", exception: str, value: "Node | None") -> None:
        """Records an error with the longest literal run found in its arguments; none without one."""
        message = longest_run(self.literal_runs(value)) if value is not None else ""
        if message:
            line = first_line(node)
            self.raises.append(Raise(message, exception, line, self.within(line)))

    def add_parameter(self, node: "Node", name: str, function: str, end: int) -> None:
        """Notes a parameter; whether it is used is known once the walk is over."""
        if name and not name.startswith("_"):
            self._pending.append(_Pending(name, function, first_line(node), node.end_byte, end))

    def note_use(self, name: str, offset: int) -> None:
        """Notes that a name stands at an offset where the grammar shows no identifier."""
        self._uses[name].append(offset)

    def callee(self, node: "Node | None") -> str:
        """A callee as written, without arguments: "expect(…).toBeVisible"."""
        parts: list[str] = []
        while node is not None:
            kind = node.type
            if len(parts) >= _MAX_LINKS:
                parts.append("…")
                break
            if kind in _MEMBERS:
                inner, name = (node.child_by_field_name(field) for field in _MEMBERS[kind])
                if inner is None or name is None:
                    break
                parts.append(
                    self.source.fold_between(inner.end_byte, name.end_byte).replace(" ", "")
                )
                node = inner
            elif kind in _CALLS:
                parts.append("(…)")
                node = node.child_by_field_name("function")
            elif kind == "method_invocation":
                parts.append("(…)")
                name, inner = node.child_by_field_name("name"), node.child_by_field_name("object")
                parts.append(
                    (("." if inner is not None else "") + self.source.text(name))
                    if name is not None
                    else ""
                )
                node = inner
            elif kind in SUBSCRIPTS:
                parts.append("[…]")
                node = node.children[0] if node.children else None
            elif kind in _TRANSPARENT:
                if kind == "non_null_expression":
                    parts.append("!")
                node = node.children[0] if node.children else None
            else:
                parts.append(self._first_link(node))
                break
        return "".join(reversed(parts))

    def _first_link(self, node: "Node") -> str:
        if node.type in _NAMES:
            return self.source.fold(node)
        if node.type in _STRINGS:
            return '"…"'
        return "(…)" if node.type == "parenthesized_expression" else "…"

    def arguments(self, node: "Node | None") -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The string literals and the keyword or property names in an argument list."""
        literals: list[str] = []
        keywords: list[str] = []
        stack = list(reversed(node.named_children)) if node is not None else []
        while stack and len(literals) < _MAX_LITERALS:
            child = stack.pop()
            kind = child.type
            if kind in self.strings:
                literals.append(self.raw(child))
            elif (key := self.key(child)) is not None:
                keywords.append(self.source.fold(key).strip("'\""))
                stack.extend(part for part in reversed(child.named_children) if part != key)
            elif kind in ("shorthand_property_identifier", "method_definition"):
                name = child.child_by_field_name("name") or child
                keywords.append(self.source.fold(name))
            elif kind in self.carriers:
                stack.extend(reversed(child.named_children))
        return tuple(literals), tuple(keywords)

    def key(self, node: "Node") -> "Node | None":
        """The name under which an argument or a property is passed."""
        return node.child_by_field_name(_KEYS[node.type]) if node.type in _KEYS else None

    def raw(self, string: "Node") -> str:
        """The text between the quotes of a string node, as it stands in the source."""
        parts = string.children
        if len(parts) < 2:
            return self.source.text(string).strip("\"'`")
        return self.source.data[parts[0].end_byte : parts[-1].start_byte].decode("utf-8", "ignore")

    def literal_runs(self, node: "Node") -> list[str]:
        """The literal parts of all strings below a node, looking at a bounded number of nodes."""
        runs: list[str] = []
        stack = [node]
        for _ in range(200):
            if not stack:
                break
            part = stack.pop()
            if part.type in self.strings:
                runs += self.runs_of(part)
            else:
                stack.extend(reversed(part.named_children))
        return runs

    def runs_of(self, string: "Node") -> list[str]:
        """The literal parts of a string."""
        parts = string.children
        if len(parts) < 2:
            return [self.raw(string)]
        runs: list[str] = []
        at = parts[0].end_byte
        for part in parts:
            if part.type in ("interpolation", "template_substitution"):
                runs.append(self.source.data[at : part.start_byte].decode("utf-8", "ignore"))
                at = part.end_byte
        runs.append(self.source.data[at : parts[-1].start_byte].decode("utf-8", "ignore"))
        return runs

    def _parameters(self) -> list[Parameter]:
        found = []
        for pending in self._pending:
            used = any(
                self._stands_between(name, pending.start, pending.end)
                for name in (pending.name, *self.see_all)
            )
            found.append(Parameter(pending.name, pending.function, pending.line, used))
        return found

    def _stands_between(self, name: str, start: int, end: int) -> bool:
        offsets = self._uses.get(name, ())
        at = bisect_left(offsets, start)
        return at < len(offsets) and offsets[at] < end

    def _joined_comments(self) -> list[Comment]:
        """The comments; line comments that follow each other in one column are one."""
        groups: list[list[Node]] = []
        joinable = False
        for node in self._comments:
            data = self.source.data
            line_start = data.rfind(b"\n", 0, node.start_byte) + 1
            alone = not data[line_start : node.start_byte].strip()
            is_line = not data.startswith(b"/*", node.start_byte)
            previous = groups[-1][-1] if groups else None
            if (
                joinable and alone and is_line and previous is not None
                and previous.start_point[0] + 1 == node.start_point[0]
                and previous.start_point[1] == node.start_point[1]
            ):  # fmt: skip
                groups[-1].append(node)
            else:
                groups.append([node])
            joinable = alone and is_line
        return [self._comment(group) for group in groups]

    def _comment(self, group: list["Node"]) -> Comment:
        text = "\n".join(comment_text(self.source.text(node)) for node in group)
        line = first_line(group[0])
        return Comment(text, line, last_line(group[-1]), self.within(line))


def _names_by_line(entries: tuple[Symbol | TestCase, ...]) -> dict[int, str]:
    """The name of the innermost entry for each line that stands in one."""
    ordered = sorted(entries, key=lambda entry: (entry.start, -entry.end))
    names: dict[int, str] = {}
    open_: list[Symbol | TestCase] = []
    index = 0
    last = max((entry.end for entry in entries), default=0)
    for line in range(1, last + 1):
        while index < len(ordered) and ordered[index].start <= line:
            open_.append(ordered[index])
            index += 1
        while open_ and open_[-1].end < line:
            open_.pop()
        if open_:
            names[line] = open_[-1].name
    return names
