"""The name, lines and signature of a definition."""

import re
from typing import TYPE_CHECKING

from preread.syntax.captures import Captured
from preread.syntax.grammars import Source, first_line, last_line
from preread.syntax.open_node import TYPES
from preread.syntax.text import unquoted

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS_BEFORE = re.compile(r"[\w ]*")
_ARGUMENTS = re.compile(r"<[^<>]*>")  # of a template specialization
_MAX_NESTING = 4  # levels of template arguments
_TAIL = re.compile(r"(?:\s*:\s*#.*|\s*=>|\s*;?\s+end|[\s;{=(:,]+)$")


def name_of(source: Source, entry: Captured, name: "Node | None") -> str:
    if name is None:
        return entry.given_name
    text = source.text(name) if "string" in name.type else source.fold(name)
    return unquoted(text) if "string" in name.type or text[:1] == "`" else text.lstrip(":")


def line_at(source: Source, node: "Node", offset: int) -> int:
    """The 1-based line of the first text of a node at or after an offset."""
    data = source.data
    while offset < node.end_byte and data[offset : offset + 1].isspace():
        offset += 1
    return first_line(node) + data.count(b"\n", node.start_byte, offset)


def end_of(entry: Captured) -> int:
    body = entry.part("body")
    behind = body is not None and body.end_byte > entry.end
    return last_line(body if behind and body is not None else entry.node)


def signature_of(source: Source, entry: Captured, begin: int, kind: str) -> str:
    """The text before the body, including the words before it on its line."""
    data = source.data
    body = entry.part("body")
    line = data.rfind(b"\n", 0, begin) + 1
    if _WORDS_BEFORE.fullmatch(data[line:begin].decode("utf-8", "ignore").strip()):
        begin = line
    end = body.start_byte if body is not None and body.start_byte > begin else entry.end
    if kind == "constant":
        line_end = data.find(b"\n", begin, end)
        end = line_end if line_end >= 0 else end
        return source.fold_between(begin, end).rstrip("; ")
    text = source.fold_between(begin, end, 10_000)
    if kind in TYPES:
        text = text.partition("{")[0]
    return _TAIL.sub("", text)[:160]


def split_name(words: str) -> tuple[str, str]:
    """The qualifier of a name and the bare name: `Cart<T>::add` → Cart, add."""
    if words.startswith("operator"):
        return "", words
    outer, operator, last = words.partition("::operator")
    for _ in range(_MAX_NESTING):
        outer = _ARGUMENTS.sub("", outer)
    if not operator:
        outer, _, last = outer.rpartition("::")
    return outer.replace("::", "."), f"operator{last}" if operator else last.partition("<")[0]
