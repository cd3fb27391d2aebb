"""Details of a Python file."""

import re
from typing import TYPE_CHECKING

from preread.syntax.details_walk import Collector, Handler
from preread.syntax.grammars import Source, first_line
from preread.syntax.model import Details, MemberKind, Outline
from preread.syntax.outline_python import parameter_names

if TYPE_CHECKING:
    from tree_sitter import Node

_HOOKS = frozenset(
    "setUp tearDown setUpClass tearDownClass setUpTestData asyncSetUp asyncTearDown setUpModule tearDownModule"
    " setup_method teardown_method setup_class teardown_class setup_module teardown_module setup_function"
    " teardown_function".split()
)
_ASSERTING_CALL = re.compile(
    r"((pytest\.)?(raises|warns|deprecated_call)|(self|cls)\.(assert|fail)\w*|\w+(\.\w+)*\.assert_\w+|assert_\w+)"
)
_OPTION_CALL = re.compile(r"(\w+\.)*(option|Option|add_argument|add_option|argument|Argument)")
_OPTION = re.compile(r"-{1,2}[A-Za-z][\w-]*")
_IMPOSED_DECORATOR = re.compile(r"@(\w+\.)*(overload|abstractmethod|abstractproperty|fixture)\b")
_ENUM_BASE = re.compile(r"\b(\w*Enum|\w*Flag|\w*Choices)\b")
_CONSTANT = re.compile(r"_{0,2}[A-Z][A-Z0-9_]*")
_CONSTRUCTORS = frozenset(("__init__", "__new__", "__call__"))


def details_python(source: Source, outline: Outline) -> Details:
    """The details of a parsed Python file."""
    return _Python(source, outline).run()


class _Python(Collector):
    see_all = frozenset(("locals", "vars", "eval", "exec"))

    def handlers(self) -> dict[str, Handler]:
        return {
            "call": self._call,
            "attribute": self._attribute,
            "keyword_argument": self._keyword,
            "assert_statement": self._assert,
            "raise_statement": self._raise,
            "class_definition": self._class,
            "function_definition": self._function,
            "decorated_definition": self._decorated,
            "module": self._module,
        }

    def __init__(self, source: Source, outline: Outline) -> None:
        super().__init__(source, outline)
        self._decorations: dict[int, list[str]] = {}  # by the offset of the definition
        self._decorating = (0, "")  # offset at which the decorators end, name of what they decorate
        self._methods: set[int] = set()  # offsets of functions that stand directly in a class

    def _call(self, node: "Node", hook: str) -> str:
        arguments = node.child_by_field_name("arguments")
        callee = self.callee(node.child_by_field_name("function"))
        self.add_call(node, callee, arguments, hook)
        if _ASSERTING_CALL.fullmatch(callee):
            self.add_assertion(node)
        if _OPTION_CALL.fullmatch(callee):
            self._options(node, arguments)
        return hook

    def _options(self, node: "Node", arguments: "Node | None") -> None:
        end, name = self._decorating
        owner = name if node.start_byte < end else self.within(first_line(node))
        for argument in arguments.named_children if arguments is not None else ():
            if argument.type == "string":
                raw = self.raw(argument)
                for option in _OPTION.findall(raw) if raw.startswith("-") else ():
                    self.add_member(argument, option, raw, owner, "option")

    def _attribute(self, node: "Node", hook: str) -> str:
        name = node.child_by_field_name("attribute")
        if name is not None:
            self.not_uses.add(name.start_byte)
        return hook

    def _keyword(self, node: "Node", hook: str) -> str:
        name = node.child_by_field_name("name")
        if name is not None:
            self.not_uses.add(name.start_byte)
        return hook

    def _assert(self, node: "Node", hook: str) -> str:
        self.add_assertion(node)
        return hook

    def _raise(self, node: "Node", hook: str) -> str:
        value = node.named_children[0] if node.named_children else None
        if value is not None and value.type == "call":
            exception = self.callee(value.child_by_field_name("function"))
            self.add_raise(node, exception, value.child_by_field_name("arguments"))
        return hook

    def _decorated(self, node: "Node", hook: str) -> str:
        definition = node.child_by_field_name("definition")
        name = definition.child_by_field_name("name") if definition is not None else None
        if definition is None or name is None:
            return hook
        decorators = [
            self.source.fold(child) for child in node.children if child.type == "decorator"
        ]
        self._decorations[definition.start_byte] = decorators
        self._decorating = (definition.start_byte, self.source.text(name))
        return hook

    def _function(self, node: "Node", hook: str) -> str:
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is None or body is None:
            return hook
        name = self.source.text(name_node)
        decorators = self._decorations.get(node.start_byte, [])
        imposed = any(_IMPOSED_DECORATOR.match(decorator) for decorator in decorators)
        is_dunder = name.startswith("__") and name.endswith("__") and name not in _CONSTRUCTORS
        if (
            not imposed
            and not is_dunder
            and first_line(node) not in self.test_lines
            and not self._is_stub(body)
        ):
            self._note_parameters(node, name, body, decorators)
        if any(re.match(r"@(\w+\.)*fixture\b", decorator) for decorator in decorators):
            return f"fixture:{name}"
        return name if name in _HOOKS else hook

    def _note_parameters(
        self, node: "Node", name: str, body: "Node", decorators: list[str]
    ) -> None:
        names = {parameter for parameter, _ in parameter_names(self.source, node)}
        is_method = node.start_byte in self._methods and "@staticmethod" not in decorators
        parameters = node.child_by_field_name("parameters")
        for index, child in enumerate(parameters.named_children if parameters is not None else ()):
            inner = child.child_by_field_name("name") or (
                child.children[0] if child.children else child
            )
            text = self.source.text(inner)
            if inner.type == "identifier" and text in names and not (is_method and index == 0):
                self.add_parameter(child, text, name, body.end_byte)

    def _is_stub(self, body: "Node") -> bool:
        """A body of nothing but a docstring, `pass`, `...` or `raise NotImplementedError`."""
        for child in body.named_children:
            if child.type in ("pass_statement", "comment"):
                continue
            inner = child.named_children[0] if child.named_children else None
            if (
                child.type == "expression_statement"
                and inner is not None
                and inner.type in ("string", "ellipsis")
            ):
                continue
            if child.type == "raise_statement" and "NotImplemented" in self.source.fold(child):
                continue
            return False
        return True

    def _module(self, node: "Node", hook: str) -> str:
        for name, value, child, _ in self._assignments(node):
            if value is not None and re.match(r"(\w+\.)?Literal\[", self.source.fold(value)):
                self._literal_union(value, name)
            elif _CONSTANT.fullmatch(name):
                self.add_member(child, name, value, "", "constant")
        return hook

    def _literal_union(self, value: "Node", owner: str) -> None:
        for part in value.named_children:
            if part.type == "string":
                self.add_member(part, self.raw(part), part, owner, "union")

    def _class(self, node: "Node", hook: str) -> str:
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is None or body is None:
            return hook
        owner = self.source.text(name_node)
        bases = node.child_by_field_name("superclasses")
        is_enum = bases is not None and _ENUM_BASE.search(self.source.fold(bases)) is not None
        for child in body.named_children:
            function = (
                child.child_by_field_name("definition")
                if child.type == "decorated_definition"
                else child
            )
            if function is not None and function.type == "function_definition":
                self._methods.add(function.start_byte)
        for name, value, child, annotation in self._assignments(body):
            kind: MemberKind | None = "field" if annotation is not None else None
            if is_enum and annotation is None and not name.startswith("_"):
                kind = "enum"
            elif _CONSTANT.fullmatch(name):
                kind = "constant"
            elif value is not None and value.type == "call":  # a model field: name = CharField(…)
                kind = "field"
            if kind is not None:
                written = annotation or value
                text = (
                    self.source.fold_between(written.start_byte, child.end_byte, 120)
                    if written
                    else ""
                )
                self.add_member(child, name, text, owner, kind)
        return hook

    def _assignments(self, block: "Node") -> list[tuple[str, "Node | None", "Node", "Node | None"]]:
        """(name, value, assignment, annotation) of each plain assignment directly in a block."""
        found = []
        for statement in block.named_children:
            node = statement.named_children[0] if statement.named_children else None
            if (
                statement.type != "expression_statement"
                or node is None
                or node.type != "assignment"
            ):
                continue
            left = node.child_by_field_name("left")
            if left is not None and left.type == "identifier":
                right, annotation = (
                    node.child_by_field_name("right"),
                    node.child_by_field_name("type"),
                )
                found.append((self.source.text(left), right, node, annotation))
        return found
