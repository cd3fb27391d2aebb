"""Details of a Go file."""

import re
from typing import TYPE_CHECKING

from preread.syntax.details_walk import Collector, Handler
from preread.syntax.grammars import Source, first_line
from preread.syntax.model import Details, Outline

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSERTING = re.compile(
    r"(t|b|tb|s\.T\(…\))\.(Error|Errorf|Fatal|Fatalf|Fail|FailNow)|(require|assert|is|qt|cmp)\.\w+"
    r"|s\.(Require\(…\)\.|Assert\(…\)\.)?(Equal|NoError|Error|True|False|Nil|NotNil|Contains|Len)\w*"
)
_RAISING = frozenset(
    ("errors.New", "fmt.Errorf", "panic", "errors.Errorf", "errors.Wrap", "errors.Wrapf")
)
_HOOK = re.compile(r"(Set[Uu]p|Tear[Dd]own)(Test|Suite|SubTest)|TestMain")


def details_go(source: Source, outline: Outline) -> Details:
    """The details of a parsed Go file."""
    return _Go(source, outline).run()


class _Go(Collector):
    def handlers(self) -> dict[str, Handler]:
        return {
            "call_expression": self._call,
            "function_declaration": self._function,
            "method_declaration": self._function,
            "const_declaration": self._constants,
            "type_spec": self._type,
        }

    def _call(self, node: "Node", hook: str) -> str:
        arguments = node.child_by_field_name("arguments")
        callee = self.callee(node.child_by_field_name("function"))
        self.add_call(node, callee, arguments, hook)
        if _ASSERTING.fullmatch(callee) and self.source.path.endswith("_test.go"):
            self.add_assertion(node)
        if callee in _RAISING:
            self.add_raise(node, callee, arguments)
        return hook

    def _function(self, node: "Node", hook: str) -> str:
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is None or body is None:
            return hook
        name = self.source.text(name_node)
        parameters = node.child_by_field_name("parameters")
        is_stub = not body.named_children or "not implemented" in self.source.fold(body)
        if first_line(node) not in self.test_lines and not is_stub and parameters is not None:
            for child in parameters.named_children:
                for inner in (
                    child.children_by_field_name("name")
                    if child.type == "parameter_declaration"
                    else ()
                ):
                    self.add_parameter(inner, self.source.text(inner), name, body.end_byte)
        return name if _HOOK.fullmatch(name) else hook

    def _constants(self, node: "Node", hook: str) -> str:
        """Constants; those of one typed or `iota` block are the members of an enum."""
        if self.within(first_line(node)) and node.start_point[1] != 0:
            return hook
        owner = ""
        counted = "iota" in self.source.fold(node, 400)
        for spec in node.named_children:
            declared = spec.child_by_field_name("type")
            if declared is not None:
                owner = self.source.fold(declared)
            value = spec.child_by_field_name("value")
            for name in spec.children_by_field_name("name"):
                if name.type == "identifier":
                    family = counted or owner not in ("", "string", "int", "bool")
                    self.add_member(
                        spec, self.source.text(name), value, owner, "enum" if family else "constant"
                    )
        return hook

    def _type(self, node: "Node", hook: str) -> str:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("type")
        if name is None or value is None or value.type != "struct_type":
            return hook
        for fields in value.named_children:
            for field in fields.named_children:
                written = field.child_by_field_name("type")
                for inner in field.children_by_field_name("name"):
                    if written is not None:
                        text = self.source.fold_between(written.start_byte, field.end_byte, 120)
                        self.add_member(
                            field, self.source.text(inner), text, self.source.text(name), "field"
                        )
        return hook
