"""C#: xUnit, NUnit and MSTest."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from preread.syntax.grammars import Source
from preread.syntax.model import Import, SymbolKind
from preread.syntax.table import (
    Family,
    Named,
    Shape,
    Table,
    Tests,
    by_name,
    entries,
    typed,
    words_before,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS: dict[str, SymbolKind] = {
    "class_declaration": "class",
    "struct_declaration": "class",
    "record_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "delegate_declaration": "type",
    "method_declaration": "method",
    "constructor_declaration": "method",
    "local_function_statement": "function",
    "field_declaration": "constant",
}


def _define(source: Source, node: "Node") -> Iterable[Named]:
    if node.type != "field_declaration":
        return by_name(source, node, _KINDS[node.type])
    declared = _declared(node)
    before = words_before(source, node, declared)
    if " const " not in f" {before} " and not ("static" in before and "readonly" in before):
        return ()
    return [Named(source.text(name), "constant") for name in _names(declared)]


def _declared(node: "Node") -> "Node | None":
    return next(
        (child for child in node.named_children if child.type == "variable_declaration"), None
    )


def _names(declared: "Node | None") -> list["Node"]:
    children = declared.named_children if declared is not None else []
    names = [
        child.child_by_field_name("name")
        for child in children
        if child.type == "variable_declarator"
    ]
    return [name for name in names if name is not None]


def _field(source: Source, node: "Node") -> list[tuple[str, str]]:
    declared = _declared(node)
    of = declared.child_by_field_name("type") if declared is not None else None
    if any(_define(source, node)) or of is None:
        return []
    return [(source.text(name), source.fold(of, 120)) for name in _names(declared)]


def _import(source: Source, node: "Node") -> list[Import]:
    written = (
        source.fold(node)
        .rstrip("; ")
        .removeprefix("global ")
        .removeprefix("using ")
        .removeprefix("static ")
    )
    return [Import(written.rpartition("=")[2].strip(), (), node.start_point[0] + 1)]


TABLES = {
    "C#": Table(
        kinds=_KINDS,
        define=_define,
        holders=frozenset(
            "namespace_declaration file_scoped_namespace_declaration declaration_list preproc_if preproc_else"
            " preproc_elif preproc_region global_statement".split()
        ),
        bodies=frozenset(
            ("declaration_list", "enum_member_declaration_list", "block", "arrow_expression_clause")
        ),
        marks=frozenset(("attribute_list",)),
        imports={"using_directive": _import},
        calls={
            "invocation_expression": Shape("function"),
            "object_creation_expression": Shape("type", prefix="new "),
        },
        links={
            "member_access_expression": "expression",
            "conditional_access_expression": "condition",
        },
        strings=frozenset(
            (
                "string_literal",
                "interpolated_string_expression",
                "verbatim_string_literal",
                "raw_string_literal",
            )
        ),
        identifiers=frozenset(("identifier",)),
        families={
            "enum_member_declaration": Family("enum", entries),
            "property_declaration": Family("field", typed),
            "field_declaration": Family("field", _field),
        },
        throws=frozenset(("throw_statement", "throw_expression")),
        parameters={"parameter": "name"},
        imposed=re.compile(r"\b(override|virtual|abstract|partial|extern|operator)\b"),
        tests=Tests(
            marks=re.compile(
                r"\b(\w*Fact|\w*Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod|Property)(Attribute)?\b(?!\.)"
            ),
            hooks=re.compile(
                r"(OneTime)?(SetUp|TearDown)|(Test|Class|Assembly)(Initialize|Cleanup)|InitializeAsync|DisposeAsync|Dispose"
            ),
            assertions=re.compile(
                r"((Collection|String|Classic)?Assert)\.[\w.]+|.*\.Should\w*(\(…\)\..*)?|.*\.(Verify|Received)\w*(\(…\)\..*)?",
                re.DOTALL,
            ),
        ),
    )
}
