"""Bring the test history up to date with the reports; unchanged reports only cost a `stat`."""

import hashlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from preread.errors import PrereadError, Unreadable
from preread.infra.reading import plain_bytes
from preread.infra.secrets import Credentials
from preread.project.tree import Tree, is_young
from preread.reports import read, store
from preread.reports.ingest import MAX_TESTS, LocatedOutcome, ReadReport, ingest
from preread.reports.locating import Places
from preread.reports.outcomes import LATEST, Outcome, clean
from preread.reports.store import Row

MAX_BYTES = 32_000_000  # of one report; a larger one is not read, and reported as a problem
BATCH = 500  # reports that are stored at once: a killed process loses no more than these
DAY = 86_400.0


class ReportState(NamedTuple):
    """What the current reports contain."""

    failures_digest: str = ""  # empty without failures
    problems: tuple[str, ...] = ()
    current: frozenset[tuple[str, float]] = frozenset()  # each one's path, and when its run began


def update(tree: Tree, paths: Iterable[str]) -> ReportState:
    """Read the changed reports into the history; if that cannot be written, it is a problem."""
    stats = dict(_stats(tree, paths))
    if not stats:
        return ReportState()
    errors = []
    try:
        rows = store.use(tree.layout, lambda connection: _Update(tree, connection).rows(stats))
    except PrereadError as error:
        if error.code != "E_WRITE":
            raise
        rows = _Update(tree, None).rows(stats)
        errors = [f"the test history cannot be written: {error}"]
    failures = "".join(sorted({row.failures for row in rows if row.failures}))
    problems = [f"{row.path} cannot be read in full: {row.problem}" for row in rows if row.problem]
    digest = hashlib.sha256(failures.encode()).hexdigest()[:16] if failures else ""
    return ReportState(digest, (*problems, *errors), frozenset((row.path, row.at) for row in rows))


def _stats(tree: Tree, paths: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    for path in paths:
        with suppress(OSError, ValueError):
            info = os.lstat(f"{tree.root}/{path}")
            if stat.S_ISREG(info.st_mode):
                yield path, info


class _Update:
    """One update from all reports; without a connection nothing is stored."""

    def __init__(self, tree: Tree, connection: sqlite3.Connection | None) -> None:
        self.tree = tree
        self.connection = connection
        self.before = store.rows(connection) if connection else {}
        self.places = Places(tree)
        self.secrets = secrets = Credentials(tree.root)
        # Reports repeat the same names.
        self.hidden = lru_cache(MAX_TESTS)(
            lambda name: secrets.hidden(name) if secrets.found(name) else name
        )
        self.now = time.time()
        self.pending: list[ReadReport] = []  # not yet stored
        self.known: dict[str, Row] = {}  # those of them with outcomes, by digest

    def rows(self, stats: dict[str, os.stat_result]) -> list[Row]:
        """Each report as it is now."""
        rows = []
        for path, info in stats.items():
            self.tree.check()
            row = self.before.get(path)
            state = (info.st_size, info.st_mtime_ns, info.st_ctime_ns)
            if row is None or (row.size, row.mtime, row.changed) != state:
                row = self._changed(path, info)
            rows.append(row)
            if len(self.pending) >= BATCH:
                self._store()
        self._store()
        return rows

    def _store(self) -> None:
        if self.connection and self.pending:
            ingest(self.connection, self.pending)
        self.pending.clear()
        self.known.clear()

    def _changed(self, path: str, info: os.stat_result) -> Row:
        """Process a report whose times or size changed; read it unless its content is known."""
        # A file that has just changed may change again within its time stamp's resolution.
        is_trusted = not is_young(max(info.st_mtime_ns, info.st_ctime_ns), int(self.now * 1e9))
        mtime = info.st_mtime_ns if is_trusted else 0
        at = self._plausible(info.st_mtime)
        row = Row(path, info.st_size, mtime, info.st_ctime_ns, "", "", "", at)
        outcomes: list[LocatedOutcome] = []
        if info.st_size > MAX_BYTES:
            row = row._replace(problem=f"it has more than {MAX_BYTES // 1_000_000} MB")
        else:
            try:
                data = plain_bytes(f"{self.tree.root}/{path}", MAX_BYTES)
            except Unreadable as error:
                self.tree.failed[error.message.removesuffix(".")] = None
                return row._replace(problem=error.why)
            if data is None:
                return row._replace(problem="it is no longer a regular file")
            row, outcomes = self._read(row, data)
        if outcomes or row != self.before.get(path):
            self.pending.append(ReadReport(row, outcomes))
        if outcomes:
            self.known[row.digest] = row
        return row

    def _read(self, row: Row, data: bytes) -> tuple[Row, list[LocatedOutcome]]:
        """The row with the report's content, and its outcomes; none if they are already stored."""
        row = row._replace(digest=hashlib.sha256(data).hexdigest()[:32])
        known = self._known(row.digest)
        if known is not None:
            return row._replace(failures=known[0], problem=known[1], at=known[2]), []
        report = read(data)
        named = (self._publishable(outcome) for outcome in report.outcomes if outcome.name)
        outcomes = [self.places.locate(outcome) for outcome in named]
        failed = [one for one in outcomes if one.outcome.verdict == "failed"]
        texts = sorted({f"{one.key} {one.outcome.message}" for one in failed})
        failures = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16] if texts else ""
        at = self._plausible(report.at) if report.at else row.at
        row = row._replace(failures=failures, problem=clean(report.problem), at=at)
        return row, outcomes

    def _known(self, digest: str) -> tuple[str, str, float] | None:
        """The failures' digest, problem and start of a content that was read before."""
        if row := self.known.get(digest):
            return row.failures, row.problem, row.at
        return store.ingested(self.connection, digest) if self.connection else None

    def _publishable(self, outcome: Outcome) -> Outcome:
        """The outcome without secrets: hidden in its name; a message with one is removed."""
        name, message = self.hidden(outcome.name), outcome.message
        if name != outcome.name:
            outcome = outcome._replace(name=name)
        has_secret = message and self.secrets.found(message)
        return outcome._replace(message="") if has_secret else outcome

    def _plausible(self, at: float) -> float:
        """The time; now if it is in the future, or it would be the newest run for a long time."""
        return at if 0 < at < min(LATEST, self.now + DAY) else self.now
