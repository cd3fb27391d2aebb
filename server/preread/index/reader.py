"""Read one file for the index. Cheap to import: the second reading process starts with it."""

import hashlib
import time
from collections.abc import Callable
from typing import NamedTuple

from preread import syntax
from preread.errors import Unreadable
from preread.index import imports, words
from preread.project.tree import is_young
from preread.roles import Role, left_out_by_text, may_contain_tests

# Files are read again when it changes. Changed outline rules change it by themselves; raise the
# number when the rules for words or details change.
ANALYSIS = f"4.{syntax.edition()}:"
UNREADABLE = "unreadable: "  # instead of a digest, with the reason
UNREAD = frozenset({"generated", "data"})  # roles of files whose text is not indexed


class Treatment(NamedTuple):
    """How the index treats one file. When the letters change, the file is read again."""

    role: Role
    # "-" excluded, "+" included, else the initials of the kinds that its text may still reveal
    letters: str


class Order(NamedTuple):
    """A file to read."""

    row: int  # its new row, used when its content is new
    path: str
    size: int
    mtime: int
    role: Role  # as far as its path decides it
    letters: str
    known: str  # the digest of the content indexed with the same letters; "" if none


class Read(NamedTuple):
    """A row of the index. If its content is already indexed, only the fields up to `treatment`
    are set.
    """

    row: int
    path: str
    size: int
    mtime: int
    trusted: bool
    digest: str
    treatment: str
    role: str = ""
    names: str = ""  # of definitions, each once, one per line
    defines: int = 0  # definitions and headings
    defs: str = ""
    modules: tuple[imports.Link, ...] = ()
    body: str | None = None  # None: the content is already indexed

    @property
    def stat(self) -> tuple[int, int, bool, str, str]:
        return self.size, self.mtime, self.trusted, self.digest, self.treatment


def digest_of(text: str) -> str:
    """The hash of a text, prefixed with the version of the analysis."""
    return ANALYSIS + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read(order: Order, text_of: Callable[[str], str | None]) -> Read:
    """Read one file. `text_of` returns its text or None for a binary file, or raises Unreadable."""
    trusted = not is_young(order.mtime, time.time_ns())
    try:
        text = "" if order.role in UNREAD else text_of(order.path) or ""
        digest = digest_of(text)
    except Unreadable as error:  # it is read again next time
        trusted, text, digest = False, "", f"{UNREADABLE}{error.why}"
    stat = (order.row, order.path, order.size, order.mtime, trusted, digest, order.letters)
    if digest == order.known:
        return Read(*stat)
    role = role_by_text(order.path, Treatment(order.role, order.letters), text)
    text = "" if role in UNREAD else text
    names, headings = syntax.names(order.path, text)
    defs = words.bag(" ".join((*names, *headings)))
    known, defines = "\n".join(dict.fromkeys(names)), len(names) + len(headings)
    return Read(
        *stat, role, known, defines, defs, imports.of(order.path, role, text), words.bag(text)
    )


def role_by_text(path: str, treatment: Treatment, text: str) -> Role:
    """The role of a file by its text too: a generator's mark or very long lines may change it, and
    a helper's folder may have tests.
    """
    if treatment.role not in {"source", "test", "support"}:
        return treatment.role
    kind = left_out_by_text(path, text) if treatment.letters != "+" else ""
    if kind and kind[0] in treatment.letters:
        return "generated"
    if treatment.role == "support" and may_contain_tests(path) and syntax.outline(path, text).tests:
        return "test"
    return treatment.role
