"""Details of a Rust file, as far as its syntax tree shows them: the inside of a macro is only tokens."""

import re
from typing import TYPE_CHECKING

from preread.syntax.details_walk import Collector, Handler
from preread.syntax.grammars import Source, first_line
from preread.syntax.model import Details, Outline

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSERTING = re.compile(r"(debug_)?assert(_\w+)?!")
_RAISING = re.compile(r"(\w+::)*(panic|bail|anyhow|ensure|unreachable)!")
_STUB = re.compile(r"\{\s*(todo|unimplemented)!")


def details_rust(source: Source, outline: Outline) -> Details:
    """The details of a parsed Rust file."""
    return _Rust(source, outline).run()


class _Rust(Collector):
    def handlers(self) -> dict[str, Handler]:
        return {
            "call_expression": self._call,
            "macro_invocation": self._macro,
            "function_item": self._function,
            "enum_item": self._enum,
            "struct_item": self._struct,
            "const_item": self._constant,
            "static_item": self._constant,
            "string_literal": self._string,
        }

    def _call(self, node: "Node", hook: str) -> str:
        callee = self.callee(node.child_by_field_name("function"))
        self.add_call(node, callee, node.child_by_field_name("arguments"), hook)
        return hook

    def _macro(self, node: "Node", hook: str) -> str:
        macro = node.child_by_field_name("macro")
        callee = f"{self.source.fold(macro)}!" if macro is not None else ""
        tokens = next((child for child in node.named_children if child.type == "token_tree"), None)
        self.add_call(node, callee, tokens, hook)
        if _ASSERTING.fullmatch(callee):
            self.add_assertion(node)
        if _RAISING.fullmatch(callee):
            self.add_raise(node, callee, tokens)
        return hook

    def _string(self, node: "Node", hook: str) -> str:
        for name in re.findall(
            r"\{([a-z_]\w*)", self.source.text(node)
        ):  # format!("{name}") reads a variable
            self.note_use(name, node.start_byte)
        return hook

    def _function(self, node: "Node", hook: str) -> str:
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        parameters = node.child_by_field_name("parameters")
        if (
            name_node is None
            or body is None
            or parameters is None
            or first_line(node) in self.test_lines
        ):
            return hook
        if not body.named_children or _STUB.match(self.source.fold(body)):
            return hook
        for child in parameters.named_children:
            pattern = child.child_by_field_name("pattern")
            if pattern is not None and pattern.type == "identifier":
                name = self.source.text(name_node)
                self.add_parameter(pattern, self.source.text(pattern), name, body.end_byte)
        return hook

    def _enum(self, node: "Node", hook: str) -> str:
        owner, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        for child in body.named_children if body is not None and owner is not None else ():
            name = child.child_by_field_name("name")
            if child.type == "enum_variant" and name is not None and owner is not None:
                value = self.source.fold_between(name.end_byte, child.end_byte, 120).lstrip("= ")
                self.add_member(
                    child, self.source.text(name), value, self.source.text(owner), "enum"
                )
        return hook

    def _struct(self, node: "Node", hook: str) -> str:
        owner, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        for child in body.named_children if body is not None and owner is not None else ():
            name = child.child_by_field_name("name")
            if child.type == "field_declaration" and name is not None and owner is not None:
                value = child.child_by_field_name("type")
                self.add_member(
                    child, self.source.text(name), value, self.source.text(owner), "field"
                )
        return hook

    def _constant(self, node: "Node", hook: str) -> str:
        name = node.child_by_field_name("name")
        if name is not None:
            value = node.child_by_field_name("value")
            self.add_member(node, self.source.text(name), value, "", "constant")
        return hook
