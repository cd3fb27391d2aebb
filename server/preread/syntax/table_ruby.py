"""Ruby: RSpec, Minitest, Test::Unit and Rails' tests."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from preread.syntax.grammars import Source
from preread.syntax.model import Import, SymbolKind
from preread.syntax.table import Family, Named, Shape, Table, Tests, by_name

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS: dict[str, SymbolKind] = {
    "class": "class",
    "module": "class",
    "method": "function",
    "singleton_method": "function",
    "assignment": "constant",
    "call": "function",
}
_MADE = re.compile(r"(Struct|Data|Class|Module)\.(new|define)\b")
_DEFINING = frozenset(("define_method", "scope", "define_singleton_method"))
_FIELDS = frozenset(
    ("attr_accessor", "attr_reader", "attr_writer", "attribute", "property", "option")
)
_WRAPPING = frozenset(
    ("private", "public", "protected", "module_function", "private_class_method", "memoize")
)


def _define(source: Source, node: "Node") -> Iterable[Named]:
    if node.type == "assignment":
        return _assigned(source, node)
    if node.type != "call":
        found = by_name(source, node, _KINDS[node.type])
        return [named._replace(name=named.name.replace("::", ".")) for named in found]
    method = node.child_by_field_name("method")
    given = node.child_by_field_name("arguments")
    if method is None or given is None or not given.named_children:
        return ()
    called, first = source.fold(method), given.named_children[0]
    if called in _WRAPPING and first.type in ("method", "singleton_method"):  # private def hidden
        head = " ".join(source.text(first).partition("\n")[0].split())[:160]
        return [named._replace(signature=head) for named in by_name(source, first, "function")]
    if called in _DEFINING and first.type == "simple_symbol":
        return (
            Named(
                source.fold(first).lstrip(":"),
                "function",
                "",
                source.fold(node).split("{")[0].split(" do")[0],
            ),
        )
    return ()


def _assigned(source: Source, node: "Node") -> Iterable[Named]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or left.type != "constant":
        return ()
    made = right is not None and _MADE.match(source.fold(right))
    return (Named(source.text(left), "class" if made else "constant"),)


def _attributes(source: Source, node: "Node") -> list[tuple[str, str]]:
    """The names that `attr_accessor` and its like declare."""
    method, given = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    if method is None or given is None or node.child_by_field_name("receiver") is not None:
        return []
    called = source.fold(method)
    if called not in _FIELDS:
        return []
    return [
        (source.text(name).lstrip(":"), called)
        for name in given.named_children
        if name.type == "simple_symbol"
    ]


def _require(source: Source, node: "Node") -> list[Import]:
    found = re.match(
        r"(require|require_relative|load|autoload)\b.*?['\"]([^'\"]+)['\"]", source.fold(node)
    )
    if not found or node.child_by_field_name("receiver") is not None:
        return []
    relative = "./" if found[1] == "require_relative" and not found[2].startswith(".") else ""
    return [Import(relative + found[2], (), node.start_point[0] + 1)]


TABLES = {
    "Ruby": Table(
        kinds=_KINDS,
        define=_define,
        holders=frozenset(
            ("singleton_class", "body_statement", "begin", "if", "unless", "then", "else")
        ),
        bodies=frozenset(("body_statement",)),
        imports={"call": _require},
        calls={"call": Shape("method", receiver="receiver")},
        links={},
        strings=frozenset(("string",)),
        identifiers=frozenset(("identifier",)),
        families={"call": Family("field", _attributes)},
        raising=re.compile(r"(Kernel\.)?(raise|fail|abort)"),
        tests=Tests(
            names=re.compile(r"test_\w+[?!]?"),
            declared=re.compile(
                rb"\b(it|specify|example|scenario|test|should|describe|context|feature)\b"
            ),
            cases=re.compile(r"[xf]?(it|specify|example|scenario)|its|test|should|pending"),
            groups=re.compile(
                r"[xf]?(describe|context|feature|example_group)|shared_examples(_for)?|shared_context"
            ),
            untitled=re.compile(r"[xf]?(it|specify|example)|its"),
            skips=re.compile(r"^\s*(skip|pending|omit)\b.*"),
            hooks=re.compile(
                r"((config|c)\.)?(before|after|around|prepend_before|append_after)|setup|teardown|(before|after)_(all|each)"
            ),
            fixtures=re.compile(r"(let!?|let_it_be|subject!?|given!?)"),
            assertions=re.compile(
                r"(assert|refute|must|wont|flunk)\w*|(is_expected|expect(\(…\))?|allow\(…\))\.(to|not_to|to_not)"
                r"|.*\.(must|wont|should)(_\w+)?|expect_\w+",
                re.DOTALL,
            ),
        ),
    )
}
