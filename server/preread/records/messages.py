"""The table of messages between sessions: what is sent, read and dropped in one transaction."""

import sqlite3
import time

from pydantic import Field

from preread.models import Model

MAX_KEPT = 2000
MAX_READ = 200  # at once
SCHEMA = """
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, sender TEXT NOT NULL,
    name TEXT NOT NULL, recipient TEXT NOT NULL, text TEXT NOT NULL
);
"""


class Message(Model):
    """A message to one session, or to all."""

    id: int
    at: float
    sender: str = Field(description="A session's id.")
    name: str = Field(description="The sender's name.")
    to: str = Field("", description="The recipient's id; empty for everybody.")
    text: str


def send(
    connection: sqlite3.Connection, sender: str, name: str, recipient: str, text: str
) -> Message:
    """Add a message; an empty recipient is everybody."""
    at = time.time()
    sql = "INSERT INTO messages (at, sender, name, recipient, text) VALUES (?, ?, ?, ?, ?)"
    id_ = connection.execute(sql, (at, sender, name, recipient, text)).lastrowid or 0
    return Message(id=id_, at=at, sender=sender, name=name, to=recipient, text=text)


def after(connection: sqlite3.Connection, seen: int) -> list[Message]:
    """The messages after number `seen`, for any recipient; at most MAX_READ."""
    sql = """SELECT id, at, sender, name, recipient, text FROM messages
        WHERE id > ? ORDER BY id LIMIT ?"""
    return _read(connection.execute(sql, (seen, MAX_READ)))


def unheard(connection: sqlite3.Connection, me: str) -> list[Message]:
    """The messages of others that a session has not read, oldest first."""
    sql = """SELECT m.id, m.at, m.sender, m.name, m.recipient, m.text
        FROM messages m JOIN sessions s ON s.id = ?
        WHERE m.id > s.heard AND m.sender != s.id AND m.recipient IN ('', s.id) ORDER BY m.id"""
    return _read(connection.execute(sql, (me,)))


def _read(rows: sqlite3.Cursor) -> list[Message]:
    return [
        Message(id=id_, at=at, sender=sender, name=name, to=to, text=text)
        for id_, at, sender, name, to, text in rows
    ]


def latest(connection: sqlite3.Connection) -> int:
    """The number of the latest message; 0 if there is none."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM messages").fetchone()[0])


def drop_old(connection: sqlite3.Connection) -> None:
    """Keep only the latest MAX_KEPT messages."""
    sql = "DELETE FROM messages WHERE id <= (SELECT max(id) FROM messages) - ?"
    connection.execute(sql, (MAX_KEPT,))
