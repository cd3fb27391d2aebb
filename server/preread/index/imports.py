"""Imports in the derived database: each file's module name and the modules it imports.

They are read line by line without a grammar: a missed or misresolved import only costs a place in
a ranking.
"""

import posixpath
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from preread.infra import sqlite

HEAD = 5_000  # characters read of a file: imports are at its top
LINKED = frozenset({"source", "test", "support"})  # roles
MAX_LINKS = 100  # of a file
MAX_ALIKE = 2  # files that one name may resolve to: with more, it is ambiguous
BEGINNINGS = ("import ", "import{", "import(", "from ", "use ", "using ", "pub use ", "mod ",
              "pub mod ", "include ", "#include", "require", "export ", "} from", "@use", "@import",
              "@forward", '"', "_ ")  # fmt: skip
QUOTED = re.compile(r"""["'<]([\w@./~-]+)["'>]""")
DOTTED = re.compile(
    r"(?:pub )?(import|from|use|using|mod)\s+(?:static\s+|type\s+)?([\w.:\\]+)"
    r"(?:\s+import\s+\(?([\w ,]+)|\{([\w ,:]+)\})?"
)
ENDING = re.compile(r"(\.d)?\.[A-Za-z]+$")
# Suffixes that an import may write out; `.component` in `./user.component` is none.
CODE = re.compile(r"\.(?:[cm]?[jt]sx?|vue|svelte|s[ac]ss|css|less|h|hh|hpp|py|rb|php)$")
CALLED_AS_FOLDER = re.compile(r"/(index|__init__|mod)$")
OUTER = frozenset({"crate", "self", "super", ""})


class Link(NamedTuple):
    """A module's name, from the project's root when it begins with a slash."""

    tail: str  # its last part, the lookup key
    whole: str


def of(path: str, role: str, text: str) -> tuple[Link, ...]:
    """A file's own module name, then the modules it imports; empty for prose and data."""
    if role not in LINKED:
        return ()
    found = dict.fromkeys(_named(path, text))
    return (_link("/" + own(path)), *map(_link, list(found)[:MAX_LINKS]))


@lru_cache(maxsize=200_000)
def own(path: str) -> str:
    """`src/cart/index.ts` → src/cart."""
    return CALLED_AS_FOLDER.sub("", ENDING.sub("", path))


def _link(whole: str) -> Link:
    return Link(whole.rpartition("/")[2], whole)


def _named(path: str, text: str) -> Iterator[str]:
    folder = posixpath.dirname(path)
    for line in text[:HEAD].split("\n"):
        bare = line.strip()
        if not bare.startswith(BEGINNINGS) and "require(" not in bare:
            continue
        if quoted := QUOTED.search(bare):
            yield _of_path(folder, quoted[1], near=bare.startswith("require_relative"))
        elif dotted := DOTTED.match(bare):
            yield from _of_name(folder, *dotted.groups())


def _of_path(folder: str, name: str, near: bool) -> str:
    bare = CODE.sub("", name)
    if near or bare.startswith("."):
        return CALLED_AS_FOLDER.sub("", "/" + posixpath.normpath(posixpath.join(folder, bare)))
    return CALLED_AS_FOLDER.sub("", bare.lstrip("@~/"))


def _of_name(
    folder: str, keyword: str, name: str, taken: str | None, listed: str | None
) -> Iterator[str]:
    """A module with dots, colons or backslashes, and the names imported from it, which may be
    modules too.
    """
    root, parts = _rooted(folder, keyword, name)
    whole = root + "/".join(parts)
    if parts:
        yield whole
    if keyword == "use" and len(parts) > 1:  # the last part may be a name inside the module
        yield whole.rpartition("/")[0]
    inside = f"{whole}/" if parts else root
    for each in (taken or listed or "").split(","):
        if each.strip():
            yield inside + each.split()[0]


def _rooted(folder: str, keyword: str, name: str) -> tuple[str, list[str]]:
    """What a module's name is relative to, "" for any folder, and its parts."""
    bare = name.lstrip(".")
    parts = [part for part in re.split(r"[.\\:]+", bare) if part not in OUTER]
    dots = len(name) - len(bare)
    if keyword != "from" or not dots:
        return "", parts
    for _ in range(dots - 1):  # in Python, each further dot is one folder up
        folder = posixpath.dirname(folder)
    return (f"/{folder}/" if folder else "/"), parts


def insert(connection: sqlite3.Connection, files: Iterable[tuple[int, Sequence[Link]]]) -> None:
    """Store the links of files by their rows in the index; they are deleted with them."""
    rows = [
        (row, link.tail, link.whole, int(n == 0))
        for row, links in files
        for n, link in enumerate(links)
    ]
    sqlite.insert(connection, "links (file, tail, whole, own)", rows)


def imported_by(connection: sqlite3.Connection, row: int) -> set[int]:
    """The rows of the files that a file imports."""
    sql = "SELECT tail, whole FROM links WHERE file = ? AND own = 0"
    found: set[int] = set()
    for tail, whole in connection.execute(sql, (row,)).fetchall():
        found |= resolve(connection, tail, whole)
    return found - {row}


def importers_of(connection: sqlite3.Connection, row: int) -> set[int]:
    """The rows of the files that import a file."""
    found: set[int] = set()
    for tail, own in connection.execute(
        "SELECT tail, whole FROM links WHERE file = ? AND own = 1", (row,)
    ).fetchall():
        known: dict[str, bool] = {}
        for file, whole in connection.execute(
            "SELECT file, whole FROM links WHERE tail = ? AND own = 0", (tail,)
        ):
            if whole not in known:
                known[whole] = _may_resolve_to(whole, own) and row in resolve(
                    connection, tail, whole
                )
            if known[whole]:
                found.add(file)
    return found - {row}


def resolve(connection: sqlite3.Connection, tail: str, whole: str) -> set[int]:
    """The files that a module's name can resolve to; a bare last part must be unambiguous."""
    rows = connection.execute("SELECT file, whole FROM links WHERE tail = ? AND own = 1", (tail,))
    found = {file for file, name in rows if _may_resolve_to(whole, name)}
    return found if len(found) <= (MAX_ALIKE if "/" in whole else 1) else set()


def _may_resolve_to(whole: str, name: str) -> bool:
    return name == whole if whole.startswith("/") else name.endswith("/" + whole)
