"""TOML: add, change or remove one table in another one, and keep every other byte."""

import re
import tomllib
from itertools import pairwise
from typing import Any

HEADER = re.compile(r"[ \t]*\[\[?[ \t]*([^\[\]#]+?)[ \t]*\]\]?[ \t]*(?:#.*)?")
NO_ENTRY = re.compile(r"\s*(?:#.*\s*)?")  # a blank line, or a comment


def table(text: str, parent: str, name: str) -> dict[str, Any] | None:
    """The table `[parent.name]`; None if there is none. Raises ValueError."""
    tables = tomllib.loads(text).get(parent, {})
    if not isinstance(tables, dict):
        raise ValueError(f"`{parent}` is not a table")  # noqa: TRY004 - the file is wrong
    found = tables.get(name)
    return found if isinstance(found, dict) else None


def with_table(text: str, parent: str, name: str, entries: dict[str, Any]) -> str:
    """Set these entries of `[parent.name]`; others that it has stay. Raises ValueError."""
    import tomlkit

    known = table(text, parent, name)
    if known is None:
        done = _appended(text, tomlkit.dumps({parent: {name: entries}}))
        before = tomllib.loads(text)
        after = before | {parent: before.get(parent, {}) | {name: entries}}
        if _says(done, after):
            return done
    document: Any = tomlkit.parse(text)
    tables = document.setdefault(parent, tomlkit.table(is_super_table=True))
    if known is None:
        tables[name] = {}
    for key, value in entries.items():
        if (known or {}).get(key) != value:
            tables[name][key] = value
    return str(tomlkit.dumps(document))


def without_table(text: str, parent: str, name: str) -> str:
    """The text without `[parent.name]`, and without an empty line before it. Raises ValueError."""
    if table(text, parent, name) is None:
        return text
    rest = tomllib.loads(text)
    del rest[parent][name]
    alone = {key: value for key, value in rest.items() if key != parent or value}
    done = _cut(text, parent, name)
    if _says(done, rest) or _says(done, alone):
        return done
    import tomlkit

    document: Any = tomlkit.parse(text)
    del document[parent][name]
    return str(tomlkit.dumps(document))


def _appended(text: str, own: str) -> str:
    """A table at the end of a text, after an empty line; the last line ends as it did before."""
    end = "\r\n" if "\r\n" in text else "\n"
    own = own.replace("\n", end)
    if text and not text.endswith("\n"):
        return f"{text}{end}{end}{own.removesuffix(end)}"
    return f"{text}{end if text else ''}{own}"


def _cut(text: str, parent: str, name: str) -> str:
    """The text without the lines from the table's header to its last entry, tables in it included.

    Comments below the last entry are about what follows.
    """
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    found = [HEADER.fullmatch(line.rstrip("\r\n")) for line in lines]
    headers = [number for number, match in enumerate(found) if match]
    gone: set[int] = set()
    for start, following in pairwise([*headers, len(lines)]):
        if not _is_of(found[start], parent, name):
            continue
        end = following
        while end > start + 1 and NO_ENTRY.fullmatch(lines[end - 1]):
            end -= 1
        gone.update(range(start, end))
        if start and not lines[start - 1].strip():
            gone.add(start - 1)
    left = [line for number, line in enumerate(lines) if number not in gone]
    if left and len(lines) - 1 in gone and not lines[-1].endswith("\n"):
        left[-1] = left[-1].rstrip("\r\n")
    return "".join(left)


def _is_of(header: re.Match[str] | None, parent: str, name: str) -> bool:
    keys = [key.strip().strip("\"'") for key in header[1].split(".")] if header else []
    return keys[:2] == [parent, name]


def _says(text: str, expected: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == expected
    except tomllib.TOMLDecodeError:
        return False
