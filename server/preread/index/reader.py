"""What the index takes from one file; light to import, for a process that only reads starts with
it.
"""

import hashlib
import time
from collections.abc import Callable
from typing import NamedTuple

from preread import syntax
from preread.index import imports, words
from preread.languages import Role, left_out_by_text
from preread.project.tree import is_young

# Files are read again when it is another one. Rules of outlines change it by themselves; raise it
# for those of words.
ANALYSIS = f"1.{syntax.edition()}:"
UNREAD = frozenset({"generated", "data"})  # roles of files that are listed by path alone


class Way(NamedTuple):
    """How the index takes one file. Where the letters are others than last time, the file is read
    again.
    """

    role: Role
    # "-" left out, "+" asked for, else the beginnings of the kinds that its text may still make it
    letters: str


class Order(NamedTuple):
    """A file to be read."""

    row: int  # the number that it gets when its content is new
    path: str
    size: int
    mtime: int
    role: Role  # as far as its path says
    letters: str
    known: str  # the digest of the content that is indexed in the same way; "" for none


class Read(NamedTuple):
    """What was read: a row of the index, or no more than when, where its content is the one
    already indexed.
    """

    row: int
    path: str
    size: int
    mtime: int
    trusted: bool
    digest: str
    way: str
    role: str = ""
    names: str = ""  # of definitions, each once, a name a line
    defines: int = 0  # definitions and headings
    defs: str = ""
    modules: tuple[imports.Link, ...] = ()
    body: str | None = None  # None: the content is the one already indexed

    @property
    def stat(self) -> tuple[int, int, bool, str, str]:
        return self.size, self.mtime, self.trusted, self.digest, self.way


def digest_of(text: str) -> str:
    """What the index knows a text by, and the way in which it was read."""
    return ANALYSIS + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read(order: Order, text_of: Callable[[str], str | None]) -> Read:
    """One file, its text given by `text_of`: None for what is no text."""
    trusted = not is_young(order.mtime, time.time_ns())
    text = "" if order.role in UNREAD else text_of(order.path) or ""
    digest = digest_of(text)
    stat = (order.row, order.path, order.size, order.mtime, trusted, digest, order.letters)
    if digest == order.known:
        return Read(*stat)
    role = role_by_text(order.path, Way(order.role, order.letters), text)
    text = "" if role in UNREAD else text
    names, headings = syntax.names(order.path, text)
    defs = words.bag(" ".join((*names, *headings)))
    known, defines = "\n".join(dict.fromkeys(names)), len(names) + len(headings)
    return Read(
        *stat, role, known, defines, defs, imports.of(order.path, role, text), words.bag(text)
    )


def role_by_text(path: str, way: Way, text: str) -> Role:
    """The role of a file once it is read: what a generator wrote into it, or how long its lines
    are, may count.
    """
    if way.role not in {"source", "test", "support"} or way.letters == "+":
        return way.role
    kind = left_out_by_text(path, text)
    return "generated" if kind and kind[0] in way.letters else way.role
