"""A look at the reports that are there: what changed is read and folded into the history, the rest costs its `stat`."""

import hashlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from preread.errors import PrereadError
from preread.project.tree import Tree, is_young
from preread.reports import read, store
from preread.reports.fold import Told, fold
from preread.reports.outcomes import LATEST, clean
from preread.reports.places import Places
from preread.reports.store import Row

MAX_BYTES = 32_000_000  # of one report; a larger one is noted, and not read
DAY = 86_400.0


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
        rows = store.use(tree.layout, lambda connection: _Look(tree, connection).rows(stats))
        why = []
    except PrereadError as error:
        if error.code != "E_WRITE":
            raise
        rows, why = _Look(tree, None).rows(stats), [f"the history of tests cannot be kept: {error}"]
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


class _Look:
    """One look at all reports; without a connection nothing is remembered."""

    def __init__(self, tree: Tree, connection: sqlite3.Connection | None) -> None:
        self.tree = tree
        self.connection = connection
        self.before = store.rows(connection) if connection else {}
        self.places = Places(tree)
        self.now = time.time()
        self.fresh: list[Row] = []  # to be remembered, and nothing to be folded in

    def rows(self, stats: dict[str, os.stat_result]) -> list[Row]:
        """Each report as it is now."""
        rows = []
        for path, info in stats.items():
            self.tree.check()
            row = self.before.get(path)
            if row is None or (row.size, row.mtime, row.changed) != (
                info.st_size,
                info.st_mtime_ns,
                info.st_ctime_ns,
            ):
                row = self._changed(path, info)
            rows.append(row)
        if self.connection and self.fresh:
            store.remember(
                self.connection, self.fresh
            )  # at once: a folder may hold thousands that are no reports
        return rows

    def _changed(self, path: str, info: os.stat_result) -> Row:
        """A report that looks changed: read, if its content is not known."""
        is_trusted = not is_young(max(info.st_mtime_ns, info.st_ctime_ns), int(self.now * 1e9))
        mtime = info.st_mtime_ns if is_trusted else 0
        row = Row(
            path, info.st_size, mtime, info.st_ctime_ns, "", "", "", self._possible(info.st_mtime)
        )
        data = _bytes(self.tree, path) if info.st_size <= MAX_BYTES else None
        told: list[Told] = []
        if data is None:
            large = info.st_size > MAX_BYTES
            row = row._replace(
                problem=f"it has more than {MAX_BYTES // 1_000_000} MB"
                if large
                else "it cannot be opened"
            )
        else:
            row = row._replace(digest=hashlib.sha256(data).hexdigest()[:32])
            known = store.known(self.connection, row.digest) if self.connection else None
            if known is not None:
                row = row._replace(says=known[0], problem=known[1], at=known[2])
            else:
                row, told = self._read(row, data)
        if self.connection and told:
            fold(self.connection, row, told)
        elif row != self.before.get(path):
            self.fresh.append(row)
        return row

    def _read(self, row: Row, data: bytes) -> tuple[Row, list[Told]]:
        report = read(data)
        told = [self.places.told(outcome) for outcome in report.outcomes if outcome.name]
        failed = sorted(
            {f"{one.key} {one.outcome.message}" for one in told if one.outcome.verdict == "failed"}
        )
        says = hashlib.sha256("\n".join(failed).encode()).hexdigest()[:16] if failed else ""
        at = self._possible(report.at) if report.at else row.at
        return row._replace(says=says, problem=clean(report.problem), at=at), told

    def _possible(self, at: float) -> float:
        """When a run was, if it can have been then: a clock that goes wrong must not make it the newest for years."""
        return at if 0 < at < min(LATEST, self.now + DAY) else self.now


def _bytes(tree: Tree, path: str) -> bytes | None:
    """The bytes of a regular file, no link; larger ones than a source may be."""
    try:
        handle = os.open(
            f"{tree.root}/{path}",
            os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0),
        )
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read(MAX_BYTES + 1) if stat.S_ISREG(os.fstat(handle).st_mode) else None
