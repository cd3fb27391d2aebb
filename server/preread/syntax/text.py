"""Small readings of text that every language shares: comment markers, sentences, placeholders."""

import re

_OPENING = re.compile(
    r"^[ \t]*(?:/\*[*!]?|//[/!]?|#+!?|--|\*|<!--|\{#-?|=begin)?[ \t]?", re.MULTILINE
)
_ENDINGS = ("*/", "-->", "#}", "=end")
_DIRECTIVE = re.compile(
    r"\s*(eslint|@ts-|ts-ignore|prettier-|biome-|tslint|istanbul|c8 |v8 |noqa|type: ?ignore|pylint:|nolint"
    r"|go:|\+build|-\*-|vim:|@jsx|@vitest-environment|@jest-environment|webpackChunkName|#?region|#?endregion"
    r"|(?i:resharper |noinspection |nolint|nosonar|(?:swiftlint|rubocop|phpcs|checkstyle|clang-format|cspell|ruff)\s?:"
    r"|(?:mypy|fmt|isort)\s?:|(?:js|ts|style|kt)lint-|psalm-|phpstan-|spell-?checker:|pragma:? ))"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)|\n[ \t\r]*\n|\n[ \t]*(?=[@:]\w|-{3}|={3})")
_PLACEHOLDER = re.compile(r"%[-+ #0-9.]*[sdrifxqvtTwgec]|%\(\w+\)[sdrf]|\$?\{[^{}]*\}")


def comment_text(raw: str) -> str:
    """A comment's text without its markers, lines kept."""
    raw = raw.rstrip()
    for ending in _ENDINGS:
        if raw.endswith(ending):
            raw = raw[: -len(ending)].rstrip("*- \t")
    return _OPENING.sub("", raw).replace("\r", "").strip()


def first_sentence(text: str, limit: int = 160) -> str:
    """The first sentence of a documentation text on one line; "" for an instruction to a tool."""
    text = text[: limit * 16].strip()
    if not text or text[0] == "@" or _DIRECTIVE.match(text):
        return ""
    return " ".join(_SENTENCE_END.split(text, maxsplit=1)[0].split())[:limit]


def longest_run(literals: list[str]) -> str:
    """The longest one-line run without placeholders in these raw string contents."""
    runs = [run.strip() for literal in literals for run in _PLACEHOLDER.split(literal)]
    return max((run for run in runs if "\n" not in run), key=len, default="")


def nested(outer: str, name: str, separator: str = ".") -> str:
    """The container of what stands inside `name`; it stops growing in absurdly deep nesting."""
    if not outer:
        return name
    return f"{outer}{separator}{name}" if len(outer) < 300 else outer
