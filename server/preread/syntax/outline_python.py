"""Definitions, tests and imports of a Python file."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preread.languages import role_of
from preread.syntax.grammars import Source, first_line, last_line
from preread.syntax.model import Import, Outline, Symbol, TestCase
from preread.syntax.text import comment_text, first_sentence, nested

if TYPE_CHECKING:
    from tree_sitter import Node

# Definitions inside these statements belong to the scope around them.
_TRANSPARENT = frozenset(
    "block if_statement elif_clause else_clause try_statement except_clause except_group_clause finally_clause"
    " with_statement for_statement while_statement match_statement case_clause ERROR".split()
)
_CONSTANT = re.compile(r"_{0,2}[A-Z]\w*")
_SKIP_CALL = re.compile(r"(pytest\.(skip|xfail|importorskip|fail)|self\.skipTest)\(")
# A patch that makes its own mock hands it to the test before any fixture.
_PATCH = re.compile(
    r"@(\w+\.)*patch(\.object)?\((?!.*\bnew(_callable)?=)(?!([^,(]+,){2}\s*[^=,]+[,)])"
)
_TEST_CLASS_BASE = re.compile(r"Test\b|Case\b|Tests?\w*$|Mixin\b")


@dataclass(frozen=True, slots=True)
class _Scope:
    container: str = ""
    kind: str = "module"  # "module", "class", "function"
    tests: bool = False  # a test class, or the module level of a test file
    marks: tuple[str, ...] = ()
    parametrized: frozenset[str] = frozenset()
    body_marks: list[str] | None = None  # of the test whose body this is


def outline_python(source: Source) -> Outline:
    """The outline of a parsed Python file."""
    walk = _Walk(source)
    walk.run()
    return walk.finished()


class _Walk:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.is_test_file = role_of(source.path) == "test"
        self.symbols: list[Symbol] = []
        self.tests: list[tuple[TestCase, list[str]]] = []
        self.imports: list[Import] = []
        self.module_marks: tuple[str, ...] = ()

    def run(self) -> None:
        stack: list[tuple[Node, _Scope]] = [(self.source.root, _Scope(tests=self.is_test_file))]
        while stack:
            block, scope = stack.pop()
            comment: Node | None = None
            for node in block.children:
                kind = node.type
                if kind == "expression_statement":
                    self._statement(node, scope, comment)
                elif kind == "decorated_definition":
                    decorators = tuple(
                        child for child in node.children if child.type == "decorator"
                    )
                    definition = node.child_by_field_name("definition")
                    if definition is not None:
                        stack.append(self._definition(definition, decorators, scope, comment))
                elif kind in ("function_definition", "class_definition"):
                    stack.append(self._definition(node, (), scope, comment))
                elif kind in _TRANSPARENT:
                    stack.append((node, scope))
                elif kind in (
                    "import_statement",
                    "import_from_statement",
                    "future_import_statement",
                ):
                    self._import(node)
                elif kind == "type_alias_statement":
                    self._named(node, "type", scope, comment)
                comment = node if kind == "comment" else None

    def finished(self) -> Outline:
        tests = [
            TestCase(
                test.name,
                test.start,
                test.end,
                test.group,
                test.params,
                (*test.marks, *self.module_marks, *marks),
            )
            for test, marks in self.tests
        ]
        return Outline(
            tuple(sorted(self.symbols, key=lambda symbol: (symbol.start, -symbol.end))),
            tuple(sorted(tests, key=lambda test: (test.start, -test.end))),
            tuple(sorted(self.imports, key=lambda found: found.line)),
        )

    def _definition(
        self, node: "Node", decorators: tuple["Node", ...], scope: _Scope, comment: "Node | None"
    ) -> tuple["Node", _Scope]:
        """Records a function or class; returns its body and the scope inside it."""
        name_node = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        name = self.source.text(name_node) if name_node is not None else ""
        marks = tuple(self.source.fold(decorator) for decorator in decorators)
        is_class = node.type == "class_definition"
        params = _parametrized(self.source, decorators) | scope.parametrized
        inside = nested(scope.container, name)
        if not is_class and scope.tests and scope.kind != "function" and name.startswith("test"):
            body_marks: list[str] = []
            test = TestCase(
                name,
                first_line(node),
                last_line(node),
                scope.container,
                tuple(self._fixtures(node, scope, params)),
                marks + scope.marks,
            )
            self.tests.append((test, body_marks))
            return body or node, _Scope(inside, "function", body_marks=body_marks)
        kind = "class" if is_class else "method" if scope.kind == "class" else "function"
        self.symbols.append(
            Symbol(
                name,
                kind,  # type: ignore[arg-type]  # one of three literals
                first_line(node),
                last_line(node),
                scope.container,
                self._signature(node, body),
                self._docstring(body) or self._leading(comment),
                marks,
            )
        )
        if is_class:
            tests = self.is_test_file and self._is_test_class(node, name)
            return body or node, _Scope(inside, "class", tests, marks + scope.marks, params)
        return body or node, _Scope(inside, "function")

    def _statement(self, node: "Node", scope: _Scope, comment: "Node | None") -> None:
        """A constant, a module-wide `pytestmark`, or a skip in a test's body."""
        inner = node.children[0] if node.children else None
        if inner is None:
            return
        if inner.type == "call" and scope.body_marks is not None:
            text = self.source.fold(inner)
            if _SKIP_CALL.match(text):
                scope.body_marks.append(text)
        elif inner.type == "assignment" and scope.kind != "function":
            left = inner.child_by_field_name("left")
            name = self.source.text(left) if left is not None and left.type == "identifier" else ""
            if name == "pytestmark" and scope.kind == "module":
                self.module_marks = (self.source.fold(inner),)
            if _CONSTANT.fullmatch(name):
                self._constant(inner, name, scope, comment)

    def _constant(self, node: "Node", name: str, scope: _Scope, comment: "Node | None") -> None:
        signature = (
            self.source.fold(node)
            if node.start_point[0] == node.end_point[0]
            else self._line_of(node)
        )
        self.symbols.append(
            Symbol(
                name,
                "constant",
                first_line(node),
                last_line(node),
                scope.container,
                signature,
                self._leading(comment),
                (),
            )
        )

    def _named(self, node: "Node", kind: str, scope: _Scope, comment: "Node | None") -> None:
        left = node.child_by_field_name("left")
        if left is None:
            return
        name = self.source.fold(left).split("[")[0]
        self.symbols.append(
            Symbol(
                name,
                kind,  # type: ignore[arg-type]  # a literal at each call
                first_line(node),
                last_line(node),
                scope.container,
                self.source.fold(node),
                self._leading(comment),
                (),
            )
        )

    def _import(self, node: "Node") -> None:
        line = first_line(node)
        names = [self._import_name(child) for child in node.children_by_field_name("name")]
        if node.type == "import_statement":
            self.imports.extend(Import(name, (), line) for name in names)
            return
        module = node.child_by_field_name("module_name")
        if any(child.type == "wildcard_import" for child in node.children):
            names = ["*"]
        self.imports.append(
            Import(self.source.fold(module) if module else "__future__", tuple(names), line)
        )

    def _import_name(self, node: "Node") -> str:
        original = node.child_by_field_name("name") if node.type == "aliased_import" else node
        return self.source.fold(original or node)

    def _fixtures(self, node: "Node", scope: _Scope, parametrized: frozenset[str]) -> list[str]:
        names = [name for name, default in parameter_names(self.source, node) if not default]
        if scope.kind == "class":
            names = names[1:]
        decorated = node.parent.children if node.parent is not None else ()
        patches = [child for child in decorated if _PATCH.match(self.source.fold(child))]
        names = names[len(patches) :]
        return [name for name in names if name not in parametrized]

    def _is_test_class(self, node: "Node", name: str) -> bool:
        bases = node.child_by_field_name("superclasses")
        return name.lower().startswith("test") or (
            bases is not None
            and _TEST_CLASS_BASE.search(self.source.fold(bases).strip("()")) is not None
        )

    def _signature(self, node: "Node", body: "Node | None") -> str:
        end = body.start_byte if body is not None else node.end_byte
        comment = next((child for child in node.children if child.type == "comment"), None)
        if (
            comment is not None and comment.start_byte < end
        ):  # a comment after the colon is no signature
            end = comment.start_byte
        return self.source.fold_between(node.start_byte, end, 10_000).rstrip(": ")[:160]

    def _docstring(self, body: "Node | None") -> str:
        for child in body.children if body is not None else ():
            if child.type == "comment":
                continue
            string = (
                child.children[0]
                if child.type == "expression_statement" and child.children
                else None
            )
            if string is None or string.type != "string":
                return ""
            content = next(
                (part for part in string.children if part.type == "string_content"), None
            )
            return first_sentence(self.source.text(content)) if content is not None else ""
        return ""

    def _leading(self, comment: "Node | None") -> str:
        return (
            first_sentence(comment_text(self.source.text(comment))) if comment is not None else ""
        )

    def _line_of(self, node: "Node") -> str:
        end = self.source.data.find(b"\n", node.start_byte)
        return self.source.fold_between(node.start_byte, end if end >= 0 else node.end_byte)


def parameter_names(source: Source, function: "Node") -> list[tuple[str, bool]]:
    """The plain parameters of a Python function, `*args` and `**kwargs` left out, and whether each has a default."""
    parameters = function.child_by_field_name("parameters")
    found: list[tuple[str, bool]] = []
    for child in parameters.named_children if parameters is not None else ():
        kind = child.type
        if kind == "identifier":
            found.append((source.text(child), False))
        elif kind == "typed_parameter" and child.children[0].type == "identifier":
            found.append((source.text(child.children[0]), False))
        elif kind in ("default_parameter", "typed_default_parameter"):
            name = child.child_by_field_name("name")
            if name is not None:
                found.append((source.text(name), True))
    return found


def _parametrized(source: Source, decorators: tuple["Node", ...]) -> frozenset[str]:
    """The names that `@pytest.mark.parametrize` gives values to."""
    names: list[str] = []
    for decorator in decorators:
        call = decorator.named_children[0] if decorator.named_children else None
        if call is None or call.type != "call":
            continue
        function = call.child_by_field_name("function")
        arguments = call.child_by_field_name("arguments")
        if (
            function is None
            or arguments is None
            or not source.text(function).endswith("parametrize")
        ):
            continue
        first = next((child for child in arguments.named_children if child.type != "comment"), None)
        if first is not None:
            names += re.findall(r"\w+", source.fold(first, 400))
    return frozenset(names)
