"""Signals from imports: modules that the best files import, and tests that import sources."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from sqlite3 import Connection

from preread.index import imports
from preread.ranking.search import Search

SEEDS = 10
Follow = Callable[[Connection, int], set[int]]  # from one file's row to others


def imported_by_best(search: Search) -> dict[str, float]:
    """Files that the best ones import; the more importers a file has, the less it counts."""
    return _linked(search, search.fused, imports.imported_by, imports.importers_of)


def imports_sources(search: Search) -> dict[str, float]:
    """Tests that import the best sources; the more a test imports, the less it counts."""
    return _linked(search, search.sources, imports.importers_of, imports.imported_by)


def _linked(search: Search, seeds: Sequence[str], follow: Follow, back: Follow) -> dict[str, float]:
    """The files that `follow` leads to; the more files `back` leads to, the less each counts."""
    lookup = search.lookup
    found: dict[str, float] = defaultdict(float)
    for n, seed in enumerate(seeds[:SEEDS]):
        for row in sorted(follow(lookup.connection, lookup.rows[seed])):
            if row in search.paths:
                links = len(back(lookup.connection, row))
                found[search.paths[row]] += 1 / (3 + n) / math.sqrt(1 + links)
    return found
