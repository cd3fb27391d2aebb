"""The derived database: complete before it is moved into place, replaced if its schema differs."""

import errno
import hashlib
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple, TypeVar

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.locks import FileLock, are_supported
from preread.infra.reading import obstacle
from preread.infra.sqlite import (
    DAMAGE,
    LOCK_SECONDS,
    has_schema,
    healing,
    is_sound,
    operational_errors,
)
from preread.layout import Layout

T = TypeVar("T")
CACHE_KIB = 64 * 1024  # at most, for writing a graph of 100,000 facts; SQLite's default is 2 MiB
ATTEMPTS = 5  # before a file counts as not writable
HINT = (
    "Free some disk space or fix the permissions, then try again. The file may be deleted: it is "
    "rebuilt."
)
# A file in place of a folder is as bad as a folder that is read-only.
READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST})
SCHEMA = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
    mtime INTEGER NOT NULL, trusted INTEGER NOT NULL,
    digest TEXT NOT NULL, treatment TEXT NOT NULL, role TEXT NOT NULL,
    names TEXT NOT NULL, defines INTEGER NOT NULL, outline BLOB, details BLOB
);
CREATE INDEX files_role ON files (role);
CREATE INDEX files_known ON files (path, size, mtime, trusted, digest, treatment, role);
CREATE TABLE exclusions (key TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (
    path, defs, body, tokenize = "porter unicode61 tokenchars '_'"
);
CREATE TABLE logs (key TEXT PRIMARY KEY, head TEXT NOT NULL, output BLOB NOT NULL);
CREATE TABLE commits (
    id INTEGER PRIMARY KEY, sha TEXT NOT NULL UNIQUE, changes TEXT NOT NULL,
    place INTEGER NOT NULL, paths TEXT NOT NULL
);
CREATE VIRTUAL TABLE messages USING fts5 (text, tokenize = "porter unicode61 tokenchars '_'");
CREATE TABLE commit_history (state TEXT NOT NULL);
CREATE TABLE links (
    file INTEGER NOT NULL, tail TEXT NOT NULL, whole TEXT NOT NULL, own INTEGER NOT NULL
);
CREATE INDEX links_file ON links (file);
CREATE INDEX links_tail ON links (tail, own);
CREATE TRIGGER links_gone AFTER DELETE ON files BEGIN DELETE FROM links WHERE file = old.id; END;
CREATE TABLE sources_of_facts (
    path TEXT PRIMARY KEY, digest TEXT NOT NULL, feature TEXT NOT NULL
);
CREATE TABLE fact_folders (feature TEXT PRIMARY KEY, stamp TEXT NOT NULL, ticket TEXT NOT NULL);
CREATE TABLE facts (
    id TEXT NOT NULL, feature TEXT NOT NULL, path TEXT NOT NULL, line INTEGER NOT NULL,
    kind TEXT NOT NULL, section TEXT NOT NULL, text TEXT NOT NULL, sources TEXT NOT NULL,
    state TEXT NOT NULL, confidence REAL NOT NULL
);
CREATE INDEX facts_path ON facts (path);
CREATE VIRTUAL TABLE fact_words USING fts5 (text, section, feature, tokenize = "porter unicode61");
CREATE VIRTUAL TABLE document_words USING fts5 (
    path UNINDEXED, digest UNINDEXED, part UNINDEXED, text, tokenize = "porter unicode61"
);
CREATE TABLE vectors (digest TEXT PRIMARY KEY, vector BLOB NOT NULL);
INSERT INTO fact_words (fact_words, rank) VALUES ('rank', 'bm25(2.0, 1.0, 1.0)');
CREATE TABLE nodes (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, name TEXT NOT NULL,
    path TEXT NOT NULL, line INTEGER NOT NULL, state TEXT NOT NULL, confidence REAL NOT NULL
);
CREATE INDEX nodes_kind ON nodes (kind, path);
CREATE INDEX nodes_name ON nodes (name) WHERE kind != 'fact';
CREATE TABLE edges (
    source INTEGER NOT NULL, kind TEXT NOT NULL, target INTEGER NOT NULL, origin INTEGER NOT NULL,
    cited TEXT NOT NULL, state TEXT NOT NULL, confidence REAL NOT NULL,
    PRIMARY KEY (source, kind, target, origin)
) WITHOUT ROWID;
CREATE INDEX edges_target ON edges (target, kind);
CREATE INDEX edges_origin ON edges (origin);
CREATE TABLE origins (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, digest TEXT NOT NULL);
CREATE TABLE passed_checks (key TEXT PRIMARY KEY, signature TEXT NOT NULL);
CREATE TABLE cached_checks (
    feature TEXT PRIMARY KEY, level TEXT NOT NULL, ticket TEXT NOT NULL, cited TEXT NOT NULL,
    mark TEXT NOT NULL, found TEXT NOT NULL
);
CREATE TABLE versions (
    feature TEXT NOT NULL, state TEXT NOT NULL, asked TEXT NOT NULL, manifest TEXT NOT NULL,
    outside TEXT NOT NULL, body BLOB NOT NULL
);
CREATE INDEX versions_state ON versions (feature, state, asked);
CREATE INDEX versions_manifest ON versions (feature, manifest);
CREATE TABLE editions (number INTEGER NOT NULL);
INSERT INTO editions VALUES (random());
CREATE TRIGGER sources_of_facts_insert AFTER INSERT ON sources_of_facts
    BEGIN UPDATE editions SET number = number + 1; END;
CREATE TRIGGER sources_of_facts_update AFTER UPDATE ON sources_of_facts
    BEGIN UPDATE editions SET number = number + 1; END;
CREATE TRIGGER sources_of_facts_delete AFTER DELETE ON sources_of_facts
    BEGIN UPDATE editions SET number = number + 1; END;
CREATE TRIGGER origins_insert AFTER INSERT ON origins
    BEGIN UPDATE editions SET number = number + 1; END;
CREATE TRIGGER origins_update AFTER UPDATE ON origins
    BEGIN UPDATE editions SET number = number + 1; END;
CREATE TRIGGER origins_delete AFTER DELETE ON origins
    BEGIN UPDATE editions SET number = number + 1; END;
"""
VERSION = zlib.crc32(SCHEMA.encode()) & 0x7FFFFFFF  # changes with the schema


class Place(NamedTuple):
    """Where a project's database and its locks are."""

    folder: Path

    @property
    def db(self) -> Path:
        return self.folder / "index.db"

    def lock(self, name: str) -> Path:
        return self.folder / "locks" / f"{name}.lock"


def place(layout: Layout) -> Place:
    """The project's cache folder; if that cannot be written or locked, one in the person's caches.

    The latter is also used before there is a `.project`, because a question must not make a folder
    a project. Raises E_WRITE if that one cannot be written either.
    """
    own = Place(layout.cache)
    try:
        if os.path.lexists(layout.project) and _can_be_used(_created(own)):
            return own
    except OSError as error:
        if error.errno not in READ_ONLY:
            with atomic.write_errors(layout.db):
                raise
    caches = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(caches) if os.path.isabs(caches) else Path.home() / ".cache"  # noqa: PTH117
    name = hashlib.sha256(os.fsencode(layout.root)).hexdigest()[:16]
    private = Place(base / "preread" / name)
    with atomic.write_errors(private.db):
        private.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic.make_folder(private.lock("_db").parent)
    return private


def _created(place: Place) -> Place:
    place.lock("_db").parent.mkdir(parents=True, exist_ok=True)
    return place


def _can_be_used(place: Place) -> bool:
    paths = (place.folder, place.lock("_db").parent, place.db, *_journals(place.db))
    return all(map(_is_writable_or_absent, paths)) and are_supported(place.folder)


def _is_writable_or_absent(path: Path) -> bool:
    """Checks again if in doubt: SQLite adds and removes its journals as connections come and go."""
    return any(os.access(path, os.W_OK) or not path.exists() for _ in range(ATTEMPTS))


def _open(path: Path) -> sqlite3.Connection:
    """Open the database; raises sqlite3.DatabaseError if it is not one of this schema."""
    uri = f"{path.as_uri()}?mode=rw"
    connection = sqlite3.connect(
        uri, uri=True, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        # The database is derived: a page lost in a crash costs a rebuild, not a fact.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            raise sqlite3.DatabaseError("another schema")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_intact(path: Path) -> bool:
    try:
        with closing(_open(path)) as connection:
            return has_schema(connection, SCHEMA) and is_sound(connection)
    except sqlite3.OperationalError:
        raise  # locked or not permitted, which does not mean damaged
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return False


def _recreate(place: Place, damaged: int = 0) -> None:
    """Put an empty database in place, unless another process has just done so.

    `damaged` is the inode of a file whose content is certainly damaged, although its pages are
    intact. The new one is created next to the old one, because a database that another process has
    open cannot be switched to WAL.
    """
    with atomic.write_errors(place.db), FileLock(place.lock("_db"), timeout=LOCK_SECONDS):
        inode = place.db.stat().st_ino if place.db.exists() else 0
        if inode and inode != damaged and _is_intact(place.db):
            return
        fresh = place.db.with_name(f"{place.db.name}.new")
        for path in (fresh, *_journals(fresh)):
            atomic.remove(path)
        with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
        for path in _journals(place.db):
            atomic.remove(path)
        atomic.replace(fresh, place.db)


def _journals(path: Path) -> tuple[Path, ...]:
    return tuple(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))


def is_damaged(layout: Layout) -> bool:
    """Whether the database exists and is damaged; one that is locked by others does not count."""
    path = place(layout).db
    try:
        return path.exists() and not _is_intact(path)
    except sqlite3.OperationalError:
        return False


def rebuild(layout: Layout) -> None:
    """Replace a damaged database by an empty one. Raises E_WRITE."""
    found = place(layout)
    with operational_errors(found.db, HINT):
        _recreate(found)


class _Shared(NamedTuple):
    """A connection that stays open for a while, and its project."""

    layout: Layout
    connection: sqlite3.Connection


_SHARED: ContextVar[_Shared | None] = ContextVar("shared", default=None)


def use(layout: Layout, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` on a connection in autocommit mode.

    If the file is corrupt, `work` runs again on an empty database. Raises E_WRITE when the
    database cannot be written or stays locked. Errors in the SQL are raised as they are.
    """
    if (shared := _SHARED.get()) is not None and shared.layout == layout:
        # If that fails, use a connection of its own, which repairs the database.
        with suppress(*DAMAGE, PrereadError):
            return work(shared.connection)
    found = place(layout)
    if kind := obstacle(found.db):
        hint = "`preread repair` moves it away; the index is then built again from the files."
        raise PrereadError("E_WRITE", f"{found.db} is {kind} instead of a file.", hint)
    with operational_errors(found.db, HINT):
        if not found.db.exists():
            _recreate(found)
        inode = found.db.stat().st_ino
        return healing(
            lambda: _open(found.db),
            work,
            lambda is_sure: _recreate(found, inode if is_sure else 0),
        )


@contextmanager
def shared(layout: Layout) -> Iterator[None]:
    """Within the block, every `use` of the project's database has the same connection.

    For many small uses: opening a connection takes as long as 20 look-ups.
    """
    with ExitStack() as stack:
        with suppress(*DAMAGE, PrereadError):  # each use will report the error
            use(layout, lambda _: None)
            connection = stack.enter_context(closing(_open(place(layout).db)))
            stack.callback(_SHARED.reset, _SHARED.set(_Shared(layout, connection)))
        yield


@contextmanager
def in_memory(layout: Layout) -> Iterator[None]:
    """Within the block, the project's database is an empty one in memory."""
    with closing(
        sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    ) as connection:
        connection.executescript(SCHEMA)
        token = _SHARED.set(_Shared(layout, connection))
        try:
            yield
        finally:
            _SHARED.reset(token)


def edition(connection: sqlite3.Connection) -> int:
    """A number that changes with every write to the facts and the graph."""
    return int(connection.execute("SELECT number FROM editions").fetchone()[0])
