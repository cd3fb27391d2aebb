"""The fact index: full-text search of all dossiers, the project's knowledge and a person's own."""

import hashlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from pydantic import Field

from preread import dossier, published
from preread.errors import PrereadError
from preread.infra import db
from preread.infra.reading import names_in
from preread.layout import BY_NAME, Layout
from preread.models import Checked, Draft, Model, State, Verdict
from preread.project.tree import is_young
from preread.services import Services

if TYPE_CHECKING:
    from preread.infra import inotify

T = TypeVar("T")
Check = Callable[[Services, str, list[Draft]], Checked]
KNOWLEDGE = "knowledge.md"
MAX_QUERY, MAX_TERMS = 20_000, 64  # characters, different words
SEARCH_SECONDS = 10.0


class FoundFact(Model):
    """One fact that a search found."""

    id: str = Field(description="The fact's id, for `wrong`.")
    feature: str = Field(description="Its dossier; empty for the project's knowledge.")
    text: str
    sources: tuple[str, ...]
    kind: str
    section: str
    state: State | Literal["failed"] = Field(
        description="`failed`: its sources were invalid at the last check."
    )
    confidence: float
    path: str = Field(description="The file that contains it.")
    line: int


class _File(NamedTuple):
    """A file with facts."""

    feature: str
    name: str
    path: str
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def index(services: Services, check: Check) -> None:
    """Bring the index up to date with the files; unchanged files are not read again.

    `check` checks drafts, which computes their facts' states and confidence.
    """
    db.use(services.layout, lambda connection: _index(services, check, connection))


def current(services: Services, check: Check, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` on the index as the files are now."""
    if services.unchanged is None:
        index(services, check)
        return db.use(services.layout, work)
    return services.unchanged.facts.use(
        services.layout, work, partial(index, services, check), partial(folders, services.layout)
    )


def folders(layout: Layout) -> "inotify.Wanted":
    """The folders that have the files with facts, with the names in them that matter."""
    own = {
        layout.root: {".project"},
        layout.project: {"context", "knowledge.md", ".state", ".cache"},
        layout.state: {"knowledge.md"},
        layout.cache: {"staging"},
        layout.staging: None,
        layout.context: None,
    }
    if layout.knowledge.is_symlink() or layout.personal_knowledge.is_symlink():
        return {}  # what they are links to may be anywhere
    found = {str(folder): names for folder, names in own.items() if folder.is_dir()}
    with suppress(FileNotFoundError), os.scandir(layout.context) as entries:
        found |= {one.path: None for one in entries if one.is_dir(follow_symlinks=False)}
    return found


class _Folder(NamedTuple):
    """A feature's dossier as it was read."""

    feature: str  # empty for the knowledge
    stamp: str  # changes with every write of its files; empty if that is not sure
    ticket: str
    files: tuple[_File, ...]


def _stamp(folder: Path, *, is_publishing: bool) -> str:
    """What a folder's files are, by their sizes and times; empty if they may have changed since."""
    now, found = time.time_ns(), []
    if is_publishing:
        return ""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                times = (info.st_mtime_ns, info.st_ctime_ns)  # the second cannot be set
                if any(is_young(at, now) for at in times):
                    return ""
                found.append(f"{entry.name}:{info.st_ino}:{info.st_size}:{times}")
    except OSError:
        return ""
    return "/".join(sorted(found))


def _folder(layout: Layout, feature: str, stamp: str) -> _Folder:
    found = published.read(layout, feature)
    path = layout.relative(layout.dossier(feature))
    texts = found.texts if found else {}
    files = (_File(feature, name, f"{path}/{name}", text) for name, text in texts.items())
    ticket = found.manifest.ticket if found and found.manifest else ""
    return _Folder(feature, stamp, ticket, tuple(files))


def _knowledge(services: Services) -> Iterator[_File]:
    layout = services.layout
    for path in map(layout.relative, (layout.knowledge, layout.personal_knowledge)):
        text = services.tree.read(path)
        if text is not None:
            yield _File("", KNOWLEDGE, path, text)


def _index(services: Services, check: Check, connection: sqlite3.Connection) -> None:
    known: dict[str, dict[str, str]] = {}  # feature -> path -> digest
    for path, digest, feature in connection.execute(
        "SELECT path, digest, feature FROM sources_of_facts"
    ):
        known.setdefault(feature, {})[path] = digest
    sql = "SELECT feature, stamp, ticket FROM fact_folders"
    folders = {feature: (stamp, ticket) for feature, *(stamp, ticket) in connection.execute(sql)}
    layout = services.layout
    names = published.features(layout)
    publishing = {name.split(".")[0] for name in names_in(layout.staging)}
    for feature in folders.keys() - set(names):
        _replace(services, check, connection, _Folder(feature, "", "", ()), known.get(feature, {}))
    for feature in names:
        services.progress.check()
        stamp = _stamp(layout.dossier(feature), is_publishing=feature in publishing)
        if not stamp or stamp != folders.get(feature, ("", ""))[0]:
            folder = _folder(layout, feature, stamp)
            _replace(services, check, connection, folder, known.get(feature, {}))
            if (stamp, folder.ticket) != folders.get(feature):
                sql = (
                    "INSERT OR REPLACE INTO fact_folders (feature, stamp, ticket) VALUES (?, ?, ?)"
                )
                connection.execute(sql, (feature, stamp, folder.ticket))
    knowledge = _Folder("", "", "", tuple(_knowledge(services)))
    _replace(services, check, connection, knowledge, known.get("", {}))


def _replace(
    services: Services,
    check: Check,
    connection: sqlite3.Connection,
    folder: _Folder,
    known: Mapping[str, str],
) -> None:
    """Bring the facts of a folder's changed files up to date; `known` is what is stored."""
    feature = folder.feature
    changed = [file for file in folder.files if known.get(file.path) != file.digest]
    gone = known.keys() - {file.path for file in folder.files}
    if not (changed or gone or (feature and not folder.files)):
        return
    drafts = [dossier.parse(file.name, feature, file.text)[0] for file in changed]
    checked = check(services, feature, drafts) if drafts else Checked(())
    verdicts = {(v.file, v.fact.text): v for v in checked.verdicts}
    services.progress.check()
    with db.transaction(connection):
        for path in gone:
            _delete(connection, path)
        for draft, file in zip(drafts, changed, strict=True):
            _insert(connection, file, draft, verdicts)
        if not folder.files:
            connection.execute("DELETE FROM fact_folders WHERE feature = ?", (feature,))


def _files(services: Services) -> Iterator[_File]:
    for feature in published.features(services.layout):
        yield from _folder(services.layout, feature, "").files
    yield from _knowledge(services)


def mismatched(services: Services) -> list[str]:
    """The files whose facts the index does not have as they are; files it is behind on are none."""
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
        draft = dossier.parse(file.name, file.feature, file.text)[0]
        wanted = [(dossier.fact_id(file.name, fact.text), fact.line) for fact in draft.facts]
        if sorted(connection.execute(select, (file.path,))) != sorted(wanted):
            found.append(file.path)
    return found


def forget(services: Services, path: str) -> None:
    """Drop what is indexed of a file, so that it is indexed again."""

    def drop(connection: sqlite3.Connection) -> None:
        sql = """UPDATE fact_folders SET stamp = '' WHERE feature IN
            (SELECT feature FROM sources_of_facts WHERE path = ?)"""
        with db.transaction(connection):
            connection.execute(sql, (path,))
            _delete(connection, path)

    db.use(services.layout, drop)


def _insert(
    connection: sqlite3.Connection,
    file: _File,
    draft: Draft,
    verdicts: dict[tuple[str, str], Verdict],
) -> None:
    """Replace the facts of a file."""
    _delete(connection, file.path)
    sql = "INSERT INTO sources_of_facts (path, digest, feature) VALUES (?, ?, ?)"
    connection.execute(sql, (file.path, file.digest, file.feature))
    kind = BY_NAME[file.name].kind if file.name in BY_NAME else "knowledge"
    for _, section, fact in dossier.all_facts([draft]):
        verdict = verdicts.get((file.name, fact.text))
        row = {
            "id": dossier.fact_id(file.name, fact.text),
            "feature": file.feature,
            "path": file.path,
            "line": fact.line,
            "kind": kind,
            "section": section.heading,
            "text": fact.text,
            "sources": json.dumps(fact.sources),
            "state": verdict.state if verdict else "failed",
            "confidence": verdict.confidence if verdict else 0.0,
        }
        names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
        sql = f"INSERT INTO facts ({names}) VALUES ({values})"  # noqa: S608 - names from here
        cursor = connection.execute(sql, row)
        sql = "INSERT INTO fact_words (rowid, text, section, feature) VALUES (?, ?, ?, ?)"
        words = (fact.text, section.heading, file.feature)
        connection.execute(sql, (cursor.lastrowid, *words))


def _delete(connection: sqlite3.Connection, path: str) -> None:
    """Delete the facts of a file."""
    connection.execute(
        "DELETE FROM fact_words WHERE rowid IN (SELECT rowid FROM facts WHERE path = ?)", (path,)
    )
    connection.execute("DELETE FROM facts WHERE path = ?", (path,))
    connection.execute("DELETE FROM sources_of_facts WHERE path = ?", (path,))


class Wanted(NamedTuple):
    """Which facts a search may find."""

    feature: str | None = None  # empty: only the project's knowledge
    kind: str | None = None
    confidence: float = 0.0  # at least

    @property
    def condition(self) -> str:
        """As SQL, on the table `f`, with this tuple's values by name."""
        parts = [
            "f.feature = :feature" if self.feature is not None else "",
            "f.kind = :kind" if self.kind is not None else "",
            "f.confidence >= :confidence" if self.confidence else "",
        ]
        return " AND ".join(filter(None, parts)) or "1"


def search(
    services: Services,
    query: str,
    wanted: Wanted,
    limit: int = 20,
    check: Check | None = None,
) -> list[FoundFact]:
    """The facts that contain a query's words, best first; an empty query lists them by file.

    With `check`, the index is brought up to date first. Only the first MAX_TERMS different words
    count. Raises E_TIMEOUT after SEARCH_SECONDS.
    """
    words = dict.fromkeys(match[0].casefold() for match in re.finditer(r"\w+", query[:MAX_QUERY]))
    terms = list(words)[:MAX_TERMS]
    until = time.monotonic() + SEARCH_SECONDS

    def has_time() -> None:
        services.progress.check()
        if time.monotonic() > until:
            raise PrereadError("E_TIMEOUT", "The search took too long.", "Use fewer, rarer words.")

    def work(connection: sqlite3.Connection) -> list[FoundFact]:
        with db.stoppable(connection, has_time):
            return find(connection, terms, wanted, limit)

    return current(services, check, work) if check else db.use(services.layout, work)


COLUMNS = ", ".join(f"f.{name}" for name in FoundFact.model_fields)


def find(
    connection: sqlite3.Connection, terms: list[str], wanted: Wanted, limit: int
) -> list[FoundFact]:
    """Like `search`, on an open index."""
    if not terms:
        sql = f"SELECT {COLUMNS} FROM facts f WHERE {wanted.condition} ORDER BY f.path, f.line"  # noqa: S608
        return _rows(connection, sql, wanted, limit, "")
    inner = "SELECT rowid, rank FROM fact_words WHERE fact_words MATCH :match"
    if wanted.condition != "1":  # FTS5 stops early only without another table's conditions
        inner = f"""SELECT w.rowid AS rowid, w.rank AS rank FROM fact_words w JOIN facts f
            ON f.rowid = w.rowid WHERE fact_words MATCH :match AND {wanted.condition}"""  # noqa: S608
    sql = f"""SELECT {COLUMNS} FROM ({inner} ORDER BY rank LIMIT :limit) AS w
        JOIN facts f ON f.rowid = w.rowid ORDER BY w.rank, f.path, f.line"""  # noqa: S608
    for join in (" ", " OR "):  # if no fact contains all words, any of them
        found = _rows(connection, sql, wanted, limit, join.join(f'"{term}"' for term in terms))
        if found:
            break
    return found


def _rows(
    connection: sqlite3.Connection, sql: str, wanted: Wanted, limit: int, match: str
) -> list[FoundFact]:
    values = wanted._asdict() | {"match": match, "limit": limit}
    names = tuple(FoundFact.model_fields)
    rows = connection.execute(f"{sql} LIMIT :limit", values).fetchall()
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return [FoundFact(**fact | {"sources": json.loads(fact["sources"])}) for fact in found]
