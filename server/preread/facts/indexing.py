"""Keeps the fact index up to date with the files."""

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from preread.dossier import fact_text, markdown, published
from preread.infra import db, sqlite
from preread.infra.reading import names_in
from preread.layout import BY_NAME, Layout
from preread.models import Checked, Draft, Verdict
from preread.project.tree import TRUST_SECONDS, is_young
from preread.services import Services

if TYPE_CHECKING:
    from preread.infra import inotify

T = TypeVar("T")
Check = Callable[[Services, str, list[Draft]], Checked]
KNOWLEDGE = "knowledge.md"
BATCH = 20  # dossiers that are written in one transaction
FACT = "rowid, id, feature, path, line, kind, section, text, sources, state, confidence"
WORDS = "INSERT INTO fact_words (rowid, text, section, feature) VALUES (?, ?, ?, ?)"


class _File(NamedTuple):
    """A file with facts."""

    feature: str
    name: str
    path: str
    text: str
    unverified: tuple[str, ...] = ()  # of the dossier: states change without any change of a file

    @property
    def digest(self) -> str:
        whole = "\0".join((self.text, *self.unverified))
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def index(services: Services, check: Check) -> None:
    """Bring the index up to date with the files; unchanged files are not read again.

    `check` checks drafts, which computes their facts' states and confidence.
    """
    db.use(services.layout, partial(index_on, services, check))


def use_current(services: Services, check: Check, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` on the index, after bringing it up to date with the files.

    Both on one connection: if the database is damaged and replaced, `work` must not find an index
    without facts.
    """
    update = partial(index_on, services, check)
    if services.unchanged is not None:
        watched = partial(folders, services.layout)
        return services.unchanged.facts.use(services.layout, work, update, watched)

    def whole(connection: sqlite3.Connection) -> T:
        update(connection)
        return work(connection)

    return db.use(services.layout, whole)


def folders(layout: Layout) -> "inotify.Wanted":
    """The folders of the files with facts, each with the names in it that matter (None: all)."""
    own = {
        layout.root: {".project"},
        layout.project: {"context", "knowledge.md", ".state", ".cache"},
        layout.state: {"knowledge.md"},
        layout.cache: {"staging"},
        layout.staging: None,
        layout.context: None,
    }
    if layout.knowledge.is_symlink() or layout.personal_knowledge.is_symlink():
        return {}  # the targets of links may be anywhere
    found = {str(folder): names for folder, names in own.items() if folder.is_dir()}
    with suppress(FileNotFoundError), os.scandir(layout.context) as entries:
        found |= {one.path: None for one in entries if one.is_dir(follow_symlinks=False)}
    return found


class _Folder(NamedTuple):
    """A feature's dossier, or the project's knowledge, as it was read."""

    feature: str  # empty for the knowledge
    stamp: str  # changes with every write of its files; empty if unreliable
    ticket: str
    files: tuple[_File, ...]


def _stamp(folder: str, *, is_publishing: bool) -> str:
    """A stamp of a folder's files by size and time; empty if they may change unnoticed."""
    now, found = time.time_ns(), []
    recent = now - TRUST_SECONDS
    if is_publishing:
        return ""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                times = (info.st_mtime_ns, info.st_ctime_ns)  # unlike mtime, ctime cannot be set
                if max(times) > recent and any(is_young(at, now) for at in times):
                    return ""
                found.append(f"{entry.name}:{info.st_ino}:{info.st_size}:{times}")
    except OSError:
        return ""
    return "/".join(sorted(found))


def _folder(layout: Layout, feature: str, stamp: str) -> _Folder:
    found = published.read(layout, feature)
    path = layout.relative(layout.dossier(feature))
    texts = found.texts if found else {}
    manifest = found.manifest if found else None
    lost = manifest.unverified if manifest else ()
    files = (_File(feature, name, f"{path}/{name}", text, lost) for name, text in texts.items())
    return _Folder(feature, stamp, manifest.ticket if manifest else "", tuple(files))


def _knowledge(services: Services) -> Iterator[_File]:
    layout = services.layout
    for path in map(layout.relative, (layout.knowledge, layout.personal_knowledge)):
        text = services.tree.read(path)
        if text is not None:
            yield _File("", KNOWLEDGE, path, text)


class _Change(NamedTuple):
    """What to write for one folder."""

    folder: _Folder
    gone: list[str]
    files: list[tuple[_File, Draft]]
    verdicts: dict[tuple[str, int], Verdict]
    exists: bool = True  # False once the dossier was removed


def index_on(services: Services, check: Check, connection: sqlite3.Connection) -> None:
    """Like `index`, on an open database."""
    changes = _changes(services, check, connection)
    while batch := list(islice(changes, BATCH)):
        services.progress.check()
        with sqlite.transaction(connection):
            for change in batch:
                _write(connection, change)


def _changes(services: Services, check: Check, connection: sqlite3.Connection) -> Iterator[_Change]:
    """The changes of each folder that the index does not have yet."""
    known: dict[str, dict[str, str]] = {}  # feature -> path -> digest
    sql = "SELECT path, digest, feature FROM sources_of_facts"
    for path, digest, feature in connection.execute(sql):
        known.setdefault(feature, {})[path] = digest
    sql = "SELECT feature, stamp, ticket FROM fact_folders"
    folders = {feature: (stamp, ticket) for feature, *(stamp, ticket) in connection.execute(sql)}
    names = published.features(services.layout)
    for feature in folders.keys() - set(names):
        folder = _Folder(feature, "", "", ())
        yield _Change(folder, [*known.get(feature, {})], [], {}, exists=False)
    for folder in _changed_folders(services, names, folders):
        change = _checked(services, check, folder, known.get(folder.feature, {}))
        before = folders.get(folder.feature, ("", ""))
        if change.files or change.gone or (folder.stamp, folder.ticket) != before:
            yield change
    knowledge = _Folder("", "", "", tuple(_knowledge(services)))
    change = _checked(services, check, knowledge, known.get("", {}))
    if change.files or change.gone:
        yield change


def _changed_folders(
    services: Services, names: list[str], known: Mapping[str, tuple[str, str]]
) -> Iterator[_Folder]:
    """The dossiers whose stamp is not the one in the index, or that are being published."""
    layout = services.layout
    publishing = {name.split(".")[0] for name in names_in(layout.staging)}
    for feature in names:
        services.progress.check()
        stamp = _stamp(f"{layout.context}/{feature}", is_publishing=feature in publishing)
        if not stamp or stamp != known.get(feature, ("", ""))[0]:
            yield _folder(layout, feature, stamp)


def _checked(
    services: Services, check: Check, folder: _Folder, known: Mapping[str, str]
) -> _Change:
    """The changed files of a folder, checked; `known` are the digests in the index, by path."""
    feature = folder.feature
    changed = [file for file in folder.files if known.get(file.path) != file.digest]
    gone = known.keys() - {file.path for file in folder.files}
    drafts = [markdown.parse(file.name, feature, file.text)[0] for file in changed]
    checked = check(services, feature, drafts) if drafts else Checked(())
    verdicts = {(v.file, v.fact.line): v for v in checked.verdicts}
    return _Change(folder, sorted(gone), list(zip(changed, drafts, strict=True)), verdicts)


def _write(connection: sqlite3.Connection, change: _Change) -> None:
    feature, stamp, ticket, _ = change.folder
    for path in change.gone:
        _delete(connection, path)
    for file, draft in change.files:
        _insert(connection, file, draft, change.verdicts)
    if feature:
        connection.execute("DELETE FROM fact_folders WHERE feature = ?", (feature,))
    if feature and change.exists:
        row = (feature, stamp, ticket)
        connection.execute("INSERT INTO fact_folders VALUES (?, ?, ?)", row)


def _files(services: Services) -> Iterator[_File]:
    for feature in published.features(services.layout):
        yield from _folder(services.layout, feature, "").files
    yield from _knowledge(services)


def mismatched(services: Services) -> list[str]:
    """Files whose facts in the index are wrong; files that are not indexed yet do not count."""
    return db.use(services.layout, lambda connection: _mismatched(services, connection))


def _mismatched(services: Services, connection: sqlite3.Connection) -> list[str]:
    known = dict(connection.execute("SELECT path, digest FROM sources_of_facts"))
    select = (
        "SELECT f.id, f.line FROM facts f JOIN fact_words w ON w.rowid = f.rowid WHERE f.path = ?"
    )
    found = []
    for file in _files(services):
        if known.get(file.path) != file.digest:
            continue
        draft = markdown.parse(file.name, file.feature, file.text)[0]
        wanted = [(fact_text.fact_id(file.name, fact.text), fact.line) for fact in draft.facts]
        if sorted(connection.execute(select, (file.path,))) != sorted(wanted):
            found.append(file.path)
    return found


def forget(services: Services, path: str) -> None:
    """Remove a file from the index, so that it is read again."""

    def drop(connection: sqlite3.Connection) -> None:
        sql = """UPDATE fact_folders SET stamp = '' WHERE feature IN
            (SELECT feature FROM sources_of_facts WHERE path = ?)"""
        with sqlite.transaction(connection):
            connection.execute(sql, (path,))
            _delete(connection, path)

    db.use(services.layout, drop)


def _insert(
    connection: sqlite3.Connection,
    file: _File,
    draft: Draft,
    verdicts: dict[tuple[str, int], Verdict],
) -> None:
    """Replace the facts of a file."""
    _delete(connection, file.path)
    sql = "INSERT INTO sources_of_facts (path, digest, feature) VALUES (?, ?, ?)"
    connection.execute(sql, (file.path, file.digest, file.feature))
    kind = BY_NAME[file.name].kind if file.name in BY_NAME else "knowledge"
    [last] = connection.execute("SELECT coalesce(max(rowid), 0) FROM facts").fetchone()
    rows, words = [], []
    for row, (_, section, fact) in enumerate(markdown.all_facts([draft]), last + 1):
        verdict = verdicts.get((file.name, fact.line))
        place = (fact_text.fact_id(file.name, fact.text), file.feature, file.path, fact.line)
        content = (kind, section.heading, fact.text, json.dumps(fact.sources))
        state = (verdict.state, verdict.confidence) if verdict else ("failed", 0.0)
        rows.append((row, *place, *content, *state))
        words.append((row, fact.text, section.heading, file.feature))
    connection.executemany(f"INSERT INTO facts ({FACT}) VALUES ({', '.join('?' * 11)})", rows)  # noqa: S608
    connection.executemany(WORDS, words)


def _delete(connection: sqlite3.Connection, path: str) -> None:
    """Delete the facts of a file."""
    connection.execute(
        "DELETE FROM fact_words WHERE rowid IN (SELECT rowid FROM facts WHERE path = ?)", (path,)
    )
    connection.execute("DELETE FROM facts WHERE path = ?", (path,))
    connection.execute("DELETE FROM sources_of_facts WHERE path = ?", (path,))
