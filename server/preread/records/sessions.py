"""Sessions in a project, their work and their messages, in `.project/.state/state.db`.

A session is a process: an MCP server, the shell that a command line was typed in, or a client of a
daemon. It ends with its process, or after SILENCE.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from preread.errors import PrereadError
from preread.infra import processes
from preread.infra.persistent_db import PersistentDatabase
from preread.infra.sqlite import transaction
from preread.layout import Layout
from preread.models import Model
from preread.records import messages
from preread.records.messages import Message

T = TypeVar("T")
SILENCE = 4 * 3600.0  # seconds
MAX_FILES = 200  # of one session
MAX_NOTED = 1000
MAX_SINCE = messages.MAX_READ  # messages that `since` returns
SERVICE = "preread"  # the sender of messages about overlapping files
SCHEMA = f"""
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, pid INTEGER NOT NULL, born REAL NOT NULL,
    since REAL NOT NULL, seen REAL NOT NULL, feature TEXT NOT NULL, doing TEXT NOT NULL,
    heard INTEGER NOT NULL
);
CREATE TABLE files (
    session TEXT NOT NULL, path TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (session, path)
);{messages.SCHEMA}"""  # its text is the database's version: a change sets databases aside


class Identity(Model):
    """The process behind a session, and its name; `part` distinguishes a daemon's clients."""

    name: str
    pid: int
    part: str = ""

    @property
    def born(self) -> processes.Born:
        """The start time of the process, because process ids are reused."""
        return processes.born(self.pid)

    @property
    def id(self) -> str:
        return f"{self.pid}-{self.part}" if self.part else str(self.pid)


_noted: dict[tuple[Path, str], str] = {}  # (folder, session) -> feature that this process recorded

# The caller, in a process that serves many sessions.
CALLER: ContextVar[Identity | None] = ContextVar("caller", default=None)


class Session(Model):
    """A session, as others see it."""

    id: str
    name: str
    since: float = Field(description="When it began, in epoch seconds.")
    seen: float = Field(description="When it last did something, in epoch seconds.")
    feature: str = Field("", description="What it works on.")
    doing: str = ""
    files: tuple[str, ...] = Field((), description="The files that it writes.")


@cache
def own(pid: int, name: str) -> Identity:
    """The identity of a process of this name."""
    return Identity(name=name, pid=pid)


def caller(by: str, *, is_person: bool) -> Identity:
    """The calling session: an agent's server, or the shell that started this process."""
    if is_person:
        return own(os.getppid(), by)
    if (client := CALLER.get()) is not None:
        return client
    return own(os.getpid(), by.removeprefix("mcp:"))


def update(
    layout: Layout,
    me: Identity,
    *,
    name: str | None = None,
    feature: str | None = None,
    doing: str | None = None,
    files: Iterable[str] | None = None,
) -> tuple[Session, list[Session]]:
    """Update a session's work; returns it, and the sessions that write one of its files.

    Both sides of a new overlap get a message.
    """

    def work(connection: sqlite3.Connection) -> tuple[Session, list[Session]]:
        known = _entered(connection, me)
        values = {"name": name, "feature": feature, "doing": doing}
        for column, value in values.items():
            if value is not None:  # the column's name is ours
                sql = f"UPDATE sessions SET {column} = ? WHERE id = ?"  # noqa: S608
                connection.execute(sql, (value, known))
        if files is not None:
            _write(connection, known, list(dict.fromkeys(files))[:MAX_FILES])
        found = {one.id: one for one in _all(connection)}
        mine = found.pop(known)
        return mine, _overlaps(mine, found.values())

    return _use(layout, work)


def known(layout: Layout, me: Identity) -> tuple[Session, list[Session]]:
    """What `update` returns, for where nothing can be written: others do not see a new session."""
    found = {one.id: one for one in live_sessions(layout)}
    now = time.time()
    mine = found.pop(me.id, None) or Session(id=me.id, name=me.name, since=now, seen=now)
    return mine, _overlaps(mine, found.values())


def _overlaps(mine: Session, others: Iterable[Session]) -> list[Session]:
    return [one for one in others if set(one.files) & set(mine.files)]


def _write(connection: sqlite3.Connection, me: str, files: list[str]) -> None:
    """Set the files that a session writes, and send both sides of a new overlap a message."""
    before = {one.id: one for one in _all(connection)}
    connection.execute("DELETE FROM files WHERE session = ?", (me,))
    rows = [(me, path, time.time()) for path in files]
    connection.executemany("INSERT INTO files VALUES (?, ?, ?)", rows)
    mine = before.pop(me)
    for other in before.values():
        shared_files = set(other.files) & set(files) - set(mine.files)
        if shared_files:
            names = ", ".join(sorted(shared_files)[:5])
            pairs = ((me, other), (other.id, mine))
            for to, about in pairs:
                text = f"{about.name} ({about.id}) writes the same files as you: {names}."
                messages.send(connection, SERVICE, SERVICE, to, text)


def is_noted(start: Path, me: Identity, feature: str) -> bool:
    """Whether this feature was the last one recorded for a session in a folder."""
    return _noted.get((start, me.id)) == feature


def note_feature(layout: Layout, start: Path, me: Identity, feature: str) -> None:
    """Record which feature's dossier a session asked for last, in a folder. Raises E_WRITE."""
    update(layout, me, feature=feature)
    if len(_noted) >= MAX_NOTED:
        _noted.clear()
    _noted[start, me.id] = feature


def say(layout: Layout, me: Identity, text: str, to: str = "") -> tuple[Message, list[Session]]:
    """Send a message to a session, or to all; returns it and its recipients. Raises E_NOT_FOUND."""

    def work(connection: sqlite3.Connection) -> tuple[Message, list[Session]]:
        known = _entered(connection, me)
        sessions = _all(connection)
        name = next(one.name for one in sessions if one.id == known)
        recipient = _named(sessions, to).id if to else ""
        reached = [one for one in sessions if one.id == recipient or (not to and one.id != known)]
        return messages.send(connection, known, name, recipient, text), reached

    return _use(layout, work)


def hear(layout: Layout, me: Identity, limit: int) -> tuple[list[Message], int]:
    """A session's oldest unread messages, and how many more there are. Marks them as read."""

    def work(connection: sqlite3.Connection) -> tuple[list[Message], int]:
        known = _entered(connection, me)
        found = messages.unheard(connection, known)
        unread = found[:limit]
        if unread:
            sql = "UPDATE sessions SET heard = ? WHERE id = ?"
            connection.execute(sql, (unread[-1].id, known))
        return unread, len(found) - len(unread)

    return _use(layout, work)


def live_sessions(layout: Layout) -> list[Session]:
    """The live sessions, oldest first."""

    def work(connection: sqlite3.Connection) -> list[Session]:
        ended = set(_ended(connection))
        return [one for one in _all(connection) if one.id not in ended]

    return _database(layout).use(work) if layout.sessions_db.is_file() else []


def latest(layout: Layout) -> int:
    """The number of the latest message."""
    if not layout.sessions_db.is_file():
        return 0
    return _database(layout).use(messages.latest)


def since(layout: Layout, seen: int) -> list[Message]:
    """The messages after number `seen`, for any recipient; at most MAX_SINCE."""
    if not layout.sessions_db.is_file():
        return []
    return _database(layout).use(lambda connection: messages.after(connection, seen))


def waiting(layout: Layout, me: Identity) -> int:
    """The number of a session's unread messages; 0 if it is not registered."""
    try:
        state = layout.sessions_db.stat()
    except OSError:
        return 0
    return _waiting(layout, me, (state.st_ino, state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=1000)  # checked at every call of an operation, for each client of a daemon
def _waiting(layout: Layout, me: Identity, _state: tuple[int, int, int]) -> int:
    return _database(layout).use(lambda connection: len(messages.unheard(connection, me.id)))


def _database(layout: Layout) -> PersistentDatabase:
    return PersistentDatabase(
        layout.sessions_db, layout.lock("_sessions"), SCHEMA, "unheard messages are lost"
    )


def _use(layout: Layout, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` in a transaction, after removing sessions that have ended."""

    def whole(connection: sqlite3.Connection) -> T:
        connection.execute("PRAGMA synchronous = OFF")  # a session does not outlive a power cut
        with transaction(connection):
            _expire(connection)
            return work(connection)

    return _database(layout).use(whole)


def _expire(connection: sqlite3.Connection) -> None:
    """Forget sessions that have ended, and old messages."""
    for id_ in _ended(connection):
        connection.execute("DELETE FROM sessions WHERE id = ?", (id_,))
        connection.execute("DELETE FROM files WHERE session = ?", (id_,))
    messages.drop_old(connection)


def _ended(connection: sqlite3.Connection) -> list[str]:
    """The ids of sessions whose process has ended, or that were silent for too long."""
    now = time.time()
    rows = connection.execute("SELECT id, pid, born, seen FROM sessions").fetchall()
    return [
        id_
        for id_, pid, born, seen in rows
        if now - seen > SILENCE or not processes.lives(pid, born)
    ]


def _entered(connection: sqlite3.Connection, me: Identity) -> str:
    """The id of a session; registers a new one, which gets messages from now on."""
    now = time.time()
    connection.execute(
        "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, '', '', ?) "
        "ON CONFLICT (id) DO UPDATE SET seen = excluded.seen",
        (me.id, me.name, me.pid, me.born, now, now, messages.latest(connection)),
    )
    return me.id


def _all(connection: sqlite3.Connection) -> list[Session]:
    files: dict[str, list[str]] = {}
    for session, path in connection.execute("SELECT session, path FROM files ORDER BY path"):
        files.setdefault(session, []).append(path)
    sql = "SELECT id, name, since, seen, feature, doing FROM sessions ORDER BY since, id"
    return [
        Session(
            id=id_, name=name, since=since, seen=seen, feature=feature, doing=doing,
            files=tuple(files.get(id_, ())),
        )
        for id_, name, since, seen, feature, doing in connection.execute(sql)
    ]  # fmt: skip


def _named(sessions: list[Session], name: str) -> Session:
    """The session with an id or a unique name. Raises E_NOT_FOUND."""
    found = [one for one in sessions if one.id == name] or [
        one for one in sessions if one.name == name
    ]
    if len(found) != 1:
        known = ", ".join(f"{one.id} ({one.name})" for one in found or sessions)
        raise PrereadError(
            "E_NOT_FOUND",
            f"{name[:80]!a} does not name exactly one session. There are: {known}.",
            "`preread who` lists them.",
        )
    return found[0]
