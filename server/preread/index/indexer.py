"""The evidence index: every file's words and names in the derived database. Only changed files are
read again.
"""

import os
import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from filelock import FileLock, Timeout

from preread.index import commits, imports, words, workers
from preread.index.exclusions import LeftOut
from preread.index.reader import ANALYSIS, UNREAD, Order, Read
from preread.infra import atomic, db
from preread.project.tree import glob_pattern

if TYPE_CHECKING:
    from preread.services import Services

BATCH = 100  # files per write: batches already written survive a cancellation
LOCK_POLL = 0.1  # seconds between checks for cancellation


class _Row(NamedTuple):
    id: int
    digest: str
    way: str


def update(services: "Services") -> None:
    """Bring the index up to date. Concurrent processes take turns; the second finds it current."""
    listed = services.tree.files  # before taking the lock: git may be slow
    with _index_lock(services):
        db.use(services.layout, lambda connection: _update(services, listed, connection))
        db.use(services.layout, lambda connection: commits.update(services.tree, connection))


@contextmanager
def _index_lock(services: "Services") -> Iterator[None]:
    """Hold the index's lock. Waiting for it ends at the deadline or when the caller cancels."""
    path = services.layout.lock("_index")
    atomic.make_folder(path.parent)
    lock = FileLock(path)
    while not lock.is_locked:
        services.progress.check()
        with atomic.write_errors(path), suppress(Timeout):
            lock.acquire(timeout=LOCK_POLL)
    try:
        yield
    finally:
        lock.release()


def _update(
    services: "Services", listed: dict[str, os.stat_result], connection: sqlite3.Connection
) -> None:
    excluded = [glob_pattern(glob) for glob in services.settings.exclude]
    files = (
        {p: s for p, s in listed.items() if not any(r.fullmatch(p) for r in excluded)}
        if excluded
        else listed
    )
    left_out = LeftOut(services.settings.include, services.tree.attributes)
    sql = "SELECT path, size, mtime, trusted AND substr(digest, 1, ?) = ? FROM files"
    known = {path: stat for path, *stat in connection.execute(sql, (len(ANALYSIS), ANALYSIS))}
    is_same_choice = connection.execute("SELECT choice FROM chosen").fetchone() == (
        left_out.choice,
    )
    retreated = set() if is_same_choice else _treated_differently(connection, left_out)
    changed = [
        path
        for path, info in files.items()
        if known.get(path) != [info.st_size, info.st_mtime_ns, 1] or path in retreated
    ]
    gone = [path for path in known if path not in files]
    if not changed and not gone:
        return
    rows = _rows(connection, (path for path in changed if path in known))
    with db.transaction(connection):
        _forget(connection, [row.id for row in _rows(connection, gone).values()])
        if not is_same_choice:
            connection.execute("DELETE FROM chosen")
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM files").fetchone()
    orders = [
        _order(last + n, path, files[path], rows.get(path), left_out)
        for n, path in enumerate(changed, 1)
    ]
    with closing(_batches(services, orders)) as batches:
        if len(orders) <= BATCH:
            for batch in batches:
                _write(connection, batch, rows)
        else:  # SQLite releases the interpreter lock while it works
            workers.in_background(lambda batch: _write(connection, batch, rows), batches)
    if not is_same_choice:
        connection.execute("INSERT INTO chosen (choice) VALUES (?)", (left_out.choice,))


def _order(row: int, path: str, info: os.stat_result, old: _Row | None, left_out: LeftOut) -> Order:
    way = left_out.way(path)
    known = old.digest if old is not None and old.way == way.letters else ""
    return Order(row, path, info.st_size, info.st_mtime_ns, way.role, way.letters, known)


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
            if len(batch) >= BATCH:
                yield batch
                done, batch = done + len(batch), []
                say(done)
        if batch:
            yield batch


def _rows(connection: sqlite3.Connection, paths: Iterable[str]) -> dict[str, _Row]:
    sql = "SELECT id, digest, way FROM files WHERE path = ?"
    return {path: _Row(*connection.execute(sql, (path,)).fetchone()) for path in paths}


def _treated_differently(connection: sqlite3.Connection, left_out: LeftOut) -> set[str]:
    """The files that were indexed differently under other exclusions."""
    rows = connection.execute("SELECT path, way FROM files")
    return {path for path, letters in rows if left_out.way(path).letters != letters}


def _write(connection: sqlite3.Connection, found: list[Read], rows: dict[str, _Row]) -> None:
    """Write one batch in few statements: after each one, the thread has to wait for the
    interpreter lock.
    """
    old = {item.path: rows[item.path].id for item in found if item.path in rows}
    same = [item for item in found if item.body is None]
    read = [item for item in found if item.body is not None]
    with db.transaction(connection):
        connection.executemany(
            "UPDATE files SET size = ?, mtime = ?, trusted = ?, digest = ?, way = ? WHERE id = ?",
            [(*item.stat, old[item.path]) for item in same],
        )
        _forget(connection, [old[item.path] for item in read if item.path in old])
        db.insert(
            connection,
            "files (id, path, size, mtime, trusted, digest, way, role, names, defines)",
            [
                (item.row, item.path, *item.stat, item.role, item.names, item.defines)
                for item in read
            ],
        )
        db.insert(
            connection,
            "words (rowid, path, defs, body)",
            [(item.row, words.bag(item.path), item.defs, item.body) for item in read],
        )
        imports.insert(connection, [(item.row, item.modules) for item in read])


def _forget(connection: sqlite3.Connection, ids: list[int]) -> None:
    connection.executemany("DELETE FROM files WHERE id = ?", [(id_,) for id_ in ids])
    connection.executemany("DELETE FROM words WHERE rowid = ?", [(id_,) for id_ in ids])
