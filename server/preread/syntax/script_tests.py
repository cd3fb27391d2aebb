"""Test calls of Jest, Vitest, Mocha, Jasmine, Cypress and Playwright: `describe`, `it`, `test.describe.skip`, …"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from preread.syntax.grammars import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_GROUP_ROOTS = frozenset(("describe", "context", "suite", "fdescribe", "xdescribe", "xcontext"))
_TEST_ROOTS = frozenset(("it", "test", "specify", "fit", "xit", "xtest", "xspecify"))
_STATES = frozenset(
    (
        "skip",
        "fixme",
        "only",
        "fail",
        "fails",
        "failing",
        "todo",
        "skipIf",
        "runIf",
        "slow",
        "concurrent",
    )
)
_MODIFIERS = _STATES | frozenset(
    ("each", "for", "serial", "parallel", "sequential", "shuffle", "describe", "extend")
)
_MARKED_ROOTS = frozenset(("fdescribe", "xdescribe", "xcontext", "fit", "xit", "xtest", "xspecify"))
_BODY_MARKS = frozenset(("skip", "fixme", "fail", "slow"))
_NAMES = frozenset(
    ("string", "template_string", "identifier", "member_expression", "binary_expression")
)
_FUNCTIONS = frozenset(("arrow_function", "function_expression", "generator_function", "function"))


@dataclass(frozen=True, slots=True)
class TestCall:
    """A call that declares a test or a group of tests."""

    __test__ = False

    name: str
    is_group: bool
    params: tuple[str, ...]
    marks: tuple[str, ...]
    body: "Node | None"


def raw_string(source: Source, node: "Node") -> str:
    """The raw inner text of a string or template literal node."""
    return source.data[node.start_byte + 1 : max(node.start_byte + 1, node.end_byte - 1)].decode(
        "utf-8", "ignore"
    )


class TestCallReader:
    """Reads test calls, knowing the aliases of the test function that the file has made so far."""

    __test__ = False

    def __init__(self, source: Source) -> None:
        self.source = source
        self._roots = set(_TEST_ROOTS)

    def alias(self, name: str, alias: str) -> None:
        """`import { test as setup }`."""
        if name in self._roots:
            self._roots.add(alias)

    def learn(self, name: str, call: "Node") -> None:
        """`const authTest = base.extend({...})`."""
        function = call.child_by_field_name("function")
        if function is not None and function.type == "member_expression":
            property_node = function.child_by_field_name("property")
            if property_node is not None and self.source.text(property_node) == "extend":
                root = self.source.fold(function)
                if root.partition(".")[0].lower().endswith(("test", "base", "it")):
                    self._roots.add(name)

    def read(self, call: "Node") -> TestCall | None:
        """The test or group that a call declares, None for any other call."""
        chain = self._chain(call)
        if chain is None:
            return None
        root, properties, states = chain
        if (root not in self._roots and root not in _GROUP_ROOTS) or not _MODIFIERS.issuperset(
            properties
        ):
            return None
        arguments = call.child_by_field_name("arguments")
        given = (
            [child for child in arguments.named_children if child.type != "comment"]
            if arguments
            else []
        )
        if not given or given[0].type not in _NAMES:
            return None
        function = next((child for child in given[1:] if child.type in _FUNCTIONS), None)
        if (
            function is None
            and "todo" not in properties
            and not (given[1:] and given[0].type == "string")
        ):
            return None
        is_group = root in _GROUP_ROOTS or "describe" in properties
        if function is None and (
            is_group or (properties[-1:] and properties[-1] in _BODY_MARKS and len(given) < 2)
        ):
            return None
        literal = given[0].type in ("string", "template_string")
        name = raw_string(self.source, given[0]) if literal else self.source.fold(given[0])
        rows = "each" in properties or "for" in properties
        params = () if function is None or is_group or rows else self._destructured(function)
        marks = ((root,) if root in _MARKED_ROOTS else ()) + tuple(states)
        return TestCall(
            name,
            is_group,
            params,
            marks,
            function.child_by_field_name("body") if function else None,
        )

    def body_mark(self, call: "Node") -> str:
        """`test.skip(condition, "reason")` in the body of a test, folded, else ""."""
        function = call.child_by_field_name("function")
        if function is None or function.type != "member_expression":
            return ""
        root, property_node = (
            function.child_by_field_name("object"),
            function.child_by_field_name("property"),
        )
        if (
            root is None
            or property_node is None
            or self.source.fold(root) not in self._roots | {"this", "ctx"}
        ):
            return ""
        return self.source.fold(call) if self.source.text(property_node) in _BODY_MARKS else ""

    def _chain(self, call: "Node") -> tuple[str, list[str], list[str]] | None:
        """`test.describe.skip(…)` as ("test", ["describe", "skip"], [".skip"])."""
        properties: list[str] = []
        states: list[str] = []
        arguments = ""
        node = call.child_by_field_name("function")
        for _ in range(8):
            if node is None:
                return None
            if node.type == "identifier":
                return self.source.text(node), properties[::-1], states[::-1]
            if (
                node.type == "call_expression"
            ):  # it.each(rows)(name, …), test.skipIf(condition)(name, …)
                given = node.child_by_field_name("arguments")
                arguments = self.source.fold(given, 80) if given is not None else ""
                node = node.child_by_field_name("function")
                continue
            if node.type != "member_expression":
                return None
            name = node.child_by_field_name("property")
            if name is None:
                return None
            text = self.source.text(name)
            properties.append(text)
            if text in _STATES:
                states.append(f".{text}{arguments}")
            arguments = ""
            node = node.child_by_field_name("object")
        return None

    def _destructured(self, function: "Node") -> tuple[str, ...]:
        """The names that a test takes out of its first parameter: its fixtures."""
        parameters = function.child_by_field_name("parameters")
        first = (
            parameters.named_children[0]
            if parameters is not None and parameters.named_children
            else None
        )
        pattern = first.child_by_field_name("pattern") or first if first is not None else None
        if pattern is None or pattern.type != "object_pattern":
            return ()
        names = []
        for child in pattern.named_children:
            key = child.child_by_field_name("key") or child.child_by_field_name("left") or child
            if key.type.endswith(("property_identifier", "property_identifier_pattern")):
                names.append(self.source.text(key))
        return tuple(names)
