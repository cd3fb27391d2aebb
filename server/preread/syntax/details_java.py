"""Details of a Java file."""

import re
from typing import TYPE_CHECKING

from preread.syntax.details_walk import Collector, Handler
from preread.syntax.grammars import Source, first_line
from preread.syntax.model import Details, MemberKind, Outline
from preread.syntax.outline_java import annotations

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSERTING = re.compile(
    r"((\w+\.)*Assert(ions|ions4j)?\.)?(assert\w*|fail|verify)|assertThat\(…\).*", re.DOTALL
)
_HOOK = re.compile(
    r"@(BeforeEach|BeforeAll|Before|BeforeClass|AfterEach|AfterAll|After|AfterClass)\b"
)
_UPPER = re.compile(r"[A-Z][A-Z0-9_]*")


def details_java(source: Source, outline: Outline) -> Details:
    """The details of a parsed Java file."""
    return _Java(source, outline).run()


class _Java(Collector):
    def __init__(self, source: Source, outline: Outline) -> None:
        super().__init__(source, outline)
        self._asserted: set[int] = set()  # offsets at which a recorded chain of calls starts

    def handlers(self) -> dict[str, Handler]:
        return {
            "method_invocation": self._call,
            "object_creation_expression": self._new,
            "throw_statement": self._throw,
            "method_declaration": self._method,
            "constructor_declaration": self._method,
            "class_declaration": self._class,
            "enum_declaration": self._enum,
        }

    def _call(self, node: "Node", hook: str) -> str:
        name = node.child_by_field_name("name")
        if name is not None:
            self.not_uses.add(name.start_byte)
        callee = self._own_callee(node)
        self.add_call(node, callee, node.child_by_field_name("arguments"), hook)
        if _ASSERTING.fullmatch(callee) and node.start_byte not in self._asserted:
            self._asserted.add(node.start_byte)
            self.add_assertion(node)
        return hook

    def _own_callee(self, node: "Node") -> str:
        name, inner = node.child_by_field_name("name"), node.child_by_field_name("object")
        own = self.source.text(name) if name is not None else ""
        return f"{self.callee(inner)}.{own}" if inner is not None else own

    def _new(self, node: "Node", hook: str) -> str:
        created = node.child_by_field_name("type")
        name = self.source.fold(created) if created is not None else ""
        self.add_call(node, f"new {name}", node.child_by_field_name("arguments"), hook)
        return hook

    def _throw(self, node: "Node", hook: str) -> str:
        value = node.named_children[0] if node.named_children else None
        created = value.child_by_field_name("type") if value is not None else None
        if value is not None and created is not None:
            self.add_raise(node, self.source.fold(created), value.child_by_field_name("arguments"))
        return hook

    def _method(self, node: "Node", hook: str) -> str:
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        marks = annotations(self.source, node)
        parameters = node.child_by_field_name("parameters")
        line = first_line(name_node or node)
        imposed = line in self.test_lines or "@Override" in marks
        if name_node is not None and body is not None and parameters is not None and not imposed:
            statements = [
                child.type for child in body.named_children if not child.type.endswith("comment")
            ]
            for child in (
                parameters.named_children if statements not in ([], ["throw_statement"]) else ()
            ):
                inner = child.child_by_field_name("name")
                if child.type == "formal_parameter" and inner is not None:
                    self.add_parameter(
                        inner, self.source.text(inner), self.source.text(name_node), body.end_byte
                    )
        found = next((match[1] for mark in marks if (match := _HOOK.match(mark))), None)
        return found or hook

    def _class(self, node: "Node", hook: str) -> str:
        owner, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        for child in body.named_children if body is not None and owner is not None else ():
            if child.type != "field_declaration" or owner is None:
                continue
            for declarator in child.children_by_field_name("declarator"):
                name, value = (
                    declarator.child_by_field_name("name"),
                    declarator.child_by_field_name("value"),
                )
                if name is not None:
                    written = self.source.text(name)
                    kind: MemberKind = "constant" if _UPPER.fullmatch(written) else "field"
                    shown = value if kind == "constant" else child.child_by_field_name("type")
                    self.add_member(child, written, shown, self.source.text(owner), kind)
        return hook

    def _enum(self, node: "Node", hook: str) -> str:
        owner, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        for child in body.named_children if body is not None and owner is not None else ():
            name = child.child_by_field_name("name")
            if child.type == "enum_constant" and name is not None and owner is not None:
                value = child.child_by_field_name("arguments")
                self.add_member(
                    child, self.source.text(name), value, self.source.text(owner), "enum"
                )
        return hook
