"""Definitions, tests and imports of a Go file."""

import re
from typing import TYPE_CHECKING

from preread.syntax.grammars import Source, first_line, last_line
from preread.syntax.model import Import, Outline, Symbol, SymbolKind, TestCase
from preread.syntax.text import comment_text, first_sentence

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST = re.compile(r"(Test|Benchmark|Fuzz|Example)(?![a-z])\w*")
_TYPES: dict[str, SymbolKind] = {"struct_type": "class", "interface_type": "interface"}
_MARK = re.compile(r"\w+\.(Skip|Skipf|SkipNow)\(")


def outline_go(source: Source) -> Outline:
    """The outline of a parsed Go file."""
    walk = _Walk(source)
    comments: list[Node] = []
    for node in source.root.children:
        if node.type == "comment":
            if comments and comments[-1].end_point[0] + 1 < node.start_point[0]:
                comments = []
            comments.append(node)
            continue
        if node.is_named:
            walk.declaration(node, comments)
            comments = []
    return Outline(tuple(walk.symbols), tuple(walk.tests), tuple(walk.imports))


class _Walk:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.is_test_file = source.path.endswith("_test.go")
        self.symbols: list[Symbol] = []
        self.tests: list[TestCase] = []
        self.imports: list[Import] = []

    def declaration(self, node: "Node", comments: list["Node"]) -> None:
        """Records one top-level declaration; `comments` stand directly above it."""
        if comments and comments[-1].end_point[0] + 1 < node.start_point[0]:
            comments = []
        if node.type in ("function_declaration", "method_declaration"):
            self._function(node, comments)
        elif node.type == "import_declaration":
            self._imports(node)
        elif node.type in ("type_declaration", "const_declaration", "var_declaration"):
            stack = list(reversed(node.named_children))
            above = comments
            while stack:
                spec = stack.pop()
                if spec.type == "comment":
                    above = [spec]
                elif spec.type == "var_spec_list":
                    stack.extend(reversed(spec.named_children))
                else:
                    self._spec(spec, above)
                    above = []

    def _function(self, node: "Node", comments: list["Node"]) -> None:
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        name = self.source.text(name_node) if name_node is not None else ""
        parameters = node.child_by_field_name("parameters")
        given = self.source.fold(parameters) if parameters is not None else ""
        receiver = node.child_by_field_name("receiver")
        container = self._receiver(receiver) if receiver is not None else ""
        is_suite = "Suite" in container and name.startswith("Test")
        is_plain = (
            receiver is None and _TEST.fullmatch(name) and (given == "()" or "testing." in given)
        )
        if self.is_test_file and (is_plain or is_suite) and name != "TestMain":
            self._test(node, name, container, body)
            return
        kind: SymbolKind = "method" if receiver is not None else "function"
        end = body.start_byte if body is not None else node.end_byte
        signature = self.source.fold_between(node.start_byte, end)
        self._add(name, kind, node, container, signature, comments)

    def _receiver(self, receiver: "Node") -> str:
        found = re.search(r"(\w+)\s*(\[[^\]]*\])?\s*\)$", self.source.fold(receiver))
        return found[1] if found else ""

    def _test(self, node: "Node", name: str, group: str, body: "Node | None") -> None:
        """A test function and, by an iterative walk, the subtests its `t.Run("name", func…)` calls declare."""
        marks = []
        subtests: list[TestCase] = []
        stack = [(body, name)] if body is not None else []
        while stack:
            part, outer = stack.pop()
            if part.type != "call_expression":
                stack.extend((child, outer) for child in reversed(part.named_children))
                continue
            function, arguments = (
                part.child_by_field_name("function"),
                part.child_by_field_name("arguments"),
            )
            callee = self.source.fold(function) if function is not None else ""
            given = arguments.named_children if arguments is not None else []
            inside = outer
            if callee.endswith(".Run") and len(given) == 2:
                literal = given[0].type.endswith("string_literal")
                inside = (
                    self.source.fold(given[0]).strip('"`')
                    if literal
                    else self.source.fold(given[0])
                )
                test = TestCase(inside, first_line(part), last_line(part), outer, (), ())
                subtests.append(test)
                inside = f"{outer} > {inside}" if len(outer) < 300 else outer
            elif _MARK.match(self.source.fold(part)) and outer == name:
                marks.append(self.source.fold(part))
            stack.extend((child, inside) for child in reversed(given))
        self.tests.append(
            TestCase(name, first_line(node), last_line(node), group, (), tuple(marks))
        )
        self.tests += subtests

    def _imports(self, node: "Node") -> None:
        stack = list(reversed(node.named_children))
        while stack:
            child = stack.pop()
            path = child.child_by_field_name("path")
            if path is not None:
                self.imports.append(
                    Import(self.source.fold(path).strip('"`'), (), first_line(child))
                )
            elif child.type == "import_spec_list":
                stack.extend(reversed(child.named_children))

    def _spec(self, spec: "Node", comments: list["Node"]) -> None:
        for name in spec.children_by_field_name("name"):
            if spec.type in ("type_spec", "type_alias"):
                value = spec.child_by_field_name("type")
                kind = _TYPES.get(value.type, "type") if value is not None else "type"
                signature = "type " + self.source.fold(spec).partition("{")[0].rstrip()
            elif name.type == "identifier":
                kind = "constant"
                end = self.source.data.find(b"\n", spec.start_byte, spec.end_byte)
                signature = self.source.fold_between(
                    spec.start_byte, end if end >= 0 else spec.end_byte
                )
            else:
                continue
            self._add(self.source.text(name), kind, spec, "", signature, comments)

    def _add(
        self,
        name: str,
        kind: SymbolKind,
        node: "Node",
        container: str,
        signature: str,
        comments: list["Node"],
    ) -> None:
        doc = first_sentence(
            "\n".join(comment_text(self.source.text(comment)) for comment in comments)
        )
        self.symbols.append(
            Symbol(name, kind, first_line(node), last_line(node), container, signature, doc, ())
        )
