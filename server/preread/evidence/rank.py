"""Ranking: which sources, tests and documents a request is about, best first, each with its reasons."""

import math
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from preread.evidence import words
from preread.evidence.packed import unpack
from preread.models import Request
from preread.syntax import Outline

WEIGHTS = (4.0, 3.0, 1.0)  # path, definitions, body
# How much each part of the request says about where to look.
PARTS = {"feature": 1.0, "description": 0.5, "ticket": 0.25}
LISTED = 400  # candidates looked at per part of the request
ROLES = {"files": ("source",), "tests": ("test",), "helpers": ("support",), "docs": ("doc",)}
MOST_WORDS = 24


class Hit(NamedTuple):
    """One ranked file: its score relative to the best of its list, why, and its outline."""

    path: str
    role: str
    score: float
    reasons: tuple[str, ...]
    outline: Outline


class Query(NamedTuple):
    """The words of a request, by the part they come from."""

    feature: tuple[str, ...]
    description: tuple[str, ...] = ()
    ticket: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()  # the feature's name as one identifier

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.feature, *self.whole, *self.description, *self.ticket)))


def query_of(request: Request, ticket_text: str) -> Query:
    """What to search for: the feature's words, then the description's and the ticket's that are not among them."""
    feature = words.of_feature(request.feature)
    description = tuple(w for w in words.of_sentence(request.description) if w not in feature)
    seen = {*feature, *description}
    ticket = tuple(w for w in words.of_sentence(ticket_text) if w not in seen)
    return Query(feature, description[:MOST_WORDS], ticket[:MOST_WORDS], words.compounds(request.feature))


def _match(terms: Sequence[str]) -> str:
    return " OR ".join('"' + term.replace('"', "") + '"' for term in terms)


def _scores(connection: sqlite3.Connection, terms: Sequence[str], roles: Sequence[str]) -> dict[str, float]:
    """BM25 over path, definitions and body, relative to the best file; higher is better."""
    if not terms:
        return {}
    marks = ", ".join("?" * len(roles))
    rows = connection.execute(
        f"SELECT f.path, bm25(words, ?, ?, ?) AS score FROM words JOIN files f ON f.id = words.rowid "  # noqa: S608
        f"WHERE words MATCH ? AND f.role IN ({marks}) ORDER BY score, f.path LIMIT ?",
        (*WEIGHTS, _match(terms), *roles, LISTED),
    ).fetchall()
    best = -rows[0][1] if rows else 0.0
    return {path: -score / best for path, score in rows} if best > 0 else {}


def rank(connection: sqlite3.Connection, query: Query, kind: str, limit: int) -> list[Hit]:
    """The best files of one kind (a key of ROLES), at most `limit`, those far below the best left out."""
    roles = ROLES[kind]
    total: dict[str, float] = {}
    for part, weight in PARTS.items():
        terms = getattr(query, part) + (query.whole if part == "feature" else ())
        for path, score in _scores(connection, terms, roles).items():
            total[path] = total.get(path, 0.0) + weight * score
    for path in total:
        total[path] *= _path_bonus(path, query)
    likely = sorted(total, key=lambda path: (-total[path], path))[: 4 * limit]
    rows = {path: _row(connection, path) for path in likely}
    for path, (_, outline) in rows.items():
        total[path] *= _definition_bonus(outline, query)
    ordered = sorted(((path, total[path]) for path in likely), key=lambda item: (-item[1], item[0]))[:limit]
    best = ordered[0][1] if ordered else 1.0
    hits = []
    for path, score in ordered:
        role, outline = rows[path]
        hits.append(Hit(path, role, round(score / best, 3), _reasons(connection, path, outline, query), outline))
    return hits


def _row(connection: sqlite3.Connection, path: str) -> tuple[str, Outline]:
    role, packed = connection.execute("SELECT role, outline FROM files WHERE path = ?", (path,)).fetchone()
    return role, unpack(Outline, packed)


def _definition_bonus(outline: Outline, query: Query) -> float:
    """More for a file that defines what the feature is called, and a little for a name that holds it."""
    wanted = frozenset(words.stem(w) for w in query.feature)
    bonus = 1.0
    for symbol in outline.symbols:
        held = words.stems(symbol.name) if symbol.kind != "heading" else frozenset()
        if held == wanted:
            return 1.5
        if wanted <= held:
            bonus = 1.2
    return bonus


def _path_bonus(path: str, query: Query) -> float:
    """More for a path that holds the feature's whole name, and more still for a file named so."""
    wanted = frozenset(words.stem(w) for w in query.feature)
    stem = path.rsplit("/", 1)[-1].split(".", 1)[0]
    in_name, in_path = wanted <= words.stems(stem), wanted <= words.stems(path)
    extra = len(words.stems(stem) - wanted - {"test", "spec", "index", "page", "main", "init"})
    return 1.0 + (0.6 / math.sqrt(1 + extra) if in_name else 0.25 if in_path else 0.0)


def _reasons(connection: sqlite3.Connection, path: str, outline: Outline, query: Query) -> tuple[str, ...]:
    """Why a file was chosen, strongest first, in words a person reads."""
    wanted = {words.stem(w): w for w in (*query.feature, *query.description)}
    in_path = [w for s, w in wanted.items() if s in words.stems(path)]
    names = [s.name for s in outline.symbols if s.kind != "heading"] + [t.name for t in outline.tests]
    defined = [n for n in dict.fromkeys(names) if words.stems(n) & wanted.keys()]
    defined.sort(key=lambda n: -len(words.stems(n) & {words.stem(w) for w in query.feature}))
    reasons = []
    if in_path:
        reasons.append(f"its path holds {_listed(in_path)}")
    if defined:
        reasons.append(f"it defines {_listed(defined)}")
    rest = [w for w in query.all if w not in in_path]
    held = [w for w in rest if _holds(connection, path, w)]
    if held:
        reasons.append(f"it mentions {_listed(held)}")
    return tuple(reasons)


def _listed(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _holds(connection: sqlite3.Connection, path: str, word: str) -> bool:
    sql = "SELECT 1 FROM words JOIN files f ON f.id = words.rowid WHERE words MATCH ? AND f.path = ?"
    return connection.execute(sql, (f'body : "{word}"', path)).fetchone() is not None


def central(connection: sqlite3.Connection, kind: str, churn: dict[str, int], limit: int) -> list[Hit]:
    """For the whole project: the files that changed most and define most."""
    roles = ROLES[kind]
    marks = ", ".join("?" * len(roles))
    sql = f"SELECT path, role, outline FROM files WHERE role IN ({marks})"  # noqa: S608 - question marks only
    rows = connection.execute(sql, roles).fetchall()
    scored = []
    for path, role, packed in rows:
        size = packed.count("[") - 4  # one bracket a definition: enough to compare files without unpacking all
        scored.append((math.log1p(churn.get(path, 0)) * 2 + math.log1p(max(size, 0)), path, role, packed))
    scored.sort(key=lambda item: (-item[0], item[1]))
    best = scored[0][0] if scored else 1.0
    hits = []
    for score, path, role, packed in scored[:limit]:
        changed = churn.get(path, 0)
        outline = unpack(Outline, packed)
        reasons = [f"{changed} of the latest commits changed it"] if changed else []
        reasons.append(f"it defines {len(outline.symbols) + len(outline.tests)} names")
        hits.append(Hit(path, role, round(score / (best or 1.0), 3), tuple(reasons), outline))
    return hits
