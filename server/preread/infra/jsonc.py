"""JSON with comments: add, change or remove one entry, and keep every other byte."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

INDENT = "  "


def with_entry(text: str, keys: tuple[str, ...], value: object) -> str:
    """Set the value at a path of keys, adding missing objects. Raises ValueError."""
    node = _root(text)
    for depth, key in enumerate(keys):
        pair = _pair(node, key)
        if pair is None:
            for missing in reversed(keys[depth + 1 :]):
                value = {missing: value}
            return _added(text, node, key, value, depth + 1)
        found = pair.child_by_field_name("value")
        if depth == len(keys) - 1 and found is not None:
            return _replaced(
                text, found.start_byte, found.end_byte, _written(value, depth + 1, text)
            )
        node = _object(found)
    raise ValueError("no keys")


def without_entry(text: str, keys: tuple[str, ...]) -> str:
    """Remove the entry at a path of keys, and objects that have nothing else, not even a comment.

    Raises ValueError.
    """
    node, parents = _root(text), []
    for key in keys:
        pair = _pair(node, key)
        if pair is None:
            return text
        parents.append((node, pair))
        if len(parents) < len(keys):
            node = _object(pair.child_by_field_name("value"))
    node, pair = parents.pop()
    while parents and len(node.named_children) == 1:
        node, pair = parents.pop()
    return _removed(text, node, pair)


def entry(text: str, keys: tuple[str, ...]) -> object:
    """The value at a path of keys; its text, if it has comments; None if there is none.

    Raises ValueError.
    """
    node = _root(text)
    for depth, key in enumerate(keys):
        pair = _pair(node, key)
        found = pair.child_by_field_name("value") if pair else None
        if found is None:
            return None
        if depth == len(keys) - 1:
            text = (found.text or b"").decode()
            try:
                return json.loads(text)
            except ValueError:  # comments, or a comma after the last one
                return text
        node = _object(found)
    return None


def is_empty(text: str) -> bool:
    """Whether nothing is left but an empty object. Raises ValueError."""
    return not _pairs(_root(text)) and "//" not in text and "/*" not in text


def _root(text: str) -> "Node":
    """The outermost object, parsed as JavaScript: comments and trailing commas are allowed."""
    import tree_sitter
    import tree_sitter_javascript

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))
    tree = parser.parse(f"({text or '{}'}\n)".encode())
    statement = tree.root_node.named_children
    inner = statement[0].named_children if len(statement) == 1 else []
    objects = [one for one in inner[0].named_children if one.type != "comment"] if inner else []
    if tree.root_node.has_error or len(objects) != 1:
        raise ValueError("it is not JSON")
    return _object(objects[0])


def _object(node: "Node | None") -> "Node":
    if node is None or node.type != "object":
        raise ValueError("an object was expected")
    return node


def _pairs(node: "Node") -> "list[Node]":
    return [one for one in node.named_children if one.type == "pair"]


def _pair(node: "Node", key: str) -> "Node | None":
    for one in _pairs(node):
        name = one.child_by_field_name("key")
        if name is not None and name.text is not None and _name(name.text) == key:
            return one
    return None


def _name(text: bytes) -> str:
    try:
        return str(json.loads(text))
    except ValueError:  # a name without quotes
        return text.decode("utf-8", "replace")


def _written(value: object, depth: int, text: str) -> str:
    step = _indent(text)
    lines = json.dumps(value, indent=step, ensure_ascii=False).split("\n")
    return f"\n{step * depth}".join(lines)


def _indent(text: str) -> str:
    """One step of the file's indentation."""
    for line in text.split("\n"):
        bare = line.lstrip(" \t")
        if bare.startswith('"') and len(bare) < len(line):
            return line[: len(line) - len(bare)]
    return INDENT


def _added(text: str, node: "Node", key: str, value: object, depth: int) -> str:
    """The text with a new first entry in an object."""
    text = text or "{}"
    step, at = _indent(text), node.start_byte + 1
    one = f"\n{step * depth}{json.dumps(key)}: {_written(value, depth, text)}"
    if _pairs(node):
        return _replaced(text, at, at, f"{one},")
    rest = text.encode()[at - 1 : node.end_byte - 2]  # a comment in an empty object stays
    is_blank = not rest.strip()
    end = node.end_byte - 1 if is_blank else at
    return _replaced(text, at, end, f"{one}\n{step * (depth - 1)}" if is_blank else one)


def _removed(text: str, node: "Node", pair: "Node") -> str:
    """The text without an entry, its comma, and the line break before it."""
    data = text.encode()
    start, end = pair.start_byte - 1, pair.end_byte - 1  # one bracket was added in front
    follows = data[end:].lstrip()
    if follows.startswith(b","):
        end = data.index(b",", end) + 1
    else:
        before = data[:start].rstrip()
        start = len(before) - 1 if before.endswith(b",") else start
    while start > 0 and data[start - 1 : start].isspace():
        start -= 1
    if len(node.named_children) == 1:
        while end < len(data) and data[end : end + 1].isspace():
            end += 1
    return (data[:start] + data[end:]).decode()


def _replaced(text: str, start: int, end: int, new: str) -> str:
    """The text with a span of the parsed bytes replaced; one bracket was added in front."""
    data = text.encode()
    return (data[: start - 1] + new.encode() + data[end - 1 :]).decode()
