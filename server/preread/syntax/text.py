"""Small readings of text that every language shares: comment markers, sentences, placeholders."""

import re

_OPENING = re.compile(
    r"^[ \t]*(?:/\*[*!]?|//[/!]?|#+!?|--|\(\*+|\*|<!--|\{#-?|=begin)?[ \t]?", re.MULTILINE
)
_ENDINGS = ("*/", "*)", "-->", "#}", "=end")
_DIRECTIVE = re.compile(
    r"\s*(eslint|@ts-|ts-ignore|prettier-|biome-|tslint|istanbul|c8 |v8 |noqa|type: ?ignore"
    r"|pylint:|nolint"
    r"|go:|\+build|-\*-|vim:|@jsx|@vitest-environment|@jest-environment|webpackChunkName|#?region"
    r"|#?endregion"
    r"|(?i:resharper |noinspection |nolint|nosonar|(?:swiftlint|rubocop|phpcs|checkstyle"
    r"|clang-format|cspell|ruff)\s?:"
    r"|(?:mypy|fmt|isort)\s?:|(?:js|ts|style|kt)lint-|psalm-|phpstan-|spell-?checker:|pragma:? ))"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)|\n[ \t\r]*\n|\n[ \t]*(?=[@:]\w|-{3}|={3})")
_PLACEHOLDER = re.compile(
    r"%[-+ #0-9.]*[sdrifxqvtTwgec]|%\(\w+\)[sdrf]|[#$]?\{[^{}]*\}|\\\([^()]*\)|\$[A-Za-z_]\w*"
)
_QUOTED = re.compile(r"[@$\w#<]*?(\"\"\"|'''|[\"'`])(.*)\1#*|<(.*)>", re.DOTALL)
_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>")


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


def unquoted(text: str) -> str:
    """What stands between the quotes of a string, as it stands in the source."""
    found = _QUOTED.fullmatch(text)
    return found[2] if found and found[2] is not None else found[3] if found else text.strip("\"'`")


def without_tags(text: str) -> str:
    """A documentation text without its markup."""
    return _MARKUP.sub("", text) if "</" in text else text


_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`")
_TYPE_ARGUMENTS = re.compile(r"(?:::|(?<=[\w:]))<[^<>()]*>")
_GROUP = re.compile(r"\([^()\[\]]*\)|\{[^{}]*\}")
_INDEX = re.compile(r"\[[^()\[\]]*\]")
_OPERATORS = re.compile(r"^(?:(?:try[?!]?|await|not)\s+|[!&*~-]+(?=\w))+")
_CALLEE = re.compile(r"(?:new )?[@$&~\\#:.?]*[\w$\\:.?!>@#…()\[\]\"-]*[!?]?")
_DEEP = 8  # brackets in brackets


def spelled(text: str, *, first: bool = True) -> str:
    """A callee, or the rest of one, without arguments and spaces."""
    text = _OPERATORS.sub("", text) if first else text
    text = _STRING.sub('"…"', text)
    for _ in range(_DEEP):
        shorter = _INDEX.sub("\2", _GROUP.sub("\1", _TYPE_ARGUMENTS.sub("", text)))
        if shorter == text:
            break
        text = shorter
    is_new = text.startswith("new ")
    text = "".join(text.split()).replace("\1", "(…)").replace("\2", "[…]")
    text = f"new {text[3:]}" if is_new else text
    return text if _CALLEE.fullmatch(text) else "…" + _after_operators(text)


def _after_operators(text: str) -> str:
    """The last links of a chain that begins with something else than a name."""
    found = re.search(r"(?:[.]|->|::)[\w$]+$", text)
    return found[0] if found else ""
