"""PHP: PHPUnit and Pest."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from preread.syntax.grammars import Source
from preread.syntax.model import Import, SymbolKind
from preread.syntax.table import Family, Named, Shape, Table, Tests, by_name, entries, typed

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS: dict[str, SymbolKind] = {
    "class_declaration": "class",
    "trait_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "method_declaration": "method",
    "function_definition": "function",
    "const_declaration": "constant",
}


def _define(source: Source, node: "Node") -> Iterable[Named]:
    if node.type != "const_declaration":
        return by_name(source, node, _KINDS[node.type])
    elements = [
        child
        for child in node.named_children
        if child.type == "const_element" and child.named_children
    ]
    return [Named(source.text(element.named_children[0]), "constant") for element in elements]


def _property(source: Source, node: "Node") -> list[tuple[str, str]]:
    of = node.child_by_field_name("type")
    elements = [
        child.child_by_field_name("name")
        for child in node.named_children
        if child.type == "property_element"
    ]
    return [
        (source.fold(name).lstrip("$"), source.fold(of, 120) if of is not None else "")
        for name in elements
        if name is not None
    ]


def _promoted(source: Source, node: "Node") -> list[tuple[str, str]]:
    return [(name.lstrip("$"), of) for name, of in typed(source, node)]


def _use(source: Source, node: "Node") -> list[Import]:
    """`use A\\B;` takes the name B from A; `use A\\{B, C};` two names."""
    written = re.sub(r"\s+as\s+\w+", "", source.fold(node, 2000).removeprefix("use ").rstrip("; "))
    written = re.sub(r"^(function|const) ", "", written)
    line = node.start_point[0] + 1
    group = re.fullmatch(r"([\w\\]+)\\\{(.*)\}", written)
    if group:
        return [Import(group[1], tuple(re.findall(r"[\w\\]+", group[2])), line)]
    parts = [part.strip().strip("\\").rpartition("\\") for part in written.split(",")]
    return [Import(module or name, (name,) if module else (), line) for module, _, name in parts]


def _include(source: Source, node: "Node") -> list[Import]:
    """The file that a `require` at the top level names."""
    found = re.search(r"(?:require|include)(?:_once)?\b.*['\"]([^'\"]+)['\"]", source.fold(node))
    return [Import(found[1], (), node.start_point[0] + 1)] if found else []


TABLES = {
    "PHP": Table(
        kinds=_KINDS,
        define=_define,
        holders=frozenset(
            ("namespace_definition", "compound_statement", "if_statement", "declaration_list")
        ),
        bodies=frozenset(("declaration_list", "enum_declaration_list", "compound_statement")),
        marks=frozenset(("attribute_group",)),
        imports={"namespace_use_declaration": _use, "expression_statement": _include},
        calls={
            "function_call_expression": Shape("function"),
            "member_call_expression": Shape("name", receiver="object"),
            "nullsafe_member_call_expression": Shape("name", receiver="object"),
            "scoped_call_expression": Shape("name", receiver="scope"),
            "object_creation_expression": Shape(prefix="new "),
        },
        links={
            "member_access_expression": "object",
            "nullsafe_member_access_expression": "object",
            "scoped_property_access_expression": "scope",
            "class_constant_access_expression": "",
        },
        strings=frozenset(("string", "encapsed_string", "heredoc", "nowdoc")),
        identifiers=frozenset(("variable_name",)),
        families={
            "enum_case": Family("enum", entries),
            "property_declaration": Family("field", _property),
            "property_promotion_parameter": Family("field", _promoted),
        },
        throws=frozenset(("throw_expression", "throw_statement")),
        parameters={"simple_parameter": "name"},
        imposed=re.compile(r"\babstract\b|\bfunction &?__(?!construct)"),
        tests=Tests(
            marks=re.compile(r"^#\[.*\bTest\b"),
            names=re.compile(r"test[A-Z0-9_]\w*"),
            doc=re.compile(r"(?m)^\s*(/\*)?\*+\s*@test\b"),
            declared=re.compile(rb"\b(test|it|todo|describe)\("),
            cases=re.compile(r"test|it|todo"),
            groups=re.compile(r"describe"),
            skips=re.compile(r"(\$this->|self::|static::)markTest(Skipped|Incomplete)\([^)]*\)"),
            hooks=re.compile(
                r"setUp(BeforeClass)?|tearDown(AfterClass)?|(before|after)(Each|All)|Before(Class)?|After(Class)?"
            ),
            assertions=re.compile(
                r"((\$this->|self::|static::|Assert::)(assert\w*|fail|expectException\w*|expectOutput\w*)|expect\(…\).*)",
                re.DOTALL,
            ),
        ),
    )
}
