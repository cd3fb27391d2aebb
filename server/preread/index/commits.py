"""The newest commits up to HEAD in the derived database: messages and changed files."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from preread.index import words
from preread.index.gitlog import BOT, FIELD, PLAIN, RECORD
from preread.infra import sqlite
from preread.project.read import data_at
from preread.project.tree import Tree

MAX_COMMITS = 3_000  # the newest, without merges
MAX_FILES = 30  # a commit that changed more says nothing about any one of them
MAX_TEXT = 600  # characters of a commit's body
MAX_NAMED = 400  # commits requested by id: for more, reading the whole log is faster
LAYOUT = "--format=%x1e%H%x1f%an%x1f%s%x1f%b%x1f"
LOG = (*PLAIN, "--name-status", "-M100%", LAYOUT)
TRAILER = re.compile(r"^[A-Z][\w-]+-by: .*$", re.MULTILINE)


class PastCommit(NamedTuple):
    """One commit up to HEAD: how many came after it, and the current names of its files."""

    place: int
    sha: str
    paths: tuple[str, ...]


class _Commit(NamedTuple):
    sha: str
    text: str
    changes: tuple[tuple[str, str], ...]  # (path, its old name or "")


def update(tree: Tree, connection: sqlite3.Connection) -> None:
    """Bring the stored commits in line with HEAD: read new ones, drop the others.

    What is stored depends on HEAD alone: other messages would change how rare a word is, and so the
    order of the files.
    """
    state, prefix, boundary = _state(tree)
    row = connection.execute("SELECT state FROM commit_history").fetchone()
    if row is not None and row[0] == state:
        return
    # A shallow clone's oldest commits seem to have added every file.
    shas = [sha for sha in _reachable(tree, prefix) if sha not in boundary] if state else []
    known = {sha for (sha,) in connection.execute("SELECT sha FROM commits")}
    missing = [sha for sha in shas if sha not in known]
    found = list(_read(tree, missing, prefix)) if missing else []
    if tree.failed:  # only a part of them may be known: read them again next time
        return
    try:
        with sqlite.transaction(connection):
            _delete(connection, known.difference(shas))
            _insert(connection, found)
            _place(connection, shas)
            connection.execute("DELETE FROM commit_history")
            connection.execute("INSERT INTO commit_history (state) VALUES (?)", (state,))
    except sqlite3.OperationalError as error:  # a read-only database: rank by the stored commits
        if error.sqlite_errorcode != sqlite3.SQLITE_READONLY:
            raise


def commits(connection: sqlite3.Connection) -> dict[int, PastCommit]:
    """The commits up to HEAD by row, newest first."""
    sql = "SELECT id, place, sha, paths FROM commits ORDER BY place"
    return {
        row: PastCommit(place, sha, tuple(paths.split("\n") if paths else ()))
        for row, place, sha, paths in connection.execute(sql)
    }


def _state(tree: Tree) -> tuple[str, str, frozenset[str]]:
    """A hash of what the history depends on, "" without history; the root's path in its
    repository; the commits whose parents a shallow clone lacks.
    """
    if not tree.is_git:
        return "", "", frozenset()
    done = tree.git("rev-parse", "HEAD", "--show-prefix", "--git-path", "shallow")
    if done.status != 0:
        return "", "", frozenset()
    _, prefix, shallow, *_ = done.out.decode("utf-8", "surrogateescape").split("\n")
    cut = data_at(str(tree.layout.root / shallow)) or b""
    state = hashlib.sha256(done.out + cut).hexdigest()
    return state, prefix, frozenset(cut.decode("ascii", "replace").split())


def _reachable(tree: Tree, prefix: str) -> list[str]:
    within = ("--", ".") if prefix else ()
    done = tree.git("rev-list", "--no-merges", f"-n{MAX_COMMITS}", "HEAD", *within, must=True)
    return done.out.decode().split() if done.status == 0 else []


def _read(tree: Tree, missing: list[str], prefix: str) -> Iterator[_Commit]:
    within = ("--", ".") if prefix else ()  # it leaves out commits that changed nothing
    if len(missing) <= MAX_NAMED:
        done = tree.git("log", "--no-walk=unsorted", *LOG, *missing, *within, must=True)
    else:
        done = tree.git("log", "--no-merges", f"-n{MAX_COMMITS}", *LOG, "HEAD", *within, must=True)
    requested = set(missing)
    for record in done.out.decode("utf-8", "replace").split(RECORD)[1:]:
        fields = record.split(FIELD)
        if len(fields) == 5 and fields[0] in requested:
            yield _commit(*fields)


def _commit(sha: str, author: str, subject: str, body: str, listed: str) -> _Commit:
    changes = []
    for line in listed.split("\n"):
        kind, *paths = line.split("\t")
        if paths:
            changes.append((paths[-1], paths[0] if kind.startswith("R") else ""))
    if len(changes) > MAX_FILES or BOT.search(author):
        return _Commit(sha, "", tuple(change for change in changes if change[1]))
    return _Commit(sha, f"{subject}\n{TRAILER.sub('', body)[:MAX_TEXT]}", tuple(changes))


def _delete(connection: sqlite3.Connection, shas: Iterable[str]) -> None:
    keys = [(sha,) for sha in shas]
    message = "DELETE FROM messages WHERE rowid = (SELECT id FROM commits WHERE sha = ?)"
    connection.executemany(message, keys)
    connection.executemany("DELETE FROM commits WHERE sha = ?", keys)


def _insert(connection: sqlite3.Connection, found: Iterable[_Commit]) -> None:
    for commit in found:
        cursor = connection.execute(
            "INSERT OR IGNORE INTO commits (sha, changes, place, paths) VALUES (?, ?, 0, '')",
            (commit.sha, json.dumps(commit.changes)),
        )
        if commit.text and cursor.rowcount:
            connection.execute(
                "INSERT INTO messages (rowid, text) VALUES (?, ?)",
                (cursor.lastrowid, words.bag(commit.text)),
            )


def _place(connection: sqlite3.Connection, shas: list[str]) -> None:
    """Number the commits from the newest, with their files' current names."""
    rows = {
        sha: (row, changes)
        for row, sha, changes in connection.execute("SELECT id, sha, changes FROM commits")
    }
    with_message = {row for (row,) in connection.execute("SELECT rowid FROM messages")}
    renamed: dict[str, str] = {}  # an old name → the current name
    placed = []
    for place, sha in enumerate(sha for sha in shas if sha in rows):
        row, changes = rows[sha]
        paths = []
        for path, old_name in json.loads(changes):
            today = renamed.get(path, path)
            if old_name:
                renamed[old_name] = today
            paths.append(today)
        placed.append((place, "\n".join(paths if row in with_message else []), row))
    connection.executemany("UPDATE commits SET place = ?, paths = ? WHERE id = ?", placed)
