"""The fact index: full-text search of all dossiers, the project's knowledge and a person's own."""

import hashlib
import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from pydantic import Field

from preread import dossier, published
from preread.errors import PrereadError
from preread.infra import db
from preread.layout import BY_NAME
from preread.models import Checked, Draft, Model, State, Verdict
from preread.services import Services

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


def _files(services: Services) -> Iterator[_File]:
    layout = services.layout
    for feature in published.features(layout):
        found = published.read(layout, feature)
        for name, text in (found.texts if found else {}).items():
            path = f"{layout.relative(layout.dossier(feature))}/{name}"
            yield _File(feature, name, path, text)
    for path in map(layout.relative, (layout.knowledge, layout.personal_knowledge)):
        knowledge = services.tree.read(path)
        if knowledge is not None:
            yield _File("", KNOWLEDGE, path, knowledge)


def _index(services: Services, check: Check, connection: sqlite3.Connection) -> None:
    known = dict(connection.execute("SELECT path, digest FROM sources_of_facts"))
    changed: dict[str, list[_File]] = {}
    seen = set()
    for file in _files(services):
        seen.add(file.path)
        if known.get(file.path) != file.digest:
            changed.setdefault(file.feature, []).append(file)
    for path in known.keys() - seen:
        with db.transaction(connection):
            _delete(connection, path)
    for feature, files in changed.items():
        services.progress.check()
        drafts = [dossier.parse(file.name, feature, file.text)[0] for file in files]
        checked = check(services, feature, drafts)
        verdicts = {(v.file, v.fact.text): v for v in checked.verdicts}
        with db.transaction(connection):
            for draft, file in zip(drafts, files, strict=True):
                _insert(connection, file, draft, verdicts)


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
        with db.transaction(connection):
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
    sql = "INSERT INTO sources_of_facts (path, digest) VALUES (?, ?)"
    connection.execute(sql, (file.path, file.digest))
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


def search(
    services: Services, query: str, *, feature: str | None = None, limit: int = 20
) -> list[FoundFact]:
    """The facts that contain a query's words, best first; an empty query lists them by file.

    Only the first MAX_TERMS different words count. Raises E_TIMEOUT after SEARCH_SECONDS.
    """
    words = dict.fromkeys(match[0].casefold() for match in re.finditer(r"\w+", query[:MAX_QUERY]))
    terms = list(words)[:MAX_TERMS]
    until = time.monotonic() + SEARCH_SECONDS

    def check() -> None:
        services.progress.check()
        if time.monotonic() > until:
            raise PrereadError("E_TIMEOUT", "The search took too long.", "Use fewer, rarer words.")

    def work(connection: sqlite3.Connection) -> list[FoundFact]:
        with db.stoppable(connection, check):
            return _search(connection, terms, feature, limit)

    return db.use(services.layout, work)


def _search(
    connection: sqlite3.Connection, terms: list[str], feature: str | None, limit: int
) -> list[FoundFact]:
    names = tuple(FoundFact.model_fields)
    columns = ", ".join(f"f.{name}" for name in names)
    only = "" if feature is None else " AND f.feature = :feature"
    if terms:
        sql = f"""SELECT {columns} FROM fact_words JOIN facts f ON f.rowid = fact_words.rowid
            WHERE fact_words MATCH :match{only}
            ORDER BY bm25(fact_words, 2.0, 1.0, 1.0), f.path, f.line LIMIT :limit"""  # noqa: S608
    else:
        sql = f"""SELECT {columns} FROM facts f WHERE 1{only}
            ORDER BY f.path, f.line LIMIT :limit"""  # noqa: S608
    for join in (" ", " OR "):  # if no fact contains all words, any of them
        match = join.join(f'"{term}"' for term in terms)
        values = {"match": match, "feature": feature, "limit": limit}
        rows = connection.execute(sql, values).fetchall()
        if rows:
            break
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return [FoundFact(**fact | {"sources": json.loads(fact["sources"])}) for fact in found]
