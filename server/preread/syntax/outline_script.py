"""Definitions, tests and imports of a JavaScript, TypeScript or TSX file."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preread.syntax.grammars import Source, first_line, last_line
from preread.syntax.model import Import, Outline, Symbol, SymbolKind, TestCase
from preread.syntax.script_tests import TestCallReader, raw_string
from preread.syntax.text import comment_text, first_sentence, nested

if TYPE_CHECKING:
    from tree_sitter import Node

# Definitions inside these statements belong to the scope around them.
_TRANSPARENT = frozenset(
    "statement_block if_statement else_clause try_statement catch_clause finally_clause for_statement"
    " for_in_statement while_statement do_statement switch_statement switch_body switch_case switch_default"
    " labeled_statement ambient_declaration ERROR".split()
)
FUNCTIONS = frozenset(
    ("arrow_function", "function_expression", "generator_function", "function", "function_declaration",
     "generator_function_declaration", "method_definition")
)  # fmt: skip
_DEFINITIONS: dict[str, SymbolKind] = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "function_signature": "function",
    "class_declaration": "class",
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
    "internal_module": "type",
    "module": "type",
}
_WRAPPED_VALUES = frozenset(
    (
        "as_expression",
        "satisfies_expression",
        "parenthesized_expression",
        "non_null_expression",
        "await_expression",
    )
)
# Calls whose result is the function given to them.
_WRAPPERS = re.compile(
    r"(\w+\.)?(memo|forwardRef|cache|reactCache|observer|useCallback|debounce|throttle|with[A-Z]\w*)"
)
_UPPER = re.compile(r"[A-Z][A-Z0-9_]*")
_JSX_RETURNED = re.compile(rb"(?:\breturn\b|=>|[(?:]|&&|\|\|)\s*\(?\s*<[A-Za-z>]")


@dataclass(frozen=True, slots=True)
class _Scope:
    container: str = ""
    kind: str = "module"  # "module", "class", "object", "function"
    group: str = ""
    marks: tuple[str, ...] = ()
    body_marks: list[str] | None = None  # of the test whose body this is


def outline_script(source: Source) -> Outline:
    """The outline of a parsed JavaScript, TypeScript or TSX file."""
    walk = _Walk(source)
    walk.run()
    tests = [
        TestCase(test.name, test.start, test.end, test.group, test.params, (*test.marks, *marks))
        for test, marks in walk.tests
    ]
    return Outline(
        tuple(sorted(walk.symbols, key=lambda symbol: (symbol.start, -symbol.end))),
        tuple(sorted(tests, key=lambda test: (test.start, -test.end))),
        tuple(sorted(walk.imports, key=lambda found: found.line)),
    )


class _Walk:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.symbols: list[Symbol] = []
        self.tests: list[tuple[TestCase, list[str]]] = []
        self.imports: list[Import] = []
        self.calls = TestCallReader(source)
        self.stack: list[tuple[Node, _Scope]] = []

    def run(self) -> None:
        self.stack.append((self.source.root, _Scope()))
        while self.stack:
            block, scope = self.stack.pop()
            comment: Node | None = None
            decorators: list[Node] = []
            for node in block.children:
                if node.type == "comment":
                    comment = node
                elif node.type == "decorator":
                    decorators.append(node)
                elif node.is_named:
                    self._statement(node, scope, comment, decorators)
                    comment, decorators = None, []

    def _statement(
        self,
        node: "Node",
        scope: _Scope,
        comment: "Node | None",
        decorators: list["Node"],
        outer: "Node | None" = None,
    ) -> None:
        """Records what one statement or class member defines and queues what is inside."""
        kind = node.type
        if kind in ("lexical_declaration", "variable_declaration"):
            for child in node.named_children:
                if child.type == "variable_declarator":
                    self._variable(child, scope, comment, outer or node)
        elif kind in _DEFINITIONS:
            self._definition(node, scope, comment, decorators, outer or node)
        elif kind == "expression_statement":
            self._expression(node, scope)
        elif kind == "export_statement":
            self._export(node, scope, comment, decorators)
        elif kind == "import_statement":
            self._import(node)
        elif kind in ("method_definition", "abstract_method_signature") or kind in (
            "public_field_definition",
            "field_definition",
            "pair",
        ):
            self._member(node, scope, comment, decorators)
        elif kind == "return_statement" and scope.kind == "function":
            self._returned(node, scope)
        elif kind in _TRANSPARENT:
            self.stack.append((node, scope))

    def _export(
        self, node: "Node", scope: _Scope, comment: "Node | None", decorators: list["Node"]
    ) -> None:
        decorators = decorators + [child for child in node.children if child.type == "decorator"]
        declaration = node.child_by_field_name("declaration")
        if declaration is not None:
            self._statement(declaration, scope, comment, decorators, node)
            return
        module = node.child_by_field_name("source")
        if module is not None:
            clause = next(
                (child for child in node.named_children if child.type == "export_clause"), None
            )
            names = self._specifiers(clause) if clause is not None else ["*"]
            self.imports.append(
                Import(raw_string(self.source, module), tuple(names), first_line(node))
            )
            return
        value = node.child_by_field_name("value")
        function = function_of(self.source, value) if value is not None else None
        if value is not None and (function is not None or value.type in ("class", "object")):
            self._value("default", value, scope, comment, node, node)
        elif value is not None and value.type == "call_expression":
            self._call(value, scope)

    def _definition(
        self,
        node: "Node",
        scope: _Scope,
        comment: "Node | None",
        decorators: list["Node"],
        outer: "Node",
    ) -> None:
        name_node = node.child_by_field_name("name")
        name = self.source.fold(name_node) if name_node is not None else "default"
        body = node.child_by_field_name("body")
        kind = _DEFINITIONS[node.type]
        if kind == "function" and self._is_component(name, body):
            kind = "component"
        marks = [child for child in node.children if child.type == "decorator"] + decorators
        self._record(name, kind, node, scope, self._signature(outer, body), comment, marks)
        if body is not None and kind not in ("interface", "enum"):
            inner = "class" if kind == "class" else "module" if kind == "type" else "function"
            self.stack.append((body, _Scope(nested(scope.container, name), inner)))

    def _variable(self, node: "Node", scope: _Scope, comment: "Node | None", outer: "Node") -> None:
        name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name_node is None:
            return
        if value is not None and self._require(name_node, value):
            return
        if name_node.type == "identifier":
            if value is None:
                if scope.kind == "module":
                    self._record(
                        self.source.text(name_node),
                        "constant",
                        node,
                        scope,
                        self._line(outer),
                        comment,
                    )
                return
            self._value(self.source.text(name_node), value, scope, comment, node, outer)

    def _value(
        self,
        name: str,
        value: "Node",
        scope: _Scope,
        comment: "Node | None",
        node: "Node",
        outer: "Node",
    ) -> None:
        """A name bound to a function, a class, an object of functions, or to a value."""
        value = unwrapped(value)
        function = function_of(self.source, value)
        inside = nested(scope.container, name)
        if function is not None:
            body = function.child_by_field_name("body")
            kind: SymbolKind = "component" if self._is_component(name, body) else "function"
            if scope.kind in ("class", "object"):
                kind = "method"
            self._record(name, kind, node, scope, self._signature(outer, body), comment)
            if body is not None:
                self.stack.append((body, _Scope(inside, "function")))
        elif value.type == "class":
            body = value.child_by_field_name("body")
            self._record(name, "class", node, scope, self._signature(outer, body), comment)
            if body is not None:
                self.stack.append((body, _Scope(inside, "class")))
        elif scope.kind == "class" and _UPPER.fullmatch(name):
            self._record(name, "constant", node, scope, self._line(outer), comment)
        elif scope.kind == "module":
            self._record(name, "constant", node, scope, self._line(outer), comment)
            if value.type == "object":
                self.stack.append((value, _Scope(inside, "object")))
            elif value.type == "call_expression":
                self._extended(name, value, inside)

    def _extended(self, name: str, call: "Node", inside: str) -> None:
        """`test.extend({...})` makes a new test function; the objects given to any call may hold functions."""
        self.calls.learn(name, call)
        arguments = call.child_by_field_name("arguments")
        for argument in arguments.named_children if arguments is not None else ():
            if argument.type == "object":
                self.stack.append((argument, _Scope(inside, "object")))

    def _member(
        self, node: "Node", scope: _Scope, comment: "Node | None", decorators: list["Node"]
    ) -> None:
        """A method or field of a class, or a property of an object."""
        name_node = node.child_by_field_name("name") or node.child_by_field_name("property")
        name_node = name_node or node.child_by_field_name("key")
        if name_node is None:
            return
        name = self.source.fold(name_node).strip("'\"")
        if node.type in ("method_definition", "abstract_method_signature"):
            body = node.child_by_field_name("body")
            marks = decorators + [child for child in node.children if child.type == "decorator"]
            self._record(name, "method", node, scope, self._signature(node, body), comment, marks)
            if body is not None:
                self.stack.append((body, _Scope(nested(scope.container, name), "function")))
            return
        value = node.child_by_field_name("value")
        if value is not None:
            self._value(name, value, scope, comment, node, node)

    def _returned(self, node: "Node", scope: _Scope) -> None:
        """Functions in the object that a hook or factory returns."""
        value = node.named_children[0] if node.named_children else None
        if value is not None and value.type == "object":
            self.stack.append((value, _Scope(scope.container, "object")))

    def _expression(self, node: "Node", scope: _Scope) -> None:
        inner = node.named_children[0] if node.named_children else None
        if inner is not None and inner.type in _WRAPPED_VALUES:
            inner = unwrapped(inner)
        if inner is None:
            return
        if inner.type == "call_expression":
            self._call(inner, scope)
        elif inner.type == "internal_module":
            self._definition(inner, scope, None, [], inner)
        elif (
            inner.type == "assignment_expression"
        ):  # exports.name = function …, Class.prototype.name = …
            left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
            if left is not None and right is not None and left.type == "member_expression":
                value = unwrapped(right)
                if function_of(self.source, value) is not None or value.type == "class":
                    self._value(
                        self.source.fold(left).rpartition(".")[2], value, scope, None, inner, inner
                    )

    def _call(self, call: "Node", scope: _Scope) -> None:
        found = self.calls.read(call)
        if found is None:
            if scope.kind != "function" or scope.body_marks is None:
                return
            mark = self.calls.body_mark(call)
            if mark:
                scope.body_marks.append(mark)
            return
        if found.is_group:
            if found.body is not None:
                group = nested(scope.group, found.name, " > ")
                marks = scope.marks + tuple(f"describe{mark}" for mark in found.marks)
                self.stack.append((found.body, _Scope(scope.container, "function", group, marks)))
            return
        body_marks: list[str] = []
        test = TestCase(
            found.name,
            first_line(call),
            last_line(call),
            scope.group,
            found.params,
            found.marks + scope.marks,
        )
        self.tests.append((test, body_marks))
        if found.body is not None:
            self.stack.append(
                (found.body, _Scope(scope.container, "function", scope.group, (), body_marks))
            )

    def _import(self, node: "Node") -> None:
        module = node.child_by_field_name("source")
        if module is None:
            return
        names: list[str] = []
        clause = next(
            (child for child in node.named_children if child.type == "import_clause"), None
        )
        for child in clause.named_children if clause is not None else ():
            if child.type == "identifier":
                names.append(self.source.text(child))
            elif child.type == "namespace_import":
                names.append("*")
            elif child.type == "named_imports":
                names += self._specifiers(child)
        self.imports.append(Import(raw_string(self.source, module), tuple(names), first_line(node)))

    def _specifiers(self, clause: "Node") -> list[str]:
        """The original names in `{ a, b as c }`; an alias of a test function is learned."""
        names = []
        for child in clause.named_children:
            name, alias = child.child_by_field_name("name"), child.child_by_field_name("alias")
            if name is not None:
                names.append(self.source.text(name))
                if alias is not None:
                    self.calls.alias(self.source.text(name), self.source.text(alias))
        return names

    def _require(self, target: "Node", value: "Node") -> bool:
        """Records `const x = require("module")`."""
        if value.type != "call_expression":
            return False
        function, arguments = (
            value.child_by_field_name("function"),
            value.child_by_field_name("arguments"),
        )
        if function is None or arguments is None or function.type != "identifier":
            return False
        first = arguments.named_children[0] if arguments.named_children else None
        if first is None or first.type != "string" or self.source.text(function) != "require":
            return False
        names = [self.source.fold(child).split(":")[0].strip() for child in target.named_children]
        name = self.source.fold(target)
        self.imports.append(
            Import(raw_string(self.source, first), tuple(names or [name]), first_line(value))
        )
        return True

    def _is_component(self, name: str, body: "Node | None") -> bool:
        if body is None or not name[:1].isupper():
            return False
        if body.type.startswith("jsx"):
            return True
        code = self.source.data[body.start_byte : body.end_byte]
        return (b"</" in code or b"/>" in code) and _JSX_RETURNED.search(code) is not None

    def _record(
        self,
        name: str,
        kind: SymbolKind,
        node: "Node",
        scope: _Scope,
        signature: str,
        comment: "Node | None",
        decorators: list["Node"] | None = None,
    ) -> None:
        doc = first_sentence(comment_text(self.source.text(comment))) if comment is not None else ""
        marks = tuple(self.source.fold(decorator) for decorator in decorators or ())
        start = (
            node.child_by_field_name("name") if decorators else None
        )  # decorators may be children of the class
        line = first_line(start or node)
        self.symbols.append(
            Symbol(name, kind, line, last_line(node), scope.container, signature, doc, marks)
        )

    def _signature(self, outer: "Node", body: "Node | None") -> str:
        """What stands before the body; of a type alias, all of it."""
        start = next((child for child in outer.children if child.type != "decorator"), outer)
        if body is None:
            return self.source.fold_between(start.start_byte, outer.end_byte).rstrip("; ")
        text = self.source.fold_between(start.start_byte, body.start_byte, 10_000).rstrip()
        return text.removesuffix("=>").rstrip()[:160]

    def _line(self, node: "Node") -> str:
        end = self.source.data.find(b"\n", node.start_byte, node.end_byte)
        return self.source.fold_between(node.start_byte, end if end >= 0 else node.end_byte).rstrip(
            "; "
        )


def function_of(source: Source, value: "Node") -> "Node | None":
    """The function that a value is, or that a call such as `memo(…)` returns."""
    for _ in range(4):  # memo(forwardRef(…))
        if value.type in FUNCTIONS:
            return value
        if value.type != "call_expression":
            return None
        function, arguments = (
            value.child_by_field_name("function"),
            value.child_by_field_name("arguments"),
        )
        if function is None or arguments is None or not _WRAPPERS.fullmatch(source.fold(function)):
            return None
        first = next((child for child in arguments.named_children if child.type != "comment"), None)
        if first is None:
            return None
        value = first
    return None


def unwrapped(value: "Node") -> "Node":
    """The expression inside `… as const`, brackets and `await`."""
    for _ in range(8):
        if value.type not in _WRAPPED_VALUES or not value.named_children:
            break
        value = value.named_children[0]
    return value
