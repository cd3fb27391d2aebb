"""The evidence index: every file's words and names in the derived database. Only changed files are
read again.
"""

import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from preread.index import commits, imports, words, workers
from preread.index.exclusions import Exclusions
from preread.index.reader import ANALYSIS, UNREAD, UNREADABLE, Order, Read
from preread.infra import atomic, db, sqlite
from preread.infra.locks import FileLock
from preread.project.globs import glob_pattern

if TYPE_CHECKING:
    from preread.services import Services

T = TypeVar("T")
BATCH = 100  # files per write: batches already written survive a cancellation
LOCK_POLL = 0.1  # seconds between checks for cancellation


class _Row(NamedTuple):
    id: int
    digest: str
    treatment: str


def use(services: "Services", work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` on the index, after bringing it up to date with the files and commits.

    Both on one connection: if the database is damaged and replaced, `work` must not find an index
    without files.
    """

    def whole(connection: sqlite3.Connection) -> T:
        update_on(services, connection)
        return work(connection)

    return db.use(services.layout, whole)


def update(services: "Services") -> None:
    """Bring the index up to date."""
    use(services, lambda _: None)


def update_on(services: "Services", connection: sqlite3.Connection) -> None:
    """Bring the index up to date. Concurrent processes take turns; the second finds it current."""
    listed = services.tree.files  # before taking the lock: git may be slow
    with lock(services, "_index"):
        _update(services, listed, connection)
        commits.update(services.tree, connection)


def update_commits(services: "Services", connection: sqlite3.Connection) -> None:
    """Bring only the commits up to date."""
    with lock(services, "_index"):
        commits.update(services.tree, connection)


@contextmanager
def lock(services: "Services", name: str) -> Iterator[None]:
    """Hold a lock. Waiting for it ends at the deadline or when the caller cancels."""
    path = db.place(services.layout).lock(name)
    held = FileLock(path)
    while not held.is_locked:
        services.progress.check()
        with atomic.write_errors(path), suppress(TimeoutError):
            held.acquire(timeout=LOCK_POLL)
    try:
        yield
    finally:
        held.release()


def _update(
    services: "Services", listed: dict[str, os.stat_result], connection: sqlite3.Connection
) -> None:
    files = _not_excluded(services.settings.exclude, listed)
    exclusions = Exclusions(services.settings.include, services.tree.attributes)
    (key,) = connection.execute("SELECT max(key) FROM exclusions").fetchone()
    is_new_key = key != exclusions.key
    changed, gone = _changes(connection, files, exclusions if is_new_key else None)
    if not changed and not gone:
        return
    rows = _rows(connection, changed)
    with sqlite.transaction(connection):
        _forget(connection, [row.id for row in _rows(connection, gone).values()])
        if is_new_key:
            connection.execute("DELETE FROM exclusions")
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM files").fetchone()
    orders = [
        _order(last + n, path, files[path], rows.get(path), exclusions)
        for n, path in enumerate(changed, 1)
    ]
    with closing(_batches(services, orders)) as batches:  # SQLite works without the GIL
        workers.in_background(lambda batch: _write(connection, batch, rows), batches)
    if is_new_key:  # only now: an update that was cut short is repeated
        connection.execute("INSERT INTO exclusions (key) VALUES (?)", (exclusions.key,))


def _not_excluded(
    globs: Iterable[str], listed: dict[str, os.stat_result]
) -> dict[str, os.stat_result]:
    excluded = [glob_pattern(glob) for glob in globs]
    return {
        path: info
        for path, info in listed.items()
        if not any(pattern.fullmatch(path) for pattern in excluded)
    }


def _changes(
    connection: sqlite3.Connection,
    files: dict[str, os.stat_result],
    new_exclusions: Exclusions | None,
) -> tuple[list[str], list[str]]:
    """The paths to read again, and the indexed ones that are gone."""
    sql = "SELECT path, treatment, size, mtime, trusted AND substr(digest, 1, ?) = ? FROM files"
    rows = connection.execute(sql, (len(ANALYSIS), ANALYSIS)).fetchall()
    gone = [path for path, *_ in rows if path not in files]
    same = {
        path
        for path, letters, *stat in rows
        if (info := files.get(path)) is not None
        and stat == [info.st_size, info.st_mtime_ns, 1]
        and (new_exclusions is None or new_exclusions.treatment(path).letters == letters)
    }
    return [path for path in files if path not in same], gone


def _order(
    row: int, path: str, info: os.stat_result, old: _Row | None, exclusions: Exclusions
) -> Order:
    treatment = exclusions.treatment(path)
    known = old.digest if old is not None and old.treatment == treatment.letters else ""
    return Order(
        row, path, info.st_size, info.st_mtime_ns, treatment.role, treatment.letters, known
    )


def _batches(services: "Services", orders: list[Order]) -> Generator[list[Read], None, None]:
    """Read the files, in batches to write; with a second process when there is much to read."""
    if not orders:
        return

    def say(done: int) -> None:
        message = f"reading new and changed files: {done:,} of {len(orders):,}"
        services.progress.say(message, round(0.5 * done / len(orders), 3), 5)

    is_much = workers.is_worth_it(sum(order.size for order in orders if order.role not in UNREAD))
    with closing(
        (workers.with_second_process if is_much else workers.in_this_process)(services, orders)
    ) as parts:
        batch: list[Read] = []
        done = 0
        say(done)
        for part in parts:
            batch += part
            for item in part:
                if item.digest.startswith(UNREADABLE):
                    services.tree.unreadable[item.path] = item.digest.removeprefix(UNREADABLE)
            if len(batch) >= BATCH:
                yield batch
                done, batch = done + len(batch), []
                say(done)
        if batch:
            yield batch


def _rows(connection: sqlite3.Connection, paths: Iterable[str]) -> dict[str, _Row]:
    """The rows of those paths that are indexed."""
    sql = "SELECT id, digest, treatment FROM files WHERE path = ?"
    found = {path: connection.execute(sql, (path,)).fetchone() for path in paths}
    return {path: _Row(*row) for path, row in found.items() if row is not None}


def _write(connection: sqlite3.Connection, found: list[Read], rows: dict[str, _Row]) -> None:
    """Write one batch in few statements: after each one, the thread has to wait for the
    interpreter lock.
    """
    old = {item.path: rows[item.path].id for item in found if item.path in rows}
    same = [item for item in found if item.body is None]
    read = [item for item in found if item.body is not None]
    with sqlite.transaction(connection):
        connection.executemany(
            "UPDATE files SET size = ?, mtime = ?, trusted = ?, digest = ?, treatment = ? "
            "WHERE id = ?",
            [(*item.stat, old[item.path]) for item in same],
        )
        _forget(connection, [old[item.path] for item in read if item.path in old])
        _insert(connection, read)


def _insert(connection: sqlite3.Connection, read: list[Read]) -> None:
    files = [(one.row, one.path, *one.stat, one.role, one.names, one.defines) for one in read]
    columns = "id, path, size, mtime, trusted, digest, treatment, role, names, defines"
    sqlite.insert(connection, f"files ({columns})", files)
    bags = [(one.row, words.bag(one.path), one.defs, one.body) for one in read]
    sqlite.insert(connection, "words (rowid, path, defs, body)", bags)
    imports.insert(connection, [(one.row, one.modules) for one in read])


def _forget(connection: sqlite3.Connection, ids: list[int]) -> None:
    connection.executemany("DELETE FROM files WHERE id = ?", [(id_,) for id_ in ids])
    connection.executemany("DELETE FROM words WHERE rowid = ?", [(id_,) for id_ in ids])
