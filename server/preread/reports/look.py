"""A look at the reports that are there: what changed is read and folded into the history, the rest costs its `stat`."""

import hashlib
import os
import re
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from preread.errors import PrereadError
from preread.reports import read, store
from preread.reports.fold import Told, fold
from preread.reports.outcomes import LATEST, Outcome, Report, clean
from preread.reports.store import Row
from preread.tree import Tree, is_young

MAX_BYTES = 32_000_000  # of one report; a larger one is noted, and not read
DAY = 86_400.0
MOST_PLACES = 20_000


class Looked(NamedTuple):
    """What the reports say now, and what is wrong with them."""

    says: str = ""  # digest of the failures in them; empty: none
    problems: tuple[str, ...] = ()
    current: frozenset[tuple[str, float]] = frozenset()  # path of each, and when its run began


def look(tree: Tree, paths: Iterable[str]) -> Looked:
    """What these reports say. A history that cannot be kept is a problem, too, and no error."""
    stats = dict(_stats(tree, paths))
    if not stats:
        return Looked()
    try:
        rows = store.use(tree.layout, lambda connection: list(_rows(tree, stats, connection)))
        why = []
    except PrereadError as error:
        if error.code != "E_WRITE":
            raise
        rows, why = list(_rows(tree, stats, None)), [f"the history of tests cannot be kept: {error}"]
    says = "".join(sorted({row.says for row in rows if row.says}))
    problems = [f"{row.path} cannot be read whole: {row.problem}" for row in rows if row.problem]
    digest = hashlib.sha256(says.encode()).hexdigest()[:16] if says else ""
    return Looked(digest, (*problems, *why), frozenset((row.path, row.at) for row in rows))


def _stats(tree: Tree, paths: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    for path in paths:
        with suppress(OSError, ValueError):
            info = os.lstat(f"{tree.root}/{path}")
            if stat.S_ISREG(info.st_mode):
                yield path, info


def _rows(tree: Tree, stats: dict[str, os.stat_result], connection: sqlite3.Connection | None) -> Iterator[Row]:
    """Each report as it is now; without a connection nothing is remembered."""
    before = store.rows(connection) if connection else {}
    places = _Places(tree)
    for path, info in stats.items():
        tree.check()
        row = before.get(path)
        if row is None or (row.size, row.mtime, row.changed) != (info.st_size, info.st_mtime_ns, info.st_ctime_ns):
            row = _looked(places, path, info, row, connection)
        yield row


def _looked(
    places: "_Places", path: str, info: os.stat_result, before: Row | None, connection: sqlite3.Connection | None
) -> Row:
    """A report that looks changed."""
    now = time.time()
    mtime = 0 if is_young(max(info.st_mtime_ns, info.st_ctime_ns), int(now * 1e9)) else info.st_mtime_ns
    row = Row(path, info.st_size, mtime, info.st_ctime_ns, "", "", "", _possible(info.st_mtime, now))
    data = _bytes(places.tree, path) if info.st_size <= MAX_BYTES else None
    if data is None:
        why = f"it has more than {MAX_BYTES // 1_000_000} MB" if info.st_size > MAX_BYTES else "it cannot be opened"
        row = row._replace(problem=why)
    else:
        row = row._replace(digest=hashlib.sha256(data).hexdigest()[:32])
        known = store.known(connection, row.digest) if connection else None
        if known is None:
            return _folded(places, row, read(data), connection, now)
        row = row._replace(says=known[0], problem=known[1], at=known[2])
    if connection and row != before:
        store.look(connection, row)
    return row


def _bytes(tree: Tree, path: str) -> bytes | None:
    """The bytes of a regular file, no link; larger ones than a source may be."""
    try:
        handle = os.open(
            f"{tree.root}/{path}", os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        )
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read(MAX_BYTES + 1) if stat.S_ISREG(os.fstat(handle).st_mode) else None


def _folded(places: "_Places", row: Row, report: Report, connection: sqlite3.Connection | None, now: float) -> Row:
    told = [places.told(outcome) for outcome in report.outcomes if outcome.name]
    failed = sorted({f"{one.key} {one.outcome.message}" for one in told if one.outcome.verdict == "failed"})
    says = hashlib.sha256("\n".join(failed).encode()).hexdigest()[:16] if failed else ""
    row = row._replace(says=says, problem=clean(report.problem), at=_possible(report.at, now) if report.at else row.at)
    if connection:
        fold(connection, row, told)
    return row


def _possible(at: float, now: float) -> float:
    """When a run was, if it can have been then: a clock that goes wrong must not make it the newest for years."""
    return at if 0 < at < min(LATEST, now + DAY) else now


class _Places:
    """Where tests are in this project: reports name files as their runner saw them, on another machine, too."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._known: dict[tuple[str, str], tuple[str, str, str]] = {}
        self._files: dict[str, str] = {}

    def told(self, outcome: Outcome) -> Told:
        """An outcome with its file and its group as the project has them, and the key of its test."""
        named = (outcome.file, outcome.group)
        if named not in self._known:
            if len(self._known) >= MOST_PLACES:
                self._known.clear()
                self._files.clear()
            file, group = self._file(outcome.file) if outcome.file else "", outcome.group
            if not file and group:
                file, group = self._module(group)
            words = " ".join(re.findall(r"\w+", f"{file.removesuffix('.py')} {group}"))
            self._known[named] = (file, group, words)
        file, group, words = self._known[named]
        key = hashlib.sha256(f"{words}\0{outcome.name}".encode()).hexdigest()[:20]
        return Told(key, file, group, outcome)

    def _file(self, path: str) -> str:
        """A path relative to the root: the longest end of it that is a file there, else as it stands."""
        if path not in self._files:
            inside = path.removeprefix(f"{self.tree.root}/").strip("/")
            parts = inside.split("/")
            ends = ("/".join(parts[n:]) for n in range(len(parts)))
            self._files[path] = next(filter(self.tree.exists, ends), inside)
        return self._files[path]

    def _module(self, group: str) -> tuple[str, str]:
        """File and classes of a dotted name like pytest's `tests.test_login.TestForm`; no file where there is none."""
        dotted = group.split(".")
        ends = range(len(dotted), 0, -1) if " " not in group else range(0)
        found = next((n for n in ends if self.tree.exists("/".join(dotted[:n]) + ".py")), 0)
        file = "/".join(dotted[:found]) + ".py" if found else ""
        return file, " > ".join(dotted[found:]) if found else group
