"""C and C++: GoogleTest, Catch2, doctest, Boost.Test, Check, Unity, cmocka."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from preread.syntax.grammars import Source
from preread.syntax.model import Import, SymbolKind
from preread.syntax.table import Family, Named, Shape, Table, Tests, entries

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS: dict[str, SymbolKind] = {
    "function_definition": "function",
    "declaration": "constant",
    "field_declaration": "method",
    "struct_specifier": "class",
    "class_specifier": "class",
    "union_specifier": "class",
    "enum_specifier": "enum",
    "type_definition": "type",
    "alias_declaration": "type",
    "concept_definition": "type",
    "preproc_def": "constant",
    "preproc_function_def": "function",
}
_DECLARATORS = frozenset(
    "pointer_declarator reference_declarator parenthesized_declarator init_declarator array_declarator"
    " function_declarator attributed_declarator".split()
)
_PLAIN_NAMES = frozenset(
    "identifier field_identifier type_identifier destructor_name operator_name operator_cast qualified_identifier"
    " template_function".split()
)
_TEST_MACRO = re.compile(
    r"(?:TYPED_)?TEST(?:_[FPCG]|_GROUP)?|BOOST_(?:AUTO|FIXTURE|DATA)_TEST_CASE|START_TEST|Test|Theory|MU_TEST"
)
_KEYWORDS = frozenset("if for while switch return sizeof defined".split())


def _define(source: Source, node: "Node") -> Iterable[Named]:
    kind = node.type
    if kind == "function_definition":
        return _function(source, node)
    if kind in ("declaration", "field_declaration"):
        return _declaration(source, node)
    if kind == "type_definition":
        return _typedef(source, node)
    name = node.child_by_field_name("name")
    needs_body = kind in (
        "struct_specifier",
        "class_specifier",
        "union_specifier",
        "enum_specifier",
    )
    if name is None or (needs_body and node.child_by_field_name("body") is None):
        return ()
    if kind == "preproc_def" and node.child_by_field_name("value") is None:  # an include guard
        return ()
    return (Named(source.fold(name).partition("<")[0], _KINDS[kind]),)


def _function(source: Source, node: "Node") -> Iterable[Named]:
    declarator = node.child_by_field_name("declarator")
    of = node.child_by_field_name("type")
    if of is not None and source.text(of) == "START_TEST" and declarator is not None:
        return (Named(source.fold(declarator).strip("()"), "test"),)
    name = _name(declarator)
    if name is None:
        return ()
    written = source.fold(name)
    if _TEST_MACRO.fullmatch(written) and declarator is not None:
        begin = declarator.start_byte
        given = [
            part.strip()
            for part in source.fold(declarator).partition("(")[2].rstrip(") ").split(",")
        ]
        if written.startswith("BOOST"):
            return (Named(given[0], "test", begin=begin),)
        return (Named(given[-1], "test", given[0] if len(given) > 1 else "", begin=begin),)
    if written in _KEYWORDS:
        return ()
    owner, _, last = re.sub(r"<[^<>]*>", "", written).rpartition("::")
    last = written if written.startswith("operator") else last
    # What ends a test of Check is a macro without a semicolon: it counts as the next function's type.
    begin = of.end_byte if of is not None and source.text(of) == "END_TEST" else -1
    return (Named(last, "function", owner.replace("::", "."), begin=begin),)


def _declaration(source: Source, node: "Node") -> Iterable[Named]:
    """A method that is declared in its class, or a constant with a value."""
    declarator = node.child_by_field_name("declarator")
    if declarator is None:
        return ()
    name = _name(declarator)
    if name is None:
        return ()
    if _is_function(declarator):
        in_type = node.parent is not None and node.parent.type == "field_declaration_list"
        return (Named(source.fold(name), "method"),) if in_type else ()
    before = source.fold_between(node.start_byte, name.start_byte)
    is_constant = (
        re.search(r"\b(const|constexpr|constinit)\b", before) is not None
        and "*" not in before.split("const")[-1]
    )
    valued = declarator.child_by_field_name("value") or node.child_by_field_name("default_value")
    return (Named(source.fold(name), "constant"),) if is_constant and valued is not None else ()


def _typedef(source: Source, node: "Node") -> Iterable[Named]:
    """A name for a type; what an unnamed struct or enum is known by."""
    of, name = node.child_by_field_name("type"), _name(node.child_by_field_name("declarator"))
    if name is None:
        return ()
    unnamed = (
        of is not None
        and of.child_by_field_name("name") is None
        and of.child_by_field_name("body") is not None
    )
    kind = _KINDS.get(of.type, "type") if unnamed and of is not None else "type"
    return (Named(source.fold(name), kind),)


def _name(node: "Node | None") -> "Node | None":
    """The name in a declarator: it stands inside of what says pointer, array and parameters."""
    for _ in range(40):
        if node is None or node.type in _PLAIN_NAMES:
            return node
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in _DECLARATORS:
            inner = next(
                (
                    child
                    for child in node.named_children
                    if child.type in _PLAIN_NAMES | _DECLARATORS
                ),
                None,
            )
        node = inner
    return None


def _is_function(node: "Node | None") -> bool:
    """Whether a declarator declares a function, not a pointer to one."""
    for _ in range(40):
        if node is None or node.type == "function_declarator":
            inner = node.child_by_field_name("declarator") if node is not None else None
            return inner is not None and inner.type != "parenthesized_declarator"
        node = node.child_by_field_name("declarator") or (
            node.named_children[-1] if node.named_children else None
        )
    return False


def _fields(source: Source, node: "Node") -> list[tuple[str, str]]:
    of = node.child_by_field_name("type")
    if of is None or any(_declaration(source, node)):
        return []
    names = [_name(declarator) for declarator in node.children_by_field_name("declarator")]
    return [(source.fold(name), source.fold(of, 120)) for name in names if name is not None]


def _include(source: Source, node: "Node") -> list[Import]:
    path = node.child_by_field_name("path")
    return (
        [Import(source.fold(path).strip('<>"'), (), node.start_point[0] + 1)]
        if path is not None
        else []
    )


_C = Table(
    kinds=_KINDS,
    define=_define,
    holders=frozenset(
        "preproc_if preproc_ifdef preproc_elif preproc_else linkage_specification declaration_list namespace_definition"
        " template_declaration export_declaration type_definition declaration friend_declaration".split()
    ),
    wrappers=frozenset(
        ("template_declaration", "export_declaration", "type_definition", "declaration")
    ),
    marks=frozenset(("attribute_declaration",)),
    imports={"preproc_include": _include},
    calls={"call_expression": Shape("function")},
    links={"field_expression": "argument"},
    strings=frozenset(("string_literal", "raw_string_literal", "concatenated_string")),
    identifiers=frozenset(("identifier",)),
    families={"enumerator": Family("enum", entries), "field_declaration": Family("field", _fields)},
    raising=re.compile(
        r"(\w+::)*\w*(error|fatal|die|panic|invalid|errx?|warnx?|perror)\w*", re.IGNORECASE
    ),
    tests=Tests(
        names=re.compile(r"(test_|Test)\w+|test[A-Z]\w*|\w+_test"),
        declared=re.compile(rb"TEST_CASE|SCENARIO|TEST_SUITE"),
        cases=re.compile(
            r"(TEMPLATE_)?(TEST_CASE|SCENARIO)(_METHOD|_FIXTURE|_TEMPLATE)?\w*|(DYNAMIC_)?SECTION|SUBCASE"
            r"|(AND_)?(GIVEN|WHEN|THEN)"
        ),
        groups=re.compile(r"TEST_SUITE(_BEGIN)?|BOOST_AUTO_TEST_SUITE"),
        skips=re.compile(r"(GTEST_SKIP|SKIP|TEST_IGNORE(_MESSAGE)?|skip)\([^)]*\)"),
        hooks=re.compile(
            r"(SetUp|TearDown)(TestSuite|TestCase)?|setUp|tearDown|(group_)?(setup|teardown)"
        ),
        assertions=re.compile(
            r"(\w+::)*((EXPECT|ASSERT|CHECK|REQUIRE|BOOST_(CHECK|REQUIRE|TEST)|TEST_ASSERT|ck_assert|assert|FAIL|ADD_FAILURE"
            r"|SUCCEED|STATIC_REQUIRE|munit_assert|cr_assert|g_assert)\w*)"
        ),
    ),
)

TABLES = {
    "C": _C,
    "C++": replace(
        _C,
        calls={**_C.calls, "new_expression": Shape("type", prefix="new ")},
        throws=frozenset(("throw_statement",)),
        raising=re.compile(r"(\w+::)*\w*(fatal|die|panic|report_error|throw_)\w*", re.IGNORECASE),
    ),
}
