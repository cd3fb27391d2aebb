"""Earlier generations of a dossier in the database, by the state of the project they were built in.

A switch to another branch and back publishes the same bytes again, without a build. A generation is
only found while the published one belongs to the same chain, in which each was made from the one
before by a refresh. Any other publish, and every edit by a person, begins another chain.

The state of the project is that of the files that the index knows. What a dossier cites outside of
them, as in a submodule, is compared with it.
"""

import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from preread import inputs
from preread.dossier import build_records, published, sources
from preread.dossier.build_records import BuildRecord
from preread.dossier.published import Published
from preread.errors import PrereadError, Unreadable
from preread.gates.spans import MAX_CITED
from preread.index import indexer
from preread.index.reader import digest_of
from preread.infra import db, sqlite
from preread.infra.reading import plain_bytes
from preread.models import Manifest, Request
from preread.project import git
from preread.services import Services

KEPT = 12  # generations of each dossier
_UNREAD = digest_of("")  # the index's digest for files whose text it does not read
MAX_HASHED = 500  # files that the index does not read, like images; beyond that, times count


class State(NamedTuple):
    """The state of a project, as far as a dossier depends on it."""

    digest: str
    marks: tuple[object, ...]  # they change when a file or HEAD does

    def is_still(self, services: Services) -> bool:
        """Whether the state is known and still current."""
        return bool(self.digest) and self.marks == _marks(services)


class Version(NamedTuple):
    """An earlier generation, and its run record."""

    manifest: Manifest
    texts: dict[str, str]
    run: BuildRecord | None


def state(services: Services, request: Request) -> State:
    """The state of the project now. Brings the index up to date.

    Its digest is empty where something cannot be read.
    """
    marks = _marks(services)
    layout = services.layout
    parts = indexer.use(services, lambda connection: list(_contents(services, connection)))
    parts.append(json.dumps(inputs.digests(services, request), sort_keys=True))
    parts += [published.digest(plain_bytes(path) or b"") for path in (layout.wrong, layout.results)]
    if services.tree.troubles:
        return State("", marks)
    whole = "\0".join(parts).encode("utf-8", "surrogateescape")
    return State(hashlib.sha256(whole).hexdigest(), marks)


def _marks(services: Services) -> tuple[object, ...]:
    tree = services.tree
    marks: list[tuple[int, ...]] = []
    for path in (*tree.files, *tree.in_submodules):
        with suppress(OSError):
            info = os.lstat(f"{tree.root}/{path}")
            marks.append((info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns))
    return (*marks, git.head(tree.root))


def _contents(services: Services, connection: sqlite3.Connection) -> Iterator[str]:
    """What identifies the contents of the files, and the history."""
    yield from (past for (past,) in connection.execute("SELECT state FROM commit_history"))
    rows = connection.execute("SELECT path, digest, treatment, role, size FROM files ORDER BY path")
    files, hashed = services.tree.files, 0
    for path, digest, treatment, role, size in rows:
        info = files.get(path)
        if info is None:  # another process has updated the index since
            continue
        yield f"{path} {digest} {treatment} {role} {size}"
        if digest != _UNREAD:
            continue
        hashed += 1
        data = services.tree.data(path) if hashed <= MAX_HASHED else None
        yield str(info.st_mtime_ns) if data is None else published.digest(data)


def find(services: Services, found: Published, now: State) -> Version | None:
    """The generation published in this state for the same request and settings."""
    manifest = found.manifest
    if manifest is None or found.edited or not now.digest:
        return None
    key = (manifest.feature, now.digest, _asked(manifest))

    def work(connection: sqlite3.Connection) -> Version | None:
        select = "SELECT outside, body FROM versions WHERE feature = ? AND state = ? AND asked = ?"
        rows = connection.execute(f"{select} ORDER BY rowid DESC", key).fetchall()
        if not _is_kept(connection, manifest):
            return None
        same = [(known, body) for known, body in rows if _is_outside(services, json.loads(known))]
        # The longest text is of the one that depends on the most.
        return _unpacked(max(same, key=lambda row: len(row[0]))[1]) if same else None

    with suppress(PrereadError):  # a database that cannot be used only costs a build
        return db.use(services.layout, work)
    return None


def keep(services: Services, feature: str, before: Published | None, then: State) -> None:
    """Store the published dossier, made in the state `then` from the dossier `before`.

    If there was none before, or a person had edited it, the earlier generations are forgotten.
    """
    found = published.read(services.layout, feature)
    if found is None or found.manifest is None:
        return
    manifest = found.manifest
    is_known = manifest.status != "degraded" and not found.edited and then.is_still(services)
    run = build_records.read(services.layout, feature)
    old = None if before is None or before.edited else before.manifest
    # Without a state it can never be found, but the chain continues.
    key = (feature, then.digest if is_known else "", _asked(manifest), _digest(manifest))
    outside = _outside(services, manifest, before and before.manifest) if is_known else {}
    row = (*key, json.dumps(outside, sort_keys=True), _packed(manifest, found.texts, run))

    def work(connection: sqlite3.Connection) -> None:
        with sqlite.transaction(connection):
            if old is None or not _is_kept(connection, old):
                connection.execute("DELETE FROM versions WHERE feature = ?", (feature,))
            connection.execute(_DROP_EQUAL, key)
            connection.execute("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)", row)
            connection.execute(_DROP_OLDEST, (feature, feature, KEPT))

    with suppress(PrereadError):
        db.use(services.layout, work)


def keep_copy(services: Services, feature: str) -> None:
    """Store the published dossier outside of the chain, so that lost files can be restored."""
    found = published.read(services.layout, feature)
    if found is None or found.manifest is None:
        return
    key = (feature, "", _asked(found.manifest), "")
    row = (*key, "{}", _packed(found.manifest, found.texts, None))

    def work(connection: sqlite3.Connection) -> None:
        with sqlite.transaction(connection):
            connection.execute(_DROP_EQUAL, key)
            connection.execute("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)", row)
            connection.execute(_DROP_OLDEST, (feature, feature, KEPT))

    with suppress(PrereadError):
        db.use(services.layout, work)


def _outside(services: Services, *manifests: Manifest | None) -> dict[str, str]:
    """The files that these cite outside of those that the index knows, with their digests."""
    cited = (ref for one in manifests if one for ref in map(sources.parse, one.spans) if ref)
    paths = {ref.path for ref in cited if ref.path and ref.kind != "absent"}
    return _digests(services, paths - services.tree.files.keys())


def _is_outside(services: Services, known: dict[str, str]) -> bool:
    return _digests(services, known) == known


def _digests(services: Services, paths: Iterable[str]) -> dict[str, str]:
    """Path -> digest; empty for a file that is not there."""
    found = {}
    for path in paths:
        with suppress(Unreadable):  # then it does not count, neither as it was nor as gone
            data = services.tree.required(path, MAX_CITED)
            found[path] = "" if data is None else published.digest(data)
    return found


def stored(services: Services, feature: str) -> list[Published]:
    """The stored generations, latest first."""
    select = "SELECT body FROM versions WHERE feature = ? ORDER BY rowid DESC"

    def work(connection: sqlite3.Connection) -> list[Published]:
        found = [_unpacked(body) for (body,) in connection.execute(select, (feature,))]
        return [Published(one.manifest, one.texts, ()) for one in found]

    with suppress(PrereadError):
        return db.use(services.layout, work)
    return []


def forget(services: Services, features: Iterable[str]) -> None:
    """Forget the generations of these dossiers."""
    names = [(name,) for name in features]
    delete = "DELETE FROM versions WHERE feature = ?"
    with suppress(PrereadError):
        db.use(services.layout, lambda connection: connection.executemany(delete, names))


_DROP_EQUAL = """DELETE FROM versions
WHERE feature = ? AND state = ? AND asked = ? AND (manifest = ? OR state = '')"""
_DROP_OLDEST = """DELETE FROM versions WHERE feature = ? AND rowid NOT IN
(SELECT rowid FROM versions WHERE feature = ? ORDER BY rowid DESC LIMIT ?)"""


def _is_kept(connection: sqlite3.Connection, manifest: Manifest) -> bool:
    select = "SELECT 1 FROM versions WHERE feature = ? AND manifest = ?"
    return connection.execute(select, (manifest.feature, _digest(manifest))).fetchone() is not None


def _digest(manifest: Manifest) -> str:
    return published.digest(published.manifest_bytes(manifest))


def _asked(manifest: Manifest) -> str:
    """A digest of the dossier's request."""
    parts = (manifest.ticket, manifest.description, manifest.scope, manifest.level)
    return published.digest(json.dumps((*parts, manifest.recipe)).encode())


def _packed(manifest: Manifest, texts: dict[str, str], run: BuildRecord | None) -> bytes:
    body = {
        "manifest": manifest.model_dump(mode="json"),
        "texts": texts,
        "run": run and run.model_dump(mode="json"),
    }
    return zlib.compress(json.dumps(body).encode())


def _unpacked(data: bytes) -> Version:
    body = json.loads(zlib.decompress(data))
    run = body["run"] and BuildRecord.model_validate(body["run"])
    return Version(Manifest.model_validate(body["manifest"]), body["texts"], run)
