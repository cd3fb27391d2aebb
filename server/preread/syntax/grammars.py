"""Parse source with tree-sitter grammars, each imported on first use."""

import importlib
import re
import time
import zlib
from functools import cache
from typing import TYPE_CHECKING

from preread.languages import Language

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Node

# Error recovery on text in another language can take the parser quadratic time and memory. The
# largest real files take 0.2 s; slower ones are left to the line-based rules.
_PARSE_SECONDS = 1.0  # processor time of this thread
_CHUNK = 65536  # bytes, for the parser
_TEXT = 512  # bytes, for query predicates, which read the text of nodes
# A file that ends in a repetition of the same few tokens can take gigabytes in one uninterruptible
# step: 6 KB of "/*\n" take 1.3 GB as Python. Real files compress to a twelfth at best (of 7,774),
# such endings to a fiftieth.
_TAIL = 8192  # bytes
_REPETITIVE = 25
# `FMT_API std::string to_string(…)`: the grammars of C and C++ take the macro for the type, and the
# type for a part of the name. Not `HRESULT run()`, where nothing else could be the type.
_WITH_MACROS = frozenset(("C", "C++"))
_MACROS = rb"(?:[A-Z][A-Z0-9]*_[A-Z0-9_]*[ \t]+)+"
_MACRO = re.compile(
    rb"^[ \t]*(?:(?:static|inline|virtual|extern|constexpr|template[ \t]*<[^<>\n]*>)[ \t]+)*"
    rb"(" + _MACROS + rb")"
    rb"(?=[\w:<>,*& \t]{1,200}[\s*&][\w:~]{1,100}[=<>!+\-\[\]]{0,3}[ \t]*\()"
    rb"|^[ \t]*(?:class|struct)[ \t]+(" + _MACROS + rb")(?=\w+(?:[ \t]+final)?\s*[:{])",
    re.MULTILINE,
)


class Source:
    """A parsed file: its syntax tree and the bytes that the tree's offsets count in."""

    __slots__ = ("data", "path", "root")

    def __init__(self, path: str, data: bytes, root: "Node") -> None:
        self.path = path
        self.data = data
        self.root = root

    def text(self, node: "Node") -> str:
        """The node's text as written."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "ignore")

    def fold(self, node: "Node", limit: int = 160) -> str:
        """The node's text on one line, cut at `limit` characters."""
        return self.fold_between(node.start_byte, node.end_byte, limit)

    def fold_between(self, start: int, end: int, limit: int = 160) -> str:
        """The text between two byte offsets on one line, cut at `limit` characters."""
        # Bounded, because every call of a chain contains the rest of the chain.
        part = self.data[start : min(end, start + limit * 16)].decode("utf-8", "ignore")
        return " ".join(part.split())[:limit]


@cache
def grammar_of(language: Language) -> "Grammar | None":
    """The grammar of a language; None if there is none or its wheel is not installed."""
    if language.grammar is None:
        return None
    module, function = language.grammar
    try:
        import tree_sitter

        return tree_sitter.Language(getattr(importlib.import_module(module), function)())
    except (ImportError, AttributeError, ValueError):
        return None  # no wheel, or an incompatible ABI: use the line-based rules


def parse(path: str, text: str, language: Language) -> Source | None:
    """Parse a file; None if the language has no usable grammar or the text cannot be parsed."""
    grammar = grammar_of(language)
    if grammar is None:
        return None
    data = text.encode("utf-8", "replace")  # a lone surrogate becomes "?"
    tail = data[-_TAIL:]
    if len(zlib.compress(tail, 1)) * _REPETITIVE < len(tail):
        return None
    deadline = time.thread_time() + _PARSE_SECONDS

    chunk, parsed = _CHUNK, _without_macros(data) if language.name in _WITH_MACROS else data

    def read(offset: int, _: object) -> bytes:
        return parsed[offset : offset + chunk]

    def gives_up(_: int, __: bool) -> bool:
        return time.thread_time() > deadline

    import tree_sitter

    # A new one each time: builds run in several threads, and parsers are not thread-safe.
    parser = tree_sitter.Parser(grammar)
    try:
        root = parser.parse(read, progress_callback=gives_up).root_node
        chunk, parsed = _TEXT, data
        return Source(path, data, root)
    except ValueError:  # over the deadline
        return None


def _without_macros(data: bytes) -> bytes:
    """The text with spaces in place of macros before a type: every offset stays."""

    def blank(match: re.Match[bytes]) -> bytes:
        start, end = (offset - match.start() for offset in match.span(match.lastindex or 0))
        return match[0][:start] + b" " * (end - start) + match[0][end:]

    return _MACRO.sub(blank, data)


def first_line(node: "Node") -> int:
    """The 1-based line on which the node starts."""
    return int(node.start_point[0]) + 1


def last_line(node: "Node") -> int:
    """The 1-based line on which the node's text ends."""
    row, column = node.end_point
    # A node that includes its newline ends at column 0 of the next line.
    return int(row) if column == 0 and row > node.start_point[0] else int(row) + 1
