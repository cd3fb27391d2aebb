"""Ranking: which sources, tests and documents a request is about, best first, each with its
reasons.
"""

import heapq
import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from preread.index import words
from preread.ranking.query import Query
from preread.ranking.search import Asked, Search
from preread.ranking.signals import commits, imports, mentions, names, passages, text, uses
from preread.ranking.weights import WEIGHTS

ROLES: dict[str, tuple[str, ...]] = {
    "files": ("source",),
    "tests": ("test",),
    "helpers": ("support",),
    "docs": ("doc",),
}
TOGETHER = {"tests": ("test", "support"), "helpers": ("test", "support")}  # ranked on one scale
DEPTH = 100  # of a signal's list
# of a test helper beside tests, of an example beside sources: what all use, what shows the others
ASIDE = 0.8
STEADY = 10  # of the reciprocal ranks: the larger, the less the first places of one signal count
WEIGHT = 200  # bytes that say as much of how central a file is as one definition


class Hit(NamedTuple):
    """One ranked file: its score relative to the best of its list, and why."""

    path: str
    role: str
    score: float
    reasons: tuple[str, ...]


class Signal(NamedTuple):
    """One kind of evidence: what it is called, its scores, and why as a person reads it."""

    name: str
    scores: Callable[[Search], dict[str, float]]
    reason: str = ""


FIRST: tuple[Signal, ...] = (
    Signal("words said", text.words_said),
    Signal("words in its path", text.words_in_path),
    Signal("words held", text.words_held),
    Signal("rare words held", text.rare_words_held),
    Signal("words defined", text.words_defined),
    Signal("own name", names.own_name),
    Signal("files named", mentions.files_named, "the text names it"),
    Signal("calls traced", mentions.calls_traced, "a trace of calls in the text leads there"),
    Signal("names defined", mentions.names_defined, "it defines a name of the text"),
    Signal("code held", mentions.code_held, "it holds what the text writes as code"),
    Signal(
        "similar messages", commits.similar_messages, "past commits with these words changed it"
    ),
    Signal(
        "words of its past", commits.words_of_its_past, "past commits with these words changed it"
    ),
    Signal(
        "title in its past", commits.title_in_its_past, "past commits with these words changed it"
    ),
    Signal("words of its folder's past", commits.words_of_its_folders_past),
    Signal("changed of late", commits.changed_of_late),
)
THEN: tuple[Signal, ...] = (  # they start from the best by the first ones
    Signal("imported by the best", imports.imported_by_best, "the files above import it"),
    Signal("same folder", names.same_folder),
    Signal("names used", uses.names_used, "it holds rare names of the best files"),
    Signal("dense passages", passages.dense_passages),
    Signal("dense passages for the title", passages.dense_passages_for_title),
    Signal(
        "changed together", commits.changed_together, "it changes together with the files above"
    ),
    Signal("named after sources", names.named_after_sources, "it is named like a source above"),
    Signal("imports sources", imports.imports_sources, "it imports a source above"),
)
PRIORS = frozenset(
    {"words of its folder's past", "changed of late", "same folder"}
)  # they find nothing, but order it
READING = frozenset(
    {"dense passages", "dense passages for the title"}
)  # of files: for reports, which need it


def ranked(asked: Asked, query: Query, limits: Mapping[str, int]) -> dict[str, list[Hit]]:
    """The best files of each kind, at most as many as asked for."""
    done: dict[tuple[str, ...], dict[str, Fused]] = {
        ROLES["files"]: _fused(Search(asked, ROLES["files"]))
    }
    sources = list(done[ROLES["files"]])
    found = {}
    for kind, limit in limits.items():
        roles = TOGETHER.get(kind, ROLES[kind])
        if roles not in done:
            done[roles] = _fused(Search(asked, roles, sources))
        found[kind] = list(_hits(asked, query, done[roles], ROLES[kind], limit))
    return found


class Fused(NamedTuple):
    """What the fusion says of one file: its score relative to the best, and each signal's share
    with its place.
    """

    score: float
    places: dict[str, int]


def _fused(search: Search) -> dict[str, Fused]:
    """All that any signal names, best first."""
    total: dict[str, float] = {}
    places: dict[str, dict[str, int]] = {}
    weights = WEIGHTS[search.kind]
    for signals in (FIRST, THEN):
        for signal in signals:
            weight = weights.get(signal.name, 0.0)
            for path, place in _placed(signal.scores(search) if weight else {}):
                if signal.name not in PRIORS or path in total:
                    total[path] = total.get(path, 0.0) + weight / (STEADY + place)
                    places.setdefault(path, {})[signal.name] = place
        search.fused = _ordered(total)
    for path in total.keys() & search.aside:
        total[path] *= ASIDE
    best = max(total.values(), default=1.0)
    return {path: Fused(total[path] / best, places[path]) for path in _ordered(total)}


def _placed(scores: Mapping[str, float]) -> Iterator[tuple[str, int]]:
    """The best files with their places; equal scores are one place."""
    last, place = 0.0, 0
    best = heapq.nsmallest(DEPTH, ((-score, path) for path, score in scores.items() if score > 0))
    for n, (_, path) in enumerate(best):
        if scores[path] != last:
            last, place = scores[path], n + 1
        yield path, place


def _ordered(total: Mapping[str, float]) -> list[str]:
    return sorted(total, key=lambda path: (-total[path], path))


def _hits(
    asked: Asked, query: Query, fused: dict[str, Fused], roles: Sequence[str], limit: int
) -> Iterator[Hit]:
    rows = {path: row for row, (path, role) in asked.files.items() if role in roles}
    for path in [path for path in fused if path in rows][:limit]:
        sql = "SELECT role, names FROM files WHERE id = ?"
        role, defined = asked.connection.execute(sql, (rows[path],)).fetchone()
        reasons = _reasons(asked, rows[path], path, defined.split("\n"), query, fused[path])
        yield Hit(path, role, round(fused[path].score, 3), reasons)


def _reasons(
    asked: Asked, row: int, path: str, defines: Sequence[str], query: Query, fused: Fused
) -> tuple[str, ...]:
    """Why a file was chosen, strongest first, in words a person reads."""
    wanted = {words.stem(w): w for w in (*query.feature, *query.description)}
    in_path = [w for s, w in wanted.items() if s in words.stems(path)]
    defined = [name for name in defines if words.stems(name) & wanted.keys()]
    defined.sort(key=lambda n: -len(words.stems(n) & {words.stem(w) for w in query.feature}))
    reasons = []
    if in_path:
        reasons.append(f"its path holds {_listed(in_path)}")
    if defined:
        reasons.append(f"it defines {_listed(defined)}")
    rest = [term.word for term in asked.terms if row in term.rows and term.word not in in_path]
    if rest:
        reasons.append(f"it mentions {_listed(rest)}")
    telling = [s for s in (*FIRST, *THEN) if s.reason and s.name in fused.places]
    reasons += [s.reason for s in telling if fused.places[s.name] <= 10]
    if not reasons and telling:
        reasons.append(min(telling, key=lambda s: fused.places[s.name]).reason)
    return tuple(dict.fromkeys(reasons))


def _listed(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def central(
    connection: sqlite3.Connection, kind: str, churn: dict[str, int], limit: int, scope: str = ""
) -> list[Hit]:
    """For the whole project: the files that changed most and hold most."""
    roles = ROLES[kind]
    marks = ", ".join("?" * len(roles))
    sql = f"SELECT path, role, defines, size FROM files WHERE role IN ({marks})"  # noqa: S608 - question marks only
    rows = connection.execute(sql, roles).fetchall()
    scored = []
    for path, role, defines, size in rows:
        if not path.startswith(scope):
            continue
        scored.append(
            (
                math.log1p(churn.get(path, 0)) * 2 + math.log1p(defines + size / WEIGHT),
                path,
                role,
                defines,
            )
        )
    scored.sort(key=lambda item: (-item[0], item[1]))
    best = scored[0][0] if scored else 1.0
    hits = []
    for score, path, role, defines in scored[:limit]:
        changed = churn.get(path, 0)
        reasons = [f"{changed} of the latest commits changed it"] if changed else []
        reasons.append(f"it defines {defines} names")
        hits.append(Hit(path, role, round(score / (best or 1.0), 3), tuple(reasons)))
    return hits
