"""Definitions, tests and imports of a Java file."""

import re
from typing import TYPE_CHECKING

from preread.syntax.grammars import Source, first_line, last_line
from preread.syntax.model import Import, Outline, Symbol, SymbolKind, TestCase
from preread.syntax.text import comment_text, first_sentence, nested

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS: dict[str, SymbolKind] = {
    "class_declaration": "class",
    "record_declaration": "class",
    "interface_declaration": "interface",
    "annotation_type_declaration": "interface",
    "enum_declaration": "enum",
    "method_declaration": "method",
    "constructor_declaration": "method",
    "compact_constructor_declaration": "method",
}
_TEST = re.compile(r"@(\w+\.)*(\w*Test|TestFactory|TestTemplate|Property)\b")


def outline_java(source: Source) -> Outline:
    """The outline of a parsed Java file."""
    symbols: list[Symbol] = []
    tests: list[TestCase] = []
    imports: list[Import] = []
    stack: list[tuple[Node, str]] = [(source.root, "")]
    while stack:
        block, container = stack.pop()
        comment: Node | None = None
        for node in block.named_children:
            if node.type.endswith("comment"):
                comment = node
                continue
            if node.type == "import_declaration":
                imports.append(_import(source, node))
            elif node.type == "enum_body_declarations":
                stack.append((node, container))
            elif node.type == "field_declaration":
                symbols += _constants(source, node, container, comment)
            elif node.type in _KINDS:
                found = _definition(source, node, container, comment)
                if isinstance(found, TestCase):
                    tests.append(found)
                else:
                    symbols.append(found)
                body = node.child_by_field_name("body")
                if (
                    body is not None
                    and "method" not in node.type
                    and "constructor" not in node.type
                ):
                    stack.append((body, nested(container, found.name)))
            comment = None
    return Outline(
        tuple(sorted(symbols, key=lambda symbol: (symbol.start, -symbol.end))),
        tuple(sorted(tests, key=lambda test: (test.start, -test.end))),
        tuple(imports),
    )


def annotations(source: Source, node: "Node") -> tuple[str, ...]:
    """The annotations of a declaration, as written, folded."""
    modifiers = next((child for child in node.named_children if child.type == "modifiers"), None)
    found = modifiers.named_children if modifiers is not None else ()
    return tuple(source.fold(child) for child in found if child.type.endswith("annotation"))


def _definition(
    source: Source, node: "Node", container: str, comment: "Node | None"
) -> Symbol | TestCase:
    name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    name = source.text(name_node) if name_node is not None else ""
    marks = annotations(source, node)
    start = first_line(name_node or node)  # annotations stand inside of the declaration
    if any(_TEST.match(mark) for mark in marks):
        others = tuple(mark for mark in marks if not _TEST.fullmatch(mark))
        return TestCase(name, start, last_line(node), container, (), others)
    begin = node.start_byte
    for child in node.named_children:
        if child.type == "modifiers":
            written = [part for part in child.named_children if part.type.endswith("annotation")]
            begin = written[-1].end_byte if written else begin
    end = body.start_byte if body is not None else node.end_byte
    signature = source.fold_between(begin, end).rstrip("; ")
    return Symbol(
        name,
        _KINDS[node.type],
        start,
        last_line(node),
        container,
        signature,
        _doc(source, comment),
        marks,
    )


def _constants(
    source: Source, node: "Node", container: str, comment: "Node | None"
) -> list[Symbol]:
    """The `static final` fields of a class."""
    signature = source.fold(node).rstrip("; ")
    if "static" not in signature or "final" not in signature:
        return []
    names = [
        declarator.child_by_field_name("name")
        for declarator in node.children_by_field_name("declarator")
    ]
    lines = first_line(node), last_line(node)
    doc = _doc(source, comment)
    return [
        Symbol(source.text(name), "constant", *lines, container, signature, doc, ())
        for name in names
        if name
    ]


def _import(source: Source, node: "Node") -> Import:
    written = source.fold(node).removeprefix("import ").removeprefix("static ").rstrip("; ")
    module, _, name = written.rpartition(".")
    return Import(module, (name,), first_line(node))


def _doc(source: Source, comment: "Node | None") -> str:
    return first_sentence(comment_text(source.text(comment))) if comment is not None else ""
