"""Swift: XCTest, Swift Testing, Quick."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from preread.syntax.grammars import Source
from preread.syntax.model import Import, SymbolKind
from preread.syntax.table import Family, Named, Shape, Table, Tests, entries, words_before

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS: dict[str, SymbolKind] = {
    "class_declaration": "class",
    "protocol_declaration": "interface",
    "typealias_declaration": "type",
    "associatedtype_declaration": "type",
    "macro_declaration": "function",
    "function_declaration": "function",
    "protocol_function_declaration": "function",
    "init_declaration": "method",
    "property_declaration": "constant",
}


def _define(source: Source, node: "Node") -> Iterable[Named]:
    name = node.child_by_field_name("name")
    kind = _KINDS[node.type]
    if node.type == "property_declaration":
        if not _is_constant(source, node, name):
            return ()
    elif node.type == "class_declaration":
        kind = "enum" if re.search(r"\benum\b", words_before(source, node, name)) else "class"
    elif node.type == "init_declaration":
        return (Named("init", kind),)
    return (
        (Named(source.fold(name).strip("`").partition("<")[0], kind),) if name is not None else ()
    )


def _is_constant(source: Source, node: "Node", name: "Node | None") -> bool:
    """Whether a property is a `let` of a file or a static one of a type, with a value."""
    before = words_before(source, node, name).split()
    at_top = node.parent is not None and node.parent.type == "source_file"
    has_value = node.child_by_field_name("value") is not None
    return has_value and "let" in before and (at_top or "static" in before)


def _property(source: Source, node: "Node") -> list[tuple[str, str]]:
    """A property of a type; the same node in a function is a variable."""
    name = node.child_by_field_name("name")
    inside = node.parent is not None and node.parent.type in (
        "class_body",
        "enum_class_body",
        "protocol_body",
    )
    if name is None or not inside or _is_constant(source, node, name):
        return []
    value = (
        source.fold_between(name.end_byte, node.end_byte, 120)
        .lstrip(": ")
        .partition("{")[0]
        .rstrip()
    )
    return [(source.fold(name).removeprefix("var ").removeprefix("let "), value)]


def _import(source: Source, node: "Node") -> list[Import]:
    written = re.sub(
        r"^.*?\bimport\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?",
        "",
        source.fold(node),
    )
    module, _, name = written.partition(".")
    return [Import(module, (name,) if name else (), node.start_point[0] + 1)]


TABLES = {
    "Swift": Table(
        kinds=_KINDS,
        define=_define,
        holders=frozenset(("if_config_declaration", "directive")),
        bodies=frozenset(("class_body", "enum_class_body", "protocol_body", "function_body")),
        marks=frozenset(("attribute",)),
        imports={"import_declaration": _import},
        calls={"call_expression": Shape(), "macro_invocation": Shape(prefix="#")},
        links={"navigation_expression": "target"},
        strings=frozenset(
            ("line_string_literal", "multi_line_string_literal", "raw_string_literal")
        ),
        identifiers=frozenset(("simple_identifier",)),
        families={
            "enum_entry": Family("enum", entries),
            "property_declaration": Family("field", _property),
            "protocol_property_declaration": Family("field", _property),
        },
        throws=frozenset(("control_transfer_statement",)),
        raising=re.compile(r"fatalError|precondition(Failure)?|assertionFailure|assert"),
        parameters={"parameter": "name"},
        imposed=re.compile(r"\b(override|open|required|operator)\b|@objc|@IBAction"),
        tests=Tests(
            marks=re.compile(r"^@Test\b"),
            names=re.compile(r"test([A-Z0-9_]\w*)?"),
            declared=re.compile(rb"\bQuick\b|\bdescribe\("),
            cases=re.compile(r"[xf]?it|test"),
            groups=re.compile(r"[xf]?(describe|context)"),
            skips=re.compile(r"XCTSkip(If|Unless)?\([^)]*\)?"),
            hooks=re.compile(
                r"(setUp|tearDown)(WithError)?|(before|after)(Each|All|Suite)|justBeforeEach"
            ),
            assertions=re.compile(
                r"XCT(Assert|Fail|Unwrap)\w*|#(expect|require)|expect\(…\)\.(to|notTo|toNot|toEventually)\w*"
            ),
        ),
    )
}
