"""Edges from commits and the test history, for the files that facts cite."""

import hashlib
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from preread.graph.from_facts import commit_node
from preread.graph.writer import Key, Writer, file_node, node_of_test
from preread.index import commits, gitlog
from preread.index.analysis import AnalysisCache
from preread.index.commits import MAX_COMMITS, PastCommit
from preread.reports import history
from preread.reports.history import Past
from preread.services import Services

# As in the evidence rule `together`: two files belong together if they often change
# in the same small commits.
SMALL, MAX_OWN, MIN_OWN, MIN_SHARED, SHARE, MAX_PARTNERS = 10, 40, 5, 3, 1 / 3, 4
MAX_FIXES, MAX_FAILURES, MAX_PASTS, MAX_FIX_COMMITS = 5, 5, 500, 3


class LoggedCommit(NamedTuple):
    """A commit, as the git log has it."""

    subject: str
    at: int

    @property
    def is_fix(self) -> bool:
        return gitlog.Commit("", self.subject, "", "", "", (), self.at).is_fix


class _History:
    """The known commits by file."""

    def __init__(self, services: Services, connection: sqlite3.Connection) -> None:
        every = commits.commits(connection).values()
        self.by_file: dict[str, list[PastCommit]] = defaultdict(list)
        for one in every:
            for path in one.paths:
                self.by_file[path].append(one)
        cache = AnalysisCache(services.tree, connection)
        log = cache.log(f"-n{MAX_COMMITS}", "--no-merges", "--format=%H %at %s", "--", ".")
        cache.store()
        rows = (line.split(" ", 2) for line in log.decode("utf-8", "replace").splitlines())
        self.logged = {row[0]: LoggedCommit(row[2], int(row[1])) for row in rows if len(row) == 3}
        self.indexed = {path for (path,) in connection.execute("SELECT path FROM files")}
        self.hidden = services.credentials.hidden

    def node(self, sha: str) -> Key:
        return commit_node(sha, self.hidden(self.logged[sha].subject) if sha in self.logged else "")


def update(services: Services, writer: Writer, cited: list[str]) -> None:
    """Update the edges from the history of the cited files."""
    connection = writer.connection
    layout = services.layout
    row = connection.execute("SELECT state FROM commit_history").fetchone()
    stats = [_stat(path) for path in (layout.test_history, layout.results)]
    tickets = connection.execute("SELECT name FROM nodes WHERE kind = 'ticket' ORDER BY name")
    made_of = repr((row, stats, sorted(cited), tickets.fetchall()))
    digest = hashlib.sha256(made_of.encode("utf-8", "surrogatepass")).hexdigest()
    if writer.digests("history").get("") == digest:
        return
    found = _History(services, connection)
    with writer.origin("history", digest):
        for path in cited:
            _together(writer, found, path)
            _fixes(writer, found, path)
        _mentioned(writer, found)
        _failures(services, writer, found)


def _stat(path: Path) -> tuple[int, ...]:
    try:
        info = path.stat()
    except OSError:
        return ()
    return (info.st_size, info.st_mtime_ns)


def _together(writer: Writer, found: _History, path: str) -> None:
    """Add edges to the files that often change in the same small commits."""
    commits = [one for one in found.by_file[path] if len(one.paths) <= SMALL][:MAX_OWN]
    if len(commits) < MIN_OWN:
        return
    for other, count in _partners(found, path, commits):
        latest = next(one for one in commits if other in one.paths)
        first, second = (writer.node(file_node(each)) for each in sorted((path, other)))
        share = count / len(commits)
        writer.edge(first, "changed-with", second, f"commit:{latest.sha[:9]}", confidence=share)


def _partners(found: _History, path: str, commits: Sequence[PastCommit]) -> list[tuple[str, int]]:
    """The files that at least SHARE of these commits changed, too, and how many did, most first."""
    counts = Counter(other for one in commits for other in one.paths if other != path)
    min_shared = max(MIN_SHARED, SHARE * len(commits))
    often = [(other, count) for other, count in counts.most_common() if count >= min_shared]
    return [one for one in often if one[0] in found.indexed][:MAX_PARTNERS]


def _fixes(writer: Writer, found: _History, path: str) -> None:
    """Add the latest commits to a file whose subjects say that they fix something."""
    fixes = [
        one
        for one in found.by_file[path]
        if one.sha in found.logged and found.logged[one.sha].is_fix
    ]
    _fixed(writer, found, file_node(path), (one.sha for one in fixes[:MAX_FIXES]))


def _fixed(writer: Writer, found: _History, key: Key, shas: Iterable[str]) -> None:
    for sha in shas:
        commit = writer.node(found.node(sha), known_best=True)
        writer.edge(writer.node(key), "fixed-by", commit, f"commit:{sha[:9]}")


def _mentioned(writer: Writer, found: _History) -> None:
    """Add the commits that name a ticket of the graph."""
    sql = "SELECT name FROM nodes WHERE kind = 'ticket'"
    for (ticket,) in writer.connection.execute(sql).fetchall():
        named = re.compile(rf"(?<![\w-]){re.escape(ticket)}(?![\w-])")
        shas = [sha for sha, commit in found.logged.items() if named.search(commit.subject)]
        _fixed(writer, found, Key(f"ticket:{ticket}", "ticket", ticket), shas[:MAX_FIXES])


def _failures(services: Services, writer: Writer, found: _History) -> None:
    """Add the latest test failures in the graph's files, and commits that may have fixed them."""
    sql = "SELECT path FROM nodes WHERE kind IN ('file', 'test')"
    known = {path for (path,) in writer.connection.execute(sql)}
    for past in history.pasts(services.tree)[:MAX_PASTS]:
        if past.file in known:
            _failed(writer, found, past)


def _failed(writer: Writer, found: _History, past: Past) -> None:
    test = writer.node(node_of_test(past.file, past.name))
    writer.edge(writer.node(file_node(past.file)), "defines", test, f"{past.file}::{past.name}")
    for source in past.cited[:MAX_FAILURES]:
        run = source.removeprefix("run:")
        failure = Key(f"failure:{run}", "failure", found.hidden(past.message[:200]) or run)
        writer.edge(test, "failed-in", writer.node(failure, known_best=True), source)
    for bad, good in pairwise(past.tries):
        if bad.run and bad.verdict == "failed" and good.verdict == "passed":
            fixes = _commits_between(found, past.file, bad.at, good.at)
            if len(fixes) <= MAX_FIX_COMMITS:
                failure = Key(f"failure:{bad.run}", "failure", bad.run)
                _fixed(writer, found, failure, fixes)


def _commits_between(found: _History, path: str, after: float, until: float) -> list[str]:
    commits = (one.sha for one in found.by_file[path] if one.sha in found.logged)
    return [sha for sha in commits if after < found.logged[sha].at <= until]
