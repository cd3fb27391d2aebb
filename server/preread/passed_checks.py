"""Checks that passed, each with a signature: they pass again while it is the same.

Also, for each dossier, the signature of the project from which its facts were computed. Both are in
the derived database.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from preread import signatures
from preread.dossier import published
from preread.errors import PrereadError, Unreadable
from preread.infra import db, sqlite
from preread.services import Services


class Check(NamedTuple):
    """A slow check. If it passed, it does so again while `signature` is the same; empty: unknown.

    It yields its problems, and passes if there are none.
    """

    signature: str
    run: Callable[[], Iterator[str]]


def run_unless_passed(services: Services, checks: dict[str, Check]) -> Iterator[str]:
    """Run the checks that did not pass before with the same signature; yields what they find."""
    if not checks:
        return
    passed: dict[str, str] = {}
    with suppress(PrereadError):  # a database that cannot be used only costs time
        passed = db.use(services.layout, lambda connection: _passed(connection, checks))
    remaining = {
        key: check
        for key, check in checks.items()
        if not check.signature or passed.get(key) != check.signature
    }
    for check in remaining.values():
        yield from check.run()
    rows = [(key, check.signature) for key, check in remaining.items() if check.signature]
    if rows:
        _note(services, rows)


def _note(services: Services, rows: list[tuple[str, str]]) -> None:
    with suppress(PrereadError):
        db.use(services.layout, lambda connection: _save_passed(connection, rows))


def _passed(connection: sqlite3.Connection, keys: Iterable[str]) -> dict[str, str]:
    select = "SELECT key, signature FROM passed_checks WHERE key = ?"
    return dict(row for key in keys for row in connection.execute(select, (key,)))


def _save_passed(connection: sqlite3.Connection, rows: list[tuple[str, str]]) -> None:
    with sqlite.transaction(connection):
        connection.executemany("INSERT OR REPLACE INTO passed_checks VALUES (?, ?)", rows)


def files_unchanged(services: Services, feature: str) -> bool:
    """Whether no file of the project has changed since the dossier's facts were computed.

    The rules that compute facts count, search and rank all files, so any file may matter.
    """
    return bool(with_unchanged_files(services, [feature]))


def with_unchanged_files(
    services: Services, features: list[str], signature: str | None = None
) -> set[str]:
    """The features for which `files_unchanged` is true; checks the files only once.

    `signature` is the project's, if it is known.
    """
    try:
        signature = signatures.of_project(services.tree) if signature is None else signature
    except Unreadable:  # nothing better can be computed now
        return {*features}
    passed: dict[str, str] = {}
    keys = [_computed_key(feature) for feature in features]
    with suppress(PrereadError):  # a database that cannot be used only costs time
        passed = db.use(services.layout, lambda connection: _passed(connection, keys))
    return {one for one in features if signature and passed.get(_computed_key(one)) == signature}


def note_computed(services: Services, feature: str, signature: str) -> None:
    """Record that the dossier's facts were computed when the project had this signature."""
    if signature:
        _note(services, [(_computed_key(feature), signature)])


def commits_key(feature: str) -> str:
    """The key of the check that all commits that a dossier cites exist."""
    return f"commits of {feature}"


def _computed_key(feature: str) -> str:
    return f"computed {feature}"


def forget_all_but(services: Services, features: list[str]) -> int:
    """Drop cached checks of all other dossiers; returns how many."""
    layout = services.layout
    if not db.place(layout).db.exists():
        return 0
    keys: set[str] = {_computed_key(feature) for feature in features}
    keys |= {commits_key(feature) for feature in features}
    for feature in features:
        found = published.read(layout, feature)
        keys |= set(found.manifest.spans) if found and found.manifest else set()
    return db.use(layout, lambda connection: _forget_all_but(connection, keys, {*features}))


def _forget_all_but(connection: sqlite3.Connection, keys: set[str], features: set[str]) -> int:
    known = {key for (key,) in connection.execute("SELECT key FROM passed_checks")}
    versions = {name for (name,) in connection.execute("SELECT DISTINCT feature FROM versions")}
    with sqlite.transaction(connection):
        delete = "DELETE FROM passed_checks WHERE key = ?"
        connection.executemany(delete, [(key,) for key in known - keys])
        delete = "DELETE FROM versions WHERE feature = ?"
        connection.executemany(delete, [(name,) for name in versions - features])
        checked = {name for (name,) in connection.execute("SELECT feature FROM cached_checks")}
        delete = "DELETE FROM cached_checks WHERE feature = ?"
        connection.executemany(delete, [(name,) for name in checked - features])
    return len(known - keys)
