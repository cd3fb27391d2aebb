"""Cached results of checking each dossier, valid until something they depend on changes.

As in `fingerprint`, times and inode stand for the content of a file: a changed file has another
change time, whatever its size and modification time are. A result is stored only if no file had
changed so recently that it might change again without a difference in its times.
"""

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from stat import S_ISLNK
from typing import NamedTuple

from preread import __version__, inputs
from preread.dossier import sources
from preread.errors import PrereadError
from preread.infra import db, sqlite
from preread.infra.reading import names_in
from preread.layout import BY_NAME, MANIFEST, Layout
from preread.models import LEVELS, Manifest, Request
from preread.project.globs import glob_pattern
from preread.project.tree import is_young
from preread.roles import with_all_tests
from preread.services import Services
from preread.settings import Level

YOUNG = "young"
# Sources of these kinds depend only on the dossier's inputs, HEAD and the paths they name.
KINDS = frozenset(
    {"lines", "path", "test", "absent", "commit", "ticket", "run", "said", "external"}
)


class CachedCheck(NamedTuple):
    """A dossier that covered the request it was built for, and the result of that check."""

    manifest: Manifest
    found: str  # JSON


class _Row(NamedTuple):
    """A stored `CachedCheck`."""

    feature: str
    level: Level
    ticket: str
    cited: str  # `f` and a path, or `g` and the glob of an absence; one per line
    mark: str
    found: str


class CheckCache:
    """Cached checks of dossiers, during one request."""

    def __init__(self, services: Services, head: str, build_key: Callable[[Level], str]) -> None:
        """`head` is the state of HEAD."""
        self._services, self._layout = services, services.layout
        self._begun = time.time_ns()
        self._build_key = cache(build_key)
        self._file = cache(lambda path: _state(f"{self._layout.root}/{path}", self._begun))
        self._glob = cache(self._state_of_glob)
        self._shared = ""
        with suppress(PrereadError):
            now = inputs.digests(services, Request(feature="_project"))
            staged, cut = names_in(self._layout.staging), services.tree.cut
            self._listed = tuple(inputs.listed(services.tree))
            if not services.tree.troubles:
                self._shared = repr((__version__, head, sorted(now.items()), staged, cut))

    def get(self, features: Iterable[str]) -> dict[str, str]:
        """The cached results that are still valid, by feature."""
        rows: list[_Row] = []
        if self._shared:
            with suppress(PrereadError):  # a database that cannot be used only costs time
                rows = db.use(self._layout, _read)
        names = {*features}
        return {
            one.feature: one.found for one in rows if one.feature in names and self._is_valid(one)
        }

    def put(self, checks: Iterable[CachedCheck]) -> None:
        """Store the checks whose dependencies cannot change unnoticed."""
        if not self._shared or self._services.tree.troubles:
            return
        rows = []
        for manifest, found in checks:
            cited = _cited(manifest)
            row = _Row(manifest.feature, manifest.level, manifest.ticket, cited or "", "", found)
            if cited is not None and (mark := self._mark(row)):
                rows.append(row._replace(mark=mark))
        if rows:
            with suppress(PrereadError):
                db.use(self._layout, lambda connection: _write(connection, rows))

    def _is_valid(self, row: _Row) -> bool:
        try:
            return row.level in LEVELS and row.mark == self._mark(row)
        except (PrereadError, TypeError, AttributeError):  # a damaged row
            return False

    def _mark(self, row: _Row) -> str:
        """The state of everything that a check depends on; empty if that may change unnoticed."""
        states = [self._shared, self._build_key(row.level)]
        states += (_state(path, self._begun, is_own=True) for path in _own_paths(self._layout, row))
        for kind, name in ((line[:1], line[1:]) for line in row.cited.split("\n")):
            states.append(self._glob(name) if kind == "g" else self._file(name))
        if YOUNG in states:
            return ""
        return hashlib.sha256("\n".join(states).encode("utf-8", "surrogateescape")).hexdigest()

    def _state_of_glob(self, glob: str) -> str:
        pattern = glob_pattern(glob)
        matching = [path for path in self._listed if pattern.fullmatch(path)]
        matching = with_all_tests(matching, self._listed)
        states = [*map(self._file, matching)]
        return YOUNG if YOUNG in states else "\n".join((*matching, *states))


def _state(path: str, begun: int, *, is_own: bool = False) -> str:
    """A stand-in for the content of a file; YOUNG if the content may change without it.

    A link in place of one of Preread's own files (`is_own`) is never followed.
    """
    try:
        info = os.lstat(path) if is_own else os.stat(path)  # noqa: PTH116 - for thousands of files
    except (OSError, ValueError):
        return ""
    times = (info.st_mtime_ns, info.st_ctime_ns)
    if any(is_young(at, begun) for at in times) or (is_own and S_ISLNK(info.st_mode)):
        return YOUNG
    return f"{info.st_size} {times} {info.st_ino} {info.st_dev}"


def _cited(manifest: Manifest) -> str | None:
    """What the dossier cites; None if something else can make it stale, like the time."""
    if manifest.status == "degraded":
        return None
    if any(key.startswith(inputs.UNREADABLE) for key in manifest.used):
        return None
    cited = set()
    for ref in map(sources.parse, manifest.spans):
        if ref is None or ref.kind not in KINDS:
            return None
        if ref.kind == "ticket" and ref.name != manifest.ticket:
            return None
        if ref.path:
            cited.add(("g" if ref.kind == "absent" else "f") + ref.path)
    return "\n".join(sorted(cited))


def _own_paths(layout: Layout, row: _Row) -> Iterator[str]:
    """The dossier's own files, its ticket, the hint that it is stale, and the test results."""
    folder = str(layout.dossier(row.feature))
    yield folder
    yield from (f"{folder}/{name}" for name in (MANIFEST, *BY_NAME))
    yield str(layout.run_record(row.feature))
    yield str(layout.stale(row.feature))
    if row.ticket:
        yield str(layout.ticket(row.ticket))
    yield str(layout.results)
    yield str(layout.wrong)
    yield str(layout.test_history)


def _read(connection: sqlite3.Connection) -> list[_Row]:
    select = "SELECT feature, level, ticket, cited, mark, found FROM cached_checks"
    return [_Row._make(row) for row in connection.execute(select)]


def _write(connection: sqlite3.Connection, rows: list[_Row]) -> None:
    with sqlite.transaction(connection):
        connection.executemany(
            "INSERT OR REPLACE INTO cached_checks VALUES (?, ?, ?, ?, ?, ?)", rows
        )
