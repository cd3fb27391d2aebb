"""The evidence index: every file's words and names in the derived database; a changed file costs that file."""

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from filelock import FileLock, Timeout

from preread import atomic, db, syntax
from preread.evidence import links, past, words
from preread.evidence.leftout import UNREAD, LeftOut
from preread.services import Services
from preread.tree import Tree, glob_pattern, is_young

# Files are read again when it is another one. Rules of outlines change it by themselves; raise it for those of words.
ANALYSIS = f"1.{syntax.edition()}:"
BATCH = 200  # files analysed between two writes: what is done stays done when the work is cancelled
LOCK_SLICE = 0.1  # seconds between looks at whether to wait on


class _Row(NamedTuple):
    id: int
    digest: str
    way: str


class _Analysed(NamedTuple):
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
    modules: tuple[links.Link, ...] = ()
    body: str | None = None  # None: the content is the one already indexed

    @property
    def stat(self) -> tuple[int, int, bool, str, str]:
        return self.size, self.mtime, self.trusted, self.digest, self.way


def update(services: Services) -> None:
    """Bring the index in line with the files. Two processes take turns; the second finds it warm."""
    listed = services.tree.files  # before the lock, because git may take its time
    with _turn(services):
        db.use(services.layout, lambda connection: _update(services, listed, connection))
        db.use(services.layout, lambda connection: past.update(services.tree, connection))


@contextmanager
def _turn(services: Services) -> Iterator[None]:
    """The index's lock; waiting for it ends like any other step, with the deadline or the caller's leaving."""
    path = services.layout.lock("_index")
    atomic.make_folder(path.parent)
    lock = FileLock(path)
    while not lock.is_locked:
        services.progress.check()
        with atomic.write_errors(path), suppress(Timeout):
            lock.acquire(timeout=LOCK_SLICE)
    try:
        yield
    finally:
        lock.release()


def _update(services: Services, listed: dict[str, os.stat_result], connection: sqlite3.Connection) -> None:
    tree, progress = services.tree, services.progress
    excluded = [glob_pattern(glob) for glob in services.settings.exclude]
    files = {p: s for p, s in listed.items() if not any(r.fullmatch(p) for r in excluded)} if excluded else listed
    left_out = LeftOut(services.settings.include, tree.attributes)
    sql = "SELECT path, size, mtime, trusted AND substr(digest, 1, ?) = ? FROM files"
    known = {path: stat for path, *stat in connection.execute(sql, (len(ANALYSIS), ANALYSIS))}
    is_as_chosen = connection.execute("SELECT choice FROM chosen").fetchone() == (left_out.choice,)
    otherwise = set() if is_as_chosen else _taken_otherwise(connection, left_out)
    changed = [
        path
        for path, info in files.items()
        if known.get(path) != [info.st_size, info.st_mtime_ns, 1] or path in otherwise
    ]
    gone = [path for path in known if path not in files]
    if not changed and not gone:
        return
    rows = _rows(connection, (path for path in changed if path in known))
    with db.transaction(connection):
        _forget(connection, [row.id for row in _rows(connection, gone).values()])
        if not is_as_chosen:
            connection.execute("DELETE FROM chosen")

    def batches() -> Iterator[list[_Analysed]]:
        for begin in range(0, len(changed), BATCH):
            said = f"reading new and changed files: {begin:,} of {len(changed):,}"
            progress.say(said, round(0.5 * begin / len(changed), 3), 5)
            part = changed[begin : begin + BATCH]
            yield [_analysed(tree, path, files[path], rows.get(path), left_out) for path in part]

    if len(changed) <= BATCH:
        for batch in batches():
            _write(connection, batch, rows)
    else:
        _write_behind(connection, batches(), rows)
    if not is_as_chosen:
        connection.execute("INSERT INTO chosen (choice) VALUES (?)", (left_out.choice,))


def _rows(connection: sqlite3.Connection, paths: Iterable[str]) -> dict[str, _Row]:
    sql = "SELECT id, digest, way FROM files WHERE path = ?"
    return {path: _Row(*connection.execute(sql, (path,)).fetchone()) for path in paths}


def _taken_otherwise(connection: sqlite3.Connection, left_out: LeftOut) -> set[str]:
    """The files that another choice of what is left out took in another way."""
    rows = connection.execute("SELECT path, way FROM files")
    return {path for path, letters in rows if left_out.way(path).letters != letters}


def _write_behind(connection: sqlite3.Connection, batches: Iterable[list[_Analysed]], rows: dict[str, _Row]) -> None:
    """Write each batch while the next one is read: at work, SQLite leaves the interpreter to others."""
    from concurrent.futures import Future, ThreadPoolExecutor  # where a file has changed, it would be felt

    writing: Future[None] | None = None
    with ThreadPoolExecutor(1) as thread:  # its end waits for what is being written, cancelled or not
        for batch in batches:
            if writing is not None:
                writing.result()
            writing = thread.submit(_write, connection, batch, rows)
        if writing is not None:
            writing.result()


def digest_of(text: str) -> str:
    """What the index knows a text by, and the way in which it was read."""
    return ANALYSIS + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _analysed(tree: Tree, path: str, info: os.stat_result, old: _Row | None, left_out: LeftOut) -> _Analysed:
    tree.check()
    way = left_out.way(path)
    trusted = not is_young(info.st_mtime_ns, time.time_ns())
    text = "" if way.role in UNREAD else tree.read(path) or ""
    digest = digest_of(text)
    stat = (path, info.st_size, info.st_mtime_ns, trusted, digest, way.letters)
    if old is not None and (old.digest, old.way) == (digest, way.letters):
        return _Analysed(*stat)
    role = left_out.role_by_text(path, way, text)
    text = "" if role in UNREAD else text
    names, headings = syntax.names(path, text)
    defs = words.bag(" ".join((*names, *headings)))
    known, defines = "\n".join(dict.fromkeys(names)), len(names) + len(headings)
    return _Analysed(*stat, role, known, defines, defs, links.of(path, role, text), words.bag(text))


def _write(connection: sqlite3.Connection, analysed: list[_Analysed], rows: dict[str, _Row]) -> None:
    """All of one batch, by few statements: behind each of them, a thread waits for the interpreter."""
    old = {item.path: rows[item.path].id for item in analysed if item.path in rows}
    same = [item for item in analysed if item.body is None]
    read = [item for item in analysed if item.body is not None]
    with db.transaction(connection):
        connection.executemany(
            "UPDATE files SET size = ?, mtime = ?, trusted = ?, digest = ?, way = ? WHERE id = ?",
            [(*item.stat, old[item.path]) for item in same],
        )
        _forget(connection, [old[item.path] for item in read if item.path in old])
        (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM files").fetchone()
        numbered = [(last + n, item) for n, item in enumerate(read, 1)]
        db.insert(
            connection,
            "files (id, path, size, mtime, trusted, digest, way, role, names, defines)",
            [(row, item.path, *item.stat, item.role, item.names, item.defines) for row, item in numbered],
        )
        db.insert(
            connection,
            "words (rowid, path, defs, body)",
            [(row, words.bag(item.path), item.defs, item.body) for row, item in numbered],
        )
        links.insert(connection, [(row, item.modules) for row, item in numbered])


def _forget(connection: sqlite3.Connection, ids: list[int]) -> None:
    connection.executemany("DELETE FROM files WHERE id = ?", [(id_,) for id_ in ids])
    connection.executemany("DELETE FROM words WHERE rowid = ?", [(id_,) for id_ in ids])
