"""Searches the fact index."""

import json
import re
import sqlite3
import time
from typing import Literal, NamedTuple

from pydantic import Field

from preread.errors import PrereadError
from preread.facts.indexing import Check, use_current
from preread.infra import db, sqlite
from preread.models import Model, State
from preread.services import Services

MAX_QUERY, MAX_TERMS = 20_000, 64  # characters, different words
SEARCH_SECONDS = 10.0


class FoundFact(Model):
    """A search result."""

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


class Wanted(NamedTuple):
    """Which facts a search may find."""

    feature: str | None = None  # empty: only the project's knowledge
    kind: str | None = None
    confidence: float = 0.0  # minimum

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

    def check_time() -> None:
        services.progress.check()
        if time.monotonic() > until:
            raise PrereadError("E_TIMEOUT", "The search took too long.", "Use fewer, rarer words.")

    def work(connection: sqlite3.Connection) -> list[FoundFact]:
        with sqlite.stoppable(connection, check_time):
            return find(connection, terms, wanted, limit)

    return use_current(services, check, work) if check else db.use(services.layout, work)


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
