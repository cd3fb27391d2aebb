"""Rank sources, tests and documents for a request by weighted reciprocal rank fusion."""

import heapq
import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from preread.index import words
from preread.ranking.query import Query
from preread.ranking.search import Lookup, Search
from preread.ranking.signals import (
    commits,
    imports,
    mentions,
    names,
    passages,
    semantic,
    text,
    uses,
)
from preread.ranking.weights import WEIGHTS

ROLES: dict[str, tuple[str, ...]] = {
    "files": ("source",),
    "tests": ("test",),
    "helpers": ("support",),
    "docs": ("doc",),
}
RANKED_TOGETHER = {"tests": ("test", "support"), "helpers": ("test", "support")}  # on one scale
DEPTH = 100  # files used of each signal
MEANING = "similar names"  # by the optional model; a setting says how much
RRF_K = 10  # reciprocal rank fusion's k: the larger, the less the first places of one signal count
HIGH_PLACE = 10  # a signal in which a file ranks so high is a reason to show
BYTES_PER_NAME = 200  # bytes that make a file as central as one more definition does


class Hit(NamedTuple):
    """One ranked file: its score relative to the best of its list, and the reasons."""

    path: str
    role: str
    score: float
    reasons: tuple[str, ...]


class Signal(NamedTuple):
    """One kind of evidence: its name, its scores by path, and the reason to show."""

    name: str
    scores: Callable[[Search], dict[str, float]]
    reason: str = ""


FIRST_PASS: tuple[Signal, ...] = (
    Signal("words said", text.words_said),
    Signal("words in its path", text.words_in_path),
    Signal("words contained", text.words_contained),
    Signal("rare words contained", text.rare_words_contained),
    Signal("words defined", text.words_defined),
    Signal("own name", names.own_name),
    Signal("files named", mentions.files_named, "the text names it"),
    Signal("calls traced", mentions.calls_traced, "a trace of calls in the text leads there"),
    Signal("names defined", mentions.names_defined, "it defines a name of the text"),
    Signal("code contained", mentions.code_contained, "it contains what the text writes as code"),
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
SECOND_PASS: tuple[Signal, ...] = (  # these start from the best files of the first pass
    Signal("imported by the best", imports.imported_by_best, "the files above import it"),
    Signal("same folder", names.same_folder),
    Signal("names used", uses.names_used, "it contains rare names of the best files"),
    Signal("dense passages", passages.dense_passages),
    Signal("dense passages for the title", passages.dense_passages_for_title),
    Signal(
        "changed together", commits.changed_together, "it changes together with the files above"
    ),
    Signal("named after sources", names.named_after_sources, "it is named like a source above"),
    Signal("imports sources", imports.imports_sources, "it imports a source above"),
    Signal("mentions sources", uses.mentions_sources, "it mentions a source above"),
    Signal(MEANING, semantic.similar_names, "its names mean something similar"),
)
# Signals that add no files and only reorder them.
PRIORS = frozenset({"words of its folder's past", "changed of late", "same folder"})
# Signals that read files; worth their time only for reports.
REPORT_SIGNALS = frozenset({"dense passages", "dense passages for the title"})


def ranked(lookup: Lookup, query: Query, limits: Mapping[str, int]) -> dict[str, list[Hit]]:
    """The best files of each kind, at most `limits[kind]`."""
    fused_by_roles: dict[tuple[str, ...], dict[str, Fused]] = {
        ROLES["files"]: _fuse(Search(lookup, ROLES["files"]))
    }
    sources = list(fused_by_roles[ROLES["files"]])
    found = {}
    for kind, limit in limits.items():
        roles = RANKED_TOGETHER.get(kind, ROLES[kind])
        if roles not in fused_by_roles:
            fused_by_roles[roles] = _fuse(Search(lookup, roles, sources))
        found[kind] = list(_top_hits(lookup, query, fused_by_roles[roles], ROLES[kind], limit))
    return found


class Fused(NamedTuple):
    """One file's fused score relative to the best, and its place in each signal."""

    score: float
    places: dict[str, int]


def _fuse(search: Search) -> dict[str, Fused]:
    """Every file found by a signal, best first."""
    total: dict[str, float] = {}
    places: dict[str, dict[str, int]] = {}
    weights = WEIGHTS[search.kind]
    for signals in (FIRST_PASS, SECOND_PASS):
        for signal in signals:
            weight = weights.get(signal.name, 0.0)
            weight *= search.lookup.meaning if signal.name == MEANING else 1
            for path, place in _places(signal.scores(search) if weight else {}):
                if signal.name not in PRIORS or path in total:
                    total[path] = total.get(path, 0.0) + weight / (RRF_K + place)
                    places.setdefault(path, {})[signal.name] = place
        search.fused = _best_first(total)
    for path in total.keys() & search.demoted.keys():
        total[path] *= search.demoted[path]
    best = max(total.values(), default=1.0)
    return {path: Fused(total[path] / best, places[path]) for path in _best_first(total)}


def _places(scores: Mapping[str, float]) -> Iterator[tuple[str, int]]:
    """The best files with their places, from 1; equal scores share a place."""
    last, place = 0.0, 0
    best = heapq.nsmallest(DEPTH, ((-score, path) for path, score in scores.items() if score > 0))
    for n, (_, path) in enumerate(best):
        if scores[path] != last:
            last, place = scores[path], n + 1
        yield path, place


def _best_first(total: Mapping[str, float]) -> list[str]:
    return sorted(total, key=lambda path: (-total[path], path))


def _top_hits(
    lookup: Lookup, query: Query, fused: dict[str, Fused], roles: Sequence[str], limit: int
) -> Iterator[Hit]:
    rows = {path: row for row, (path, role) in lookup.files.items() if role in roles}
    for path in [path for path in fused if path in rows][:limit]:
        by_words = _reasons_of_words(lookup, query, rows[path])
        by_signals = _reasons_of_signals(fused[path], at_least_one=not by_words)
        reasons = tuple(dict.fromkeys(by_words + by_signals))
        yield Hit(path, lookup.files[rows[path]][1], round(fused[path].score, 3), reasons)


def _reasons_of_words(lookup: Lookup, query: Query, row: int) -> list[str]:
    """Which of the request's words a file contains and where, as shown to people."""
    path = lookup.files[row][0]
    asked = {words.stem(word): word for word in (*query.feature, *query.description)}
    feature = set(map(words.stem, query.feature))
    in_path = [word for stem, word in asked.items() if stem in words.stems(path)]
    defined = [name for name in lookup.definitions(row) if words.stems(name) & asked.keys()]
    defined.sort(key=lambda name: -len(words.stems(name) & feature))
    others = [term.word for term in lookup.terms if row in term.rows and term.word not in in_path]
    found = {"its path contains": in_path, "it defines": defined, "it mentions": others}
    return [f"{how} {_listed(names)}" for how, names in found.items() if names]


def _reasons_of_signals(fused: Fused, *, at_least_one: bool) -> list[str]:
    """The reasons of the signals in which a file ranks high, or else of the one it ranks highest
    in.
    """
    found_by = [s for s in (*FIRST_PASS, *SECOND_PASS) if s.reason and s.name in fused.places]
    high = [signal.reason for signal in found_by if fused.places[signal.name] <= HIGH_PLACE]
    if high or not found_by or not at_least_one:
        return high
    return [min(found_by, key=lambda signal: fused.places[signal.name]).reason]


def _listed(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def central(
    connection: sqlite3.Connection, kind: str, churn: dict[str, int], limit: int, scope: str = ""
) -> list[Hit]:
    """The central files of the whole project: changed most often and with most definitions."""
    scored = []
    sql = "SELECT path, role, defines, size FROM files"
    for path, role, defines, size in connection.execute(sql):
        if role in ROLES[kind] and path.startswith(scope):
            changed = churn.get(path, 0)
            score = math.log1p(changed) * 2 + math.log1p(defines + size / BYTES_PER_NAME)
            reasons = [f"{changed} of the latest commits changed it"] if changed else []
            reasons.append(f"it defines {defines} names")
            scored.append(Hit(path, role, score, tuple(reasons)))
    scored.sort(key=lambda hit: (-hit.score, hit.path))
    best = scored[0].score or 1.0 if scored else 1.0
    return [hit._replace(score=round(hit.score / best, 3)) for hit in scored[:limit]]
