"""Details of a JavaScript, TypeScript or TSX file."""

import re
from typing import TYPE_CHECKING

from preread.syntax.details_walk import Collector, Handler
from preread.syntax.grammars import Source, first_line
from preread.syntax.model import Attribute, Details, MemberKind, Outline
from preread.syntax.outline_script import FUNCTIONS, function_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_HOOK = re.compile(
    r"(?:(?:\w+\.)?(beforeEach|beforeAll|afterEach|afterAll)|(before|after|suiteSetup|suiteTeardown))"
)
_ASSERTING = re.compile(
    r"expect(\.\w+)?\(…\)(\.|\?\.).*|(assert|chai\.assert)(\.\w+)*|cy\..*\.(should|and)|.*\.should(\.\w+)+",
    re.DOTALL,
)
_OPTION_CALL = re.compile(r".*\.(option|requiredOption|addOption|positional)")
_OPTION = re.compile(r"-{1,2}[A-Za-z][\w-]*")
_LITERAL_VALUES = frozenset(
    (
        "string",
        "number",
        "template_string",
        "true",
        "false",
        "array",
        "unary_expression",
        "regex",
        "binary_expression",
    )
)
_UPPER = re.compile(r"[A-Z][A-Z0-9_]*")


def details_script(source: Source, outline: Outline) -> Details:
    """The details of a parsed JavaScript, TypeScript or TSX file."""
    return _Script(source, outline).run()


class _Script(Collector):
    see_all = frozenset(("arguments",))

    def __init__(self, source: Source, outline: Outline) -> None:
        super().__init__(source, outline)
        self._fixtures: dict[int, str] = {}  # offset of a property given to test.extend → its name
        self._top_level = {
            s.name for s in outline.symbols if s.kind == "constant" and not s.container
        }
        self._asserted: set[int] = set()  # offsets at which a recorded chain of calls starts

    def handlers(self) -> dict[str, Handler]:
        return {
            "call_expression": self._call,
            "new_expression": self._new,
            "throw_statement": self._throw,
            "pair": self._in_fixture,
            "method_definition": self._method,
            "function_declaration": self._function,
            "generator_function_declaration": self._function,
            "variable_declarator": self._variable,
            "public_field_definition": self._field,
            "field_definition": self._field,
            "enum_declaration": self._enum,
            "interface_declaration": self._interface,
            "type_alias_declaration": self._type,
            "jsx_attribute": self._jsx_attribute,
        }

    def _call(self, node: "Node", hook: str) -> str:
        arguments = node.child_by_field_name("arguments")
        callee = self.callee(node.child_by_field_name("function"))
        self.add_call(node, callee, arguments, hook)
        if _ASSERTING.fullmatch(callee) and node.start_byte not in self._asserted:
            self._asserted.add(node.start_byte)
            self.add_assertion(node)
        if _OPTION_CALL.fullmatch(callee):
            self._options(arguments)
        if callee.endswith(".extend"):
            self._note_fixtures(arguments)
        found = _HOOK.fullmatch(callee)
        return (found[1] or found[2]) if found else hook

    def _options(self, arguments: "Node | None") -> None:
        first = (
            arguments.named_children[0]
            if arguments is not None and arguments.named_children
            else None
        )
        if first is not None and first.type == "string" and self.raw(first).startswith("-"):
            raw = self.raw(first)
            for option in _OPTION.findall(raw):
                self.add_member(first, option, raw, self.within(first_line(first)), "option")

    def _note_fixtures(self, arguments: "Node | None") -> None:
        for argument in arguments.named_children if arguments is not None else ():
            for child in argument.named_children if argument.type == "object" else ():
                key = child.child_by_field_name("key") or child.child_by_field_name("name")
                if key is not None:
                    self._fixtures[child.start_byte] = self.source.fold(key).strip("'\"")

    def _new(self, node: "Node", hook: str) -> str:
        constructor = self.callee(node.child_by_field_name("constructor"))
        self.add_call(node, f"new {constructor}", node.child_by_field_name("arguments"), hook)
        return hook

    def _throw(self, node: "Node", hook: str) -> str:
        value = node.named_children[0] if node.named_children else None
        if value is not None and value.type in ("new_expression", "call_expression"):
            named = value.child_by_field_name("constructor") or value.child_by_field_name(
                "function"
            )
            self.add_raise(node, self.callee(named), value.child_by_field_name("arguments"))
        return hook

    def _method(self, node: "Node", hook: str) -> str:
        name = node.child_by_field_name("name")
        if name is not None and "override" not in [child.type for child in node.children]:
            self._note_parameters(node, self.source.fold(name))
        return self._in_fixture(node, hook)

    def _in_fixture(self, node: "Node", hook: str) -> str:
        name = self._fixtures.get(node.start_byte)
        return f"fixture:{name}" if name else hook

    def _function(self, node: "Node", hook: str) -> str:
        name = node.child_by_field_name("name")
        if name is not None:
            self._note_parameters(node, self.source.text(name))
        return hook

    def _variable(self, node: "Node", hook: str) -> str:
        name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name_node is None or value is None or name_node.type != "identifier":
            return hook
        name = self.source.text(name_node)
        plain = unwrapped(value)
        function = function_of(self.source, plain)
        if function is not None:
            self._note_parameters(function, name)
        elif name in self._top_level:
            self._constant(node, name, value, plain)
        return hook

    def _constant(self, node: "Node", name: str, value: "Node", plain: "Node") -> None:
        """A module-level constant; `{…} as const` and `z.enum([…])` are families of their own."""
        if plain.type == "object" and value.type == "as_expression":
            for pair in plain.named_children:
                key, item = pair.child_by_field_name("key"), pair.child_by_field_name("value")
                if key is not None and item is not None and item.type not in FUNCTIONS:
                    self.add_member(pair, self.source.fold(key).strip("'\""), item, name, "enum")
        elif plain.type == "array" and value.type == "as_expression":
            self._strings(plain, name)
        elif plain.type == "call_expression" and self.callee(
            plain.child_by_field_name("function")
        ).endswith("z.enum"):
            arguments = plain.child_by_field_name("arguments")
            for argument in arguments.named_children if arguments is not None else ():
                self._strings(argument, name)
        elif plain.type in _LITERAL_VALUES or _UPPER.fullmatch(name):
            self.add_member(node, name, value, "", "constant")

    def _strings(self, array: "Node", owner: str) -> None:
        for item in array.named_children:
            if item.type == "string":
                self.add_member(item, self.raw(item), item, owner, "union")

    def _field(self, node: "Node", hook: str) -> str:
        name_node = node.child_by_field_name("name") or node.child_by_field_name("property")
        value = node.child_by_field_name("value")
        if name_node is None:
            return hook
        name = self.source.fold(name_node)
        function = function_of(self.source, unwrapped(value)) if value is not None else None
        if function is not None:
            self._note_parameters(function, name)
        else:
            kind: MemberKind = "constant" if _UPPER.fullmatch(name) else "field"
            text = self.source.fold_between(name_node.end_byte, node.end_byte, 120).lstrip("?!:= ")
            self.add_member(node, name, text, self._class_at(first_line(node)), kind)
        return hook

    def _class_at(self, line: int) -> str:
        inside = [s for s in self.outline.symbols if s.kind == "class" and s.start <= line <= s.end]
        return inside[-1].name if inside else ""

    def _enum(self, node: "Node", hook: str) -> str:
        owner, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        for child in body.named_children if body is not None and owner is not None else ():
            if child.type == "comment" or owner is None:
                continue
            name = child.child_by_field_name("name") or child
            value = child.child_by_field_name("value")
            self.add_member(
                child, self.source.fold(name).strip("'\""), value, self.source.text(owner), "enum"
            )
        return hook

    def _interface(self, node: "Node", hook: str) -> str:
        owner, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if owner is not None and body is not None:
            self._signatures(body, self.source.text(owner))
        return hook

    def _type(self, node: "Node", hook: str) -> str:
        owner, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if owner is not None and value is not None:
            name = self.source.text(owner)
            self._union(value, name)
            stack = [value]  # the object types of an intersection
            while stack:
                part = stack.pop()
                if part.type == "object_type":
                    self._signatures(part, name)
                elif part.type == "intersection_type":
                    stack.extend(reversed(part.named_children))
        return hook

    def _signatures(self, body: "Node", owner: str) -> None:
        for child in body.named_children:
            name_node, annotation = (
                child.child_by_field_name("name"),
                child.child_by_field_name("type"),
            )
            if child.type != "property_signature" or name_node is None:
                continue
            name = self.source.fold(name_node).strip("'\"")
            text = self.source.fold(annotation, 120).lstrip(": ") if annotation is not None else ""
            self.add_member(child, name, text, owner, "field")
            if annotation is not None and annotation.named_children:
                self._union(annotation.named_children[0], f"{owner}.{name}")

    def _union(self, value: "Node", owner: str) -> None:
        """The string literals of a union type, which nests to the left."""
        stack = [value]
        while stack:
            part = stack.pop()
            if part.type == "union_type":
                stack.extend(reversed(part.named_children))
            elif (
                part.type == "literal_type"
                and part.named_children
                and part.named_children[0].type == "string"
            ):
                self.add_member(part, self.raw(part.named_children[0]), part, owner, "union")

    def _jsx_attribute(self, node: "Node", hook: str) -> str:
        parts = node.named_children
        if len(parts) == 2 and parts[0].type != "string":
            value: Node | None = parts[1]
            if value is not None and value.type == "jsx_expression":
                value = value.named_children[0] if value.named_children else None
            if (
                value is not None
                and value.type in ("string", "template_string")
                and node.parent is not None
            ):
                element = node.parent.child_by_field_name("name")
                self._attribute(node, element, parts[0], value)
        return hook

    def _attribute(self, node: "Node", element: "Node | None", name: "Node", value: "Node") -> None:
        line = first_line(node)
        tag = self.source.fold(element) if element is not None else ""
        self.attributes.append(
            Attribute(tag, self.source.fold(name), self.raw(value), line, self.within(line))
        )

    def _note_parameters(self, function: "Node", name: str) -> None:
        body = function.child_by_field_name("body")
        if body is None or self._is_stub(body):
            return
        parameters = function.child_by_field_name("parameters")
        for child in parameters.named_children if parameters is not None else ():
            if child.type in ("required_parameter", "optional_parameter"):
                if child.children[0].type in (
                    "accessibility_modifier",
                    "override_modifier",
                    "readonly",
                ):
                    continue  # a parameter property is a field
                pattern = child.child_by_field_name("pattern")
            else:
                pattern = child
            if pattern is not None:
                self._note_pattern(pattern, name, body.end_byte)

    def _note_pattern(self, pattern: "Node", function: str, end: int) -> None:
        """A plain parameter, or the names taken out of an object; beside `...rest` names are left out on purpose."""
        if pattern.type == "assignment_pattern":
            pattern = pattern.child_by_field_name("left") or pattern
        if pattern.type == "identifier":
            self.add_parameter(pattern, self.source.text(pattern), function, end)
        elif pattern.type == "object_pattern":
            children = pattern.named_children
            if any(child.type == "rest_pattern" for child in children):
                return
            for child in children:
                inner = (
                    child.child_by_field_name("value") or child.child_by_field_name("left") or child
                )
                if inner.type == "assignment_pattern":
                    inner = inner.child_by_field_name("left") or inner
                if inner.type in ("identifier", "shorthand_property_identifier_pattern"):
                    self.add_parameter(inner, self.source.text(inner), function, end)

    def _is_stub(self, body: "Node") -> bool:
        if body.type != "statement_block":
            return False
        statements = [child.type for child in body.named_children if child.type != "comment"]
        return not statements or statements == ["throw_statement"]
