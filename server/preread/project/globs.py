"""Globs of the gates and of git as regular expressions whose matching takes bounded time.

A pattern comes from whoever wrote the repository. A plain translation backtracks: with forty `*`,
matching one file name takes longer than anybody waits, and nothing interrupts a regular expression.
Here each wildcard matches as little as it can, and its match is not reconsidered (an atomic group),
except by the last `**` before it. That misses nothing, because a shorter match leaves more to the
rest of the pattern.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from preread.gates.path_patterns import LITERAL, parts

MAX_GLOB = 4096  # characters, like the longest path that an operating system takes
ONE, SOME, ANY, FOLDERS = "?", "*", "**", "**/"  # wildcards; other tokens match a fixed length
_ONE = "[^/]"
_BEFORE = {"": "", ANY: ".*?", FOLDERS: "(?:[^/]*/)*?"}
_NOTHING = re.compile("(?!)")
_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \\t", "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": "!-/:-@\\[-`{-~", "space": "\\t-\\r ", "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


@lru_cache(maxsize=512)
def glob_pattern(glob: str) -> re.Pattern[str]:
    """Compile a glob as the gates define it; match it with `fullmatch`.

    `**/` matches any folders, `*` and `?` match within one name, everything else is literal.
    """
    if len(glob) > MAX_GLOB:
        return _NOTHING
    return _compiled([_token(part) for part in parts(glob)])


def _token(part: str) -> str:
    if part == ONE:
        return _ONE
    return part if part in {SOME, ANY, FOLDERS} else re.escape(part.removeprefix(LITERAL))


def _compiled(tokens: list[str]) -> re.Pattern[str]:
    """Compile wildcards and texts: split at `**`, and each part at `*`."""
    wildcard, chunks, done = "", [""], ""
    for token in tokens:
        if token in {ANY, FOLDERS}:
            done += _group(wildcard, [*chunks])
            wildcard, chunks = token, [""]
        elif token == SOME:
            chunks.append("")
        else:
            chunks[-1] += token
    return re.compile(done + _last_group(wildcard, chunks), re.DOTALL)


def _group(wildcard: str, chunks: list[str]) -> str:
    first, *others = chunks
    return f"(?>{_BEFORE[wildcard]}{first}{''.join(f'(?>[^/]*?{chunk})' for chunk in others)})"


def _last_group(wildcard: str, chunks: list[str]) -> str:
    """The part after the last `**`. Its end is fixed, so trying the longest first is faster."""
    chunks[-1] += r"\Z"
    first, *others = chunks
    inner = "".join(f"(?>[^/]*?{chunk})" for chunk in others[:-1])
    last = f"[^/]*{others[-1]}" if others else ""
    return f"(?>{_BEFORE[wildcard].removesuffix('?')}{first}{inner}{last})"


class GitRule(NamedTuple):
    """One line of a .gitignore file, or the pattern of one of a .gitattributes file."""

    includes: bool  # false for one with `!`
    only_folders: bool
    by_name: bool  # whether it matches the last name of a path, in any folder
    pattern: re.Pattern[str]

    def matches(self, path: str) -> bool:
        """Whether it matches this very path, relative to its file; a folder's ends with a slash."""
        bare = path.removesuffix("/")
        if self.only_folders and bare == path:
            return False
        return bool(self.pattern.fullmatch(bare.rpartition("/")[2] if self.by_name else bare))


def git_rule(line: str) -> GitRule | None:
    """The rule on a line; None if it has none, or one that matches nothing."""
    text = _without_end(line.removesuffix("\r"))
    bare = text.removeprefix("!")
    if not bare or len(bare) > MAX_GLOB or line.startswith("#"):
        return None
    glob = bare.removesuffix("/")
    try:
        pattern = _compiled(list(_git_tokens(glob.removeprefix("/"))))
    except ValueError:
        return None
    return GitRule(bare == text, glob != bare, "/" not in glob, pattern)


def _without_end(line: str) -> str:
    """A line without the blanks at its end, unless they are escaped."""
    end = at = 0
    while at < len(line):
        step = 2 if line[at] == "\\" else 1
        at += step
        if step == 2 or line[at - 1] != " ":
            end = at
    return line[:end]


def _git_tokens(glob: str) -> Iterator[str]:
    """The tokens of a glob, as git's wildmatch.c reads it; ValueError if it matches nothing."""
    at = 0
    while at < len(glob):
        start, char = at, glob[at]
        at += 1
        if char == "*":
            at = start + len(glob[start:]) - len(glob[start:].lstrip("*"))
            token, at = _stars(glob, start, at)
            yield token
        elif char == "?":
            yield _ONE
        elif char == "[":
            members, at = _bracket(glob, at)
            yield members
        elif char == "\\":
            if at == len(glob):
                raise ValueError("nothing is escaped")
            yield re.escape(glob[at])
            at += 1
        else:
            yield re.escape(char)


def _stars(glob: str, start: int, end: int) -> tuple[str, int]:
    """The wildcard of a run of stars, and where the glob continues.

    Git compares the text before the first wildcard separately, so a glob starts anew after it.
    """
    begins = glob[:start].endswith("/") or not re.search(r"[*?\[\\]", glob[:start])
    is_whole = end - start > 1 and begins
    if is_whole and glob.startswith("/", end):
        return FOLDERS, end + 1
    if is_whole and (end == len(glob) or glob.startswith("\\/", end)):
        return ANY, end
    return SOME, end


def _bracket(glob: str, at: int) -> tuple[str, int]:
    """A class of characters that begins before `at`, and where it ends."""
    is_negated = glob[at : at + 1] in {"!", "^"}
    at += is_negated
    found, first = [], at
    while at == first or glob[at : at + 1] != "]":
        member, at = _member(glob, at)
        found.append(member)
    inside = "".join(found)
    if is_negated:
        return f"[^/{inside}]", at + 1
    return f"(?!/)[{inside}]" if inside else _NOTHING.pattern, at + 1


def _member(glob: str, at: int) -> tuple[str, int]:
    """One character, range or named class in brackets, and where it ends."""
    named = re.compile(r"\[:([^\]]*):\]").match(glob, at)
    if named:
        if named[1] not in _CLASSES:
            raise ValueError(f"there is no class {named[1]}")
        return _CLASSES[named[1]], named.end()
    low, at = _character(glob, at)
    if glob[at : at + 1] != "-" or glob[at + 1 : at + 2] in {"", "]"}:
        return re.escape(low), at
    high, at = _character(glob, at + 1)
    return (f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""), at


def _character(glob: str, at: int) -> tuple[str, int]:
    at += glob[at : at + 1] == "\\"
    if at >= len(glob):
        raise ValueError("brackets are not closed")
    return glob[at], at + 1
