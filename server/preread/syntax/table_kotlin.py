"""Kotlin: JUnit, kotlin.test, TestNG and Kotest."""

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
    "object_declaration": "class",
    "companion_object": "class",
    "type_alias": "type",
    "function_declaration": "function",
    "property_declaration": "constant",
}
_UPPER = re.compile(r"[A-Z][A-Z0-9_]*")


def _define(source: Source, node: "Node") -> Iterable[Named]:
    name = node.child_by_field_name("name") or node.child_by_field_name("type")
    kind = _KINDS[node.type]
    if node.type == "property_declaration":
        name = _variable(node)
        before = words_before(source, node, name)
        if name is None or not (" const " in f" {before} " or _UPPER.fullmatch(source.text(name))):
            return ()
    elif node.type == "class_declaration":
        before = words_before(source, node, name)
        kind = (
            "enum"
            if re.search(r"\benum\b", before)
            else "interface"
            if "interface" in before
            else "class"
        )
    elif node.type == "companion_object" and name is None:
        return (Named("Companion", kind),)
    return (Named(source.fold(name).strip("`"), kind),) if name is not None else ()


def _variable(node: "Node") -> "Node | None":
    held = next(
        (child for child in node.named_children if child.type == "variable_declaration"), None
    )
    return held.named_children[0] if held is not None and held.named_children else None


def _property(source: Source, node: "Node") -> list[tuple[str, str]]:
    """A property of a class; the same node in a function is a variable."""
    name = _variable(node)
    if (
        name is None
        or node.parent is None
        or node.parent.type != "class_body"
        or any(_define(source, node))
    ):
        return []
    return [
        (source.text(name), source.fold_between(name.end_byte, node.end_byte, 120).lstrip(": "))
    ]


def _parameter(source: Source, node: "Node") -> list[tuple[str, str]]:
    """A property that the primary constructor declares."""
    name = next((child for child in node.named_children if child.type == "identifier"), None)
    if name is None or not re.search(
        r"\b(val|var)\s*$", source.fold_between(node.start_byte, name.start_byte)
    ):
        return []
    return [
        (source.text(name), source.fold_between(name.end_byte, node.end_byte, 120).lstrip(": "))
    ]


def _import(source: Source, node: "Node") -> list[Import]:
    written = source.fold(node).removeprefix("import ").split(" as ")[0].rstrip("; ")
    module, _, name = written.rpartition(".")
    return [Import(module, (name,), node.start_point[0] + 1)]


TABLES = {
    "Kotlin": Table(
        kinds=_KINDS,
        define=_define,
        bodies=frozenset(("class_body", "enum_class_body", "function_body")),
        misread=frozenset(
            ("annotated_expression",)
        ),  # a class with a comment among its annotations
        marks=frozenset(("annotation",)),
        imports={"import": _import},
        calls={"call_expression": Shape()},
        links={"navigation_expression": ""},
        strings=frozenset(("string_literal", "multiline_string_literal")),
        identifiers=frozenset(("identifier",)),
        families={
            "enum_entry": Family("enum", entries),
            "class_parameter": Family("field", _parameter),
            "property_declaration": Family("field", _property),
        },
        throws=frozenset(("throw_expression",)),
        raising=re.compile(r"error|require|requireNotNull|check|checkNotNull"),
        checks={"infix_expression": re.compile(r"\bshould\w*\b")},
        parameters={"parameter": ""},
        imposed=re.compile(r"\b(override|open|abstract|operator|external|expect|actual)\b"),
        embedded=re.compile(r"\$([A-Za-z_]\w*)"),
        tests=Tests(
            marks=re.compile(r"^@(\w+\.)*(\w*Test|TestFactory|TestTemplate|Property)\b"),
            declared=re.compile(rb"\w(Spec|Feature)\b"),
            cases=re.compile(r'[xf]?(test|it|should|scenario|then|Then|expect)|"'),
            groups=re.compile(r"[xf]?(context|describe|given|Given|when|When|and|And|feature)"),
            hooks=re.compile(
                r"(Before|After)(Each|All|Class|Test|Suite|Method)?|setUp|tearDown"
                r"|(before|after)(Test|Spec|Each|Any|Container|Project)"
            ),
            assertions=re.compile(
                r"((\w+\.)*Assert(ions|ions4j)?\.)?(assert\w*|fail|verify|coVerify|confirmVerified|should\w*)"
                r"|(assertThat|expectThat)\(…\).*|.*\.should\w*",
                re.DOTALL,
            ),
        ),
    )
}
