"""What a file defines and tests, read from the grammars by rules of this benchmark's own.

A definition is a function, a method, or a type (class, struct, interface, trait, enum, alias). What
is defined inside a function belongs to that function. A test is what its runner would run by name:
a function or a title.
"""

import importlib
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from kinds import TEST, kind_of
from tree_sitter import Language, Node, Parser


class Definition(NamedTuple):
    name: str
    start: int  # its first line, decorators and attributes too
    end: int
    line: int  # of its name
    kind: str  # type | function | test

    @property
    def is_test(self) -> bool:
        return self.kind == "test"


_GRAMMARS = {
    "py pyi": ("python", "language"),
    "js jsx mjs cjs": ("javascript", "language"),
    "ts mts cts": ("typescript", "language_typescript"),
    "tsx": ("typescript", "language_tsx"),
    "go": ("go", "language"),
    "rs": ("rust", "language"),
    "java": ("java", "language"),
    "kt kts": ("kotlin", "language"),
    "c h": ("c", "language"),
    "cc cpp cxx hh hpp hxx": ("cpp", "language"),
    "cs": ("c_sharp", "language"),
    "rb rake": ("ruby", "language"),
    "php": ("php", "language_php"),
    "swift": ("swift", "language"),
}
_GRAMMAR = {suffix: grammar for names, grammar in _GRAMMARS.items() for suffix in names.split()}
_TYPES = frozenset(
    """
    class_definition class_declaration abstract_class_declaration class class_specifier module
    struct_specifier interface_declaration type_alias_declaration enum_declaration type_spec
    record_declaration annotation_type_declaration struct_declaration trait_declaration
    object_declaration protocol_declaration struct_item enum_item union_item trait_item type_item
    impl_item
    """.split()
)
_FUNCTIONS = frozenset(
    """
    function_definition function_declaration generator_function_declaration function_signature
    function_item function_signature_item macro_definition method method_declaration
    method_definition method_signature abstract_method_signature constructor_declaration
    singleton_method init_declaration
    """.split()
)
_VALUES = frozenset(
    ("arrow_function", "function_expression", "function", "generator_function", "class")
)
# Nodes that give a function or a class as a value its name: the fields of name and value.
_NAMED_VALUES = {
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
    "pair": ("key", "value"),
    "field_definition": ("property", "value"),
    "public_field_definition": ("name", "value"),
}
_EXPORTS = frozenset(("module.exports", "exports"))  # a function's place, not its name
_AHEAD = frozenset(("decorated_definition", "export_statement", "type_declaration"))  # begin before
_TITLED = re.compile(r"^(it|test|specify|scenario|should|fit|xit|bench|Deno\.test|QUnit\.test)\b")
_RUST_TEST = re.compile(r"#\[(\w+::)*(test|rstest|test_case|quickcheck)\b")
_MARKED = re.compile(r"@(\w+\.)*\w*Test\b|\[(Fact|Theory|Test|TestMethod|TestCase)\b|#\[Test\b")
_BY_NAME = {
    "py": re.compile("test"),
    "go": re.compile("(Test|Benchmark|Example|Fuzz)"),
    "rb": re.compile("test_"),
    "java": re.compile("test"),
    "php": re.compile("test"),
    "swift": re.compile("test"),
}
MAX_BYTES = 600_000


def definitions(path: str, text: str) -> list[Definition]:
    """In the order of lines; nothing for a file without a grammar here."""
    data = text.encode()
    suffix = _suffix(path)
    if suffix not in _GRAMMAR or len(data) > MAX_BYTES:
        return []
    root = _parser(*_GRAMMAR[suffix]).parse(data).root_node
    by_name = _BY_NAME.get(suffix) if kind_of(path) == TEST else None
    found = (_plain(one, by_name) for one in _walk(root, inside=False))
    return sorted(set(found), key=lambda one: (one.start, -one.end))


def innermost(found: list[Definition], first: int, last: int) -> Definition | None:
    """The smallest definition that holds both lines."""
    around = [one for one in found if one.start <= first and last <= one.end]
    return min(around, key=lambda one: one.end - one.start, default=None)


def _suffix(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].lower()


@cache
def _parser(module: str, function: str) -> Parser:
    return Parser(Language(getattr(importlib.import_module(f"tree_sitter_{module}"), function)()))


def _plain(one: Definition, by_name: re.Pattern[str] | None) -> Definition:
    """With those that are tests by their name alone."""
    named = by_name is not None and one.kind == "function" and by_name.match(one.name)
    return one._replace(kind="test") if named else one


def _walk(node: Node, *, inside: bool) -> Iterator[Definition]:
    """`inside`: of a function with a name; of what it defines only tests are told."""
    stack = [(node, inside)]
    while stack:
        one, within = stack.pop()
        found, is_function = _definition(one), one.type in _FUNCTIONS
        if found is not None and (found.is_test or not within):
            yield found
            is_function = is_function or one.type in _NAMED_VALUES
        stack += [(child, within or (found is not None and is_function)) for child in one.children]


def _definition(node: Node) -> Definition | None:
    if node.type in _NAMED_VALUES:
        named, value = (node.child_by_field_name(field) for field in _NAMED_VALUES[node.type])
        if named is not None and value is not None and _is_function(value):
            own = value.child_by_field_name("name")
            named = own if own is not None and _text(named) in _EXPORTS else named
            name = re.split(r"[.\s]", _text(named))[-1].strip("'\"#")
            return None if name in _EXPORTS else _made(node, name, named)
    elif node.type in {"call_expression", "call"}:
        return _titled(node)
    elif node.is_named and (node.type in _TYPES or node.type in _FUNCTIONS):
        name = _name_of(node)
        is_body = node.type not in {
            "class_specifier",
            "struct_specifier",
        } or node.child_by_field_name("body")
        if name is not None and is_body:
            return _made(node, _bare(_text(name)), name)
    return None


def _bare(name: str) -> str:
    """`f` of `A::f` and of `A<T>::f`; a name in backticks is one."""
    return (
        name.strip("`")
        if name.startswith("`")
        else re.sub(r"<[^:]*$", "", name).rpartition("::")[2].strip()
    )


def _is_function(value: Node) -> bool:
    """Also one that is wrapped, as in `memo(() => …)`."""
    if value.type in {"call_expression", "parenthesized_expression"}:
        arguments = value.child_by_field_name("arguments") or value
        return any(child.type in _VALUES for child in arguments.named_children[:1])
    return value.type in _VALUES


def _name_of(node: Node) -> Node | None:
    name = node.child_by_field_name("type" if node.type == "impl_item" else "name")
    if name is not None and name.type == "generic_type":
        name = name.child_by_field_name("type") or name
    inner = node.child_by_field_name("declarator")  # C: the name is inside what is declared
    while name is None and inner is not None:
        below = inner.child_by_field_name("declarator")
        if below is None:
            name = inner.child_by_field_name("name") or inner
        inner = below
    return name


def _titled(node: Node) -> Definition | None:
    """`it("adds", () => …)` and its like in Ruby, by the title."""
    called = node.child_by_field_name("function") or node.child_by_field_name("method")
    arguments = node.child_by_field_name("arguments")
    if called is None or arguments is None or not _TITLED.match(_text(called)):
        return None
    title = next(iter(arguments.named_children), None)
    if title is None or title.type not in {"string", "template_string"}:
        return None
    name = " ".join(_text(title)[1:-1].split())
    return _made(node, name, title)._replace(kind="test") if name else None


def _made(node: Node, name: str, at: Node) -> Definition:
    first, marks = node, ""
    while first.parent is not None and first.parent.type in _AHEAD:
        first = first.parent
    start = first.start_point[0]
    before = node.prev_sibling
    while before is not None and before.type == "attribute_item":  # of Rust
        start, marks = before.start_point[0], marks + _text(before)
        before = before.prev_sibling
    head = _text(node)[: at.start_byte - node.start_byte]
    kind = "type" if node.type in _TYPES else "function"
    if kind == "function" and (_RUST_TEST.search(marks) or _MARKED.search(head)):
        kind = "test"
    return Definition(name, start + 1, first.end_point[0] + 1, at.start_point[0] + 1, kind)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
