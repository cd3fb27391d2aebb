"""What code says of other code: files that use the names which the best ones define."""

import math

from preread.index import words
from preread.ranking.search import Search, quoted

SEEDS = 5
SHORTEST = 6  # letters: a shorter name is mostly a word, and means something else elsewhere
MAX_NAMES, MAX_TOLD = (
    300,
    40,
)  # of the best files together that are looked up; of these, the ones that tell most
MAX_HOLDERS = 25  # files: a name that more of them hold tells none from the others


def names_used(search: Search) -> dict[str, float]:
    """Files that use names which the best files, or the best sources, define; the rare names
    count.
    """
    told = []
    for name, worth in _defined_by_best(search).items():
        holders = _holders(search, name)
        if 1 < len(holders) <= MAX_HOLDERS:
            told.append((worth / math.sqrt(len(holders)), name, holders))
    found: dict[str, float] = {}
    for worth, _, holders in sorted(told, reverse=True)[:MAX_TOLD]:
        for row in holders:
            if (path := search.paths.get(row)) is not None:
                found[path] = found.get(path, 0.0) + worth
    return found


def _defined_by_best(search: Search) -> dict[str, float]:
    asked = search.asked
    found: dict[str, float] = {}
    for n, path in enumerate((search.sources or search.fused)[:SEEDS]):
        for name in sorted(asked.names_of(asked.rows[path])):
            if len(name) >= SHORTEST and name not in words.STOP_WORDS:
                found[name] = found.get(name, 0.0) + 1 / (3 + n)
    return dict(sorted(found.items(), key=lambda item: -item[1])[:MAX_NAMES])


def _holders(search: Search, name: str) -> list[int]:
    """The rows of the files that hold a name, at most one more than count."""
    sql = "SELECT rowid FROM words WHERE words MATCH ? LIMIT ?"
    return [row for (row,) in search.asked.connection.execute(sql, (quoted(name), MAX_HOLDERS + 1))]
