"""The index of facts: every dossier's and the knowledge's, searchable; derived from the files at any time."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from typing import Literal

from pydantic import Field

from preread import dossier, published
from preread.infra import db
from preread.layout import BY_NAME
from preread.models import Checked, Draft, Model, State
from preread.services import Services

Judge = Callable[[Services, str, list[Draft]], Checked]
KNOWLEDGE = "knowledge.md"


class FoundFact(Model):
    """One fact that a search met."""

    id: str = Field(description="What `wrong` takes.")
    feature: str = Field(description="Its dossier; empty for the project's knowledge.")
    text: str
    sources: tuple[str, ...]
    kind: str
    section: str
    state: State | Literal["failed"] = Field(
        description="`failed`: its sources did not hold when it was last checked."
    )
    confidence: float
    path: str = Field(description="The file that holds it.")
    line: int


def index(services: Services, judge: Judge) -> None:
    """Bring the database in line with the files; only files whose bytes changed are read into it again.

    `judge` is the check, which computes states and confidence.
    """
    db.use(services.layout, lambda connection: _index(services, judge, connection))


def _files(services: Services) -> Iterator[tuple[str, str, str, str]]:
    """Feature, file name, path and text of every file that holds facts."""
    layout = services.layout
    for feature in published.features(layout):
        found = published.read(layout, feature)
        for name, text in (found.texts if found else {}).items():
            yield feature, name, f"{layout.relative(layout.dossier(feature))}/{name}", text
    knowledge = services.tree.read(layout.relative(layout.knowledge))
    if knowledge is not None:
        yield "", KNOWLEDGE, layout.relative(layout.knowledge), knowledge


def _index(services: Services, judge: Judge, connection: sqlite3.Connection) -> None:
    known = dict(connection.execute("SELECT path, digest FROM sources_of_facts"))
    changed: dict[str, list[tuple[str, str, str, str]]] = {}
    seen = set()
    for feature, name, path, text in _files(services):
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        seen.add(path)
        if known.get(path) != digest:
            changed.setdefault(feature, []).append((name, path, text, digest))
    for path in known.keys() - seen:
        with db.transaction(connection):
            _forget(connection, path)
    for feature, files in changed.items():
        drafts = [dossier.parse(name, feature, text)[0] for name, _, text, _ in files]
        checked = judge(services, feature, drafts)
        verdicts = {(v.file, v.fact.text): v for v in checked.verdicts}
        with db.transaction(connection):
            for draft, (name, path, _, digest) in zip(drafts, files, strict=True):
                _forget(connection, path)
                connection.execute(
                    "INSERT INTO sources_of_facts (path, digest) VALUES (?, ?)", (path, digest)
                )
                for _, section, fact in dossier.all_facts([draft]):
                    verdict = verdicts.get((name, fact.text))
                    state, sure = (
                        (verdict.state, verdict.confidence) if verdict else ("failed", 0.0)
                    )
                    kind = BY_NAME[name].kind if name in BY_NAME else "knowledge"
                    identity = dossier.fact_id(name, fact.text)
                    cursor = connection.execute(
                        "INSERT INTO facts (id, feature, path, line, kind, section, text, sources, state, confidence)"
                        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        (identity, feature, path, fact.line, kind, section.heading, fact.text,
                         json.dumps(fact.sources), state, sure),
                    )  # fmt: skip
                    words = (fact.text, section.heading, feature)
                    connection.execute(
                        "INSERT INTO fact_words (rowid, text, section, feature) VALUES (?, ?, ?, ?)",
                        (cursor.lastrowid, *words),
                    )


def _forget(connection: sqlite3.Connection, path: str) -> None:
    connection.execute(
        "DELETE FROM fact_words WHERE rowid IN (SELECT rowid FROM facts WHERE path = ?)", (path,)
    )
    connection.execute("DELETE FROM facts WHERE path = ?", (path,))
    connection.execute("DELETE FROM sources_of_facts WHERE path = ?", (path,))


def search(
    services: Services, query: str, *, feature: str | None = None, limit: int = 20
) -> list[FoundFact]:
    """The facts that hold a query's words, best first; an empty query lists them in the order of their files."""
    terms = re.findall(r"\w+", query)
    return db.use(services.layout, lambda connection: _search(connection, terms, feature, limit))


def _search(
    connection: sqlite3.Connection, terms: list[str], feature: str | None, limit: int
) -> list[FoundFact]:
    columns = "f.id, f.feature, f.text, f.sources, f.kind, f.section, f.state, f.confidence, f.path, f.line"
    only = "" if feature is None else " AND f.feature = :feature"
    if terms:
        sql = (
            f"SELECT {columns} FROM fact_words JOIN facts f ON f.rowid = fact_words.rowid "  # noqa: S608
            f"WHERE fact_words MATCH :match{only} ORDER BY bm25(fact_words, 2.0, 1.0, 1.0), f.path, f.line LIMIT :limit"
        )
    else:
        sql = f"SELECT {columns} FROM facts f WHERE 1{only} ORDER BY f.path, f.line LIMIT :limit"  # noqa: S608
    for join in (" ", " OR "):  # all words first; any of them when no fact holds all
        match = join.join(f'"{term}"' for term in terms)
        rows = connection.execute(
            sql, {"match": match, "feature": feature, "limit": limit}
        ).fetchall()
        if rows:
            break
    names = tuple(FoundFact.model_fields)
    return [
        FoundFact(**dict(zip(names, (*row[:3], tuple(json.loads(row[3])), *row[4:]), strict=True)))
        for row in rows
    ]
