"""Signals from imports: modules that the best files import, and tests that import sources."""

import math

from preread.index import imports
from preread.ranking.search import Search

SEEDS = 10


def imported_by_best(search: Search) -> dict[str, float]:
    """Files that the best ones import; the more importers a file has, the less it counts."""
    found: dict[str, float] = {}
    connection = search.lookup.connection
    for n, path in enumerate(search.fused[:SEEDS]):
        for row in sorted(imports.imported_by(connection, search.rows[path])):
            if (other := search.paths.get(row)) is not None:
                users = len(imports.importers_of(connection, row))
                found[other] = found.get(other, 0.0) + 1 / (3 + n) / math.sqrt(1 + users)
    return found


def imports_sources(search: Search) -> dict[str, float]:
    """Tests that import the best sources; the more a test imports, the less it counts."""
    found: dict[str, float] = {}
    connection = search.lookup.connection
    rows = search.lookup.rows
    for n, path in enumerate(search.sources[:SEEDS]):
        for row in sorted(imports.importers_of(connection, rows[path])):
            if (other := search.paths.get(row)) is not None:
                taken = len(imports.imported_by(connection, row))
                found[other] = found.get(other, 0.0) + 1 / (3 + n) / math.sqrt(1 + taken)
    return found
