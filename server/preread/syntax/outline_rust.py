"""Definitions, tests and imports of a Rust file."""

import re
from typing import TYPE_CHECKING

from preread.syntax.grammars import Source, first_line, last_line
from preread.syntax.model import Import, Outline, Symbol, SymbolKind, TestCase
from preread.syntax.text import comment_text, first_sentence, nested

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS: dict[str, SymbolKind] = {
    "function_item": "function",
    "function_signature_item": "function",
    "macro_definition": "function",
    "struct_item": "class",
    "union_item": "class",
    "enum_item": "enum",
    "trait_item": "interface",
    "type_item": "type",
    "const_item": "constant",
    "static_item": "constant",
}
_TEST_ATTRIBUTE = re.compile(
    r"#\[\s*((\w+::)*test|rstest|test_case|wasm_bindgen_test|quickcheck|proptest)\b"
)
_USE = re.compile(
    r"^(?P<module>[\w:]*?)(?:::)?(?:\{(?P<group>.*)\}|(?P<name>\w+|\*)(?:\s+as\s+\w+)?)$", re.DOTALL
)


def outline_rust(source: Source) -> Outline:
    """The outline of a parsed Rust file."""
    walk = _Walk(source)
    walk.run()
    return Outline(
        tuple(sorted(walk.symbols, key=lambda symbol: (symbol.start, -symbol.end))),
        tuple(sorted(walk.tests, key=lambda test: (test.start, -test.end))),
        tuple(sorted(walk.imports, key=lambda found: found.line)),
    )


class _Walk:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.symbols: list[Symbol] = []
        self.tests: list[TestCase] = []
        self.imports: list[Import] = []
        self.stack: list[
            tuple[Node, str, bool]
        ] = []  # block, container, whether its functions are methods

    def run(self) -> None:
        self.stack.append((self.source.root, "", False))
        while self.stack:
            block, container, methods = self.stack.pop()
            comments: list[Node] = []
            attributes: list[str] = []
            for node in block.named_children:
                if node.type in ("line_comment", "block_comment"):
                    comments.append(node)
                elif node.type == "attribute_item":
                    attributes.append(self.source.fold(node))
                else:
                    self._item(node, container, methods, comments, tuple(attributes))
                    comments, attributes = [], []

    def _item(
        self,
        node: "Node",
        container: str,
        methods: bool,
        comments: list["Node"],
        attributes: tuple[str, ...],
    ) -> None:
        kind = node.type
        body = node.child_by_field_name("body")
        name_node = node.child_by_field_name("name")
        name = self.source.text(name_node) if name_node is not None else ""
        if kind == "use_declaration":
            self._use(node)
        elif kind == "mod_item" and body is not None:
            self.stack.append((body, nested(container, name), False))
        elif kind == "impl_item" and body is not None:
            target = node.child_by_field_name("type")
            owner = self.source.fold(target).partition("<")[0] if target is not None else ""
            self.stack.append((body, nested(container, owner), True))
        elif kind == "function_item" and any(
            _TEST_ATTRIBUTE.match(attribute) for attribute in attributes
        ):
            marks = tuple(a for a in attributes if not _TEST_ATTRIBUTE.match(a) or "(" in a)
            self.tests.append(
                TestCase(name, first_line(node), last_line(node), container, (), marks)
            )
        elif kind in _KINDS:
            symbol_kind = "method" if methods and _KINDS[kind] == "function" else _KINDS[kind]
            end = body.start_byte if body is not None else node.end_byte
            signature = self.source.fold_between(node.start_byte, end).rstrip("; ")
            doc = first_sentence(
                "\n".join(comment_text(self.source.text(comment)) for comment in comments)
            )
            self.symbols.append(
                Symbol(
                    name,
                    symbol_kind,
                    first_line(node),
                    last_line(node),
                    container,
                    signature,
                    doc,
                    attributes,
                )
            )
            if body is not None and kind in ("trait_item", "function_item"):
                self.stack.append((body, nested(container, name), kind == "trait_item"))

    def _use(self, node: "Node") -> None:
        argument = node.child_by_field_name("argument")
        found = _USE.match(self.source.fold(argument, 2000)) if argument is not None else None
        if found:
            taken = re.sub(r"\s+as\s+\w+", "", found["group"] or found["name"] or "")
            names = re.findall(r"[\w:*]+", taken)
            self.imports.append(Import(found["module"], tuple(names), first_line(node)))
