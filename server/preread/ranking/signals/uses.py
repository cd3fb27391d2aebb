"""Signals from names in code: files that use names defined by the best files, and tests that
mention the best sources.
"""

import math

from preread.index import imports, words
from preread.ranking.search import Search, quoted, rarity
from preread.ranking.signals.names import GENERIC_STEMS

SEEDS = 5
MENTIONED_SEEDS = 10
MIN_LENGTH = 6  # letters: a shorter name is often a common word with other meanings
MAX_NAMES = 300  # names looked up for all best files together
MAX_USED = 40  # of these, the most specific ones
MAX_HOLDERS = 25  # files: a name found in more of them does not discriminate


def names_used(search: Search) -> dict[str, float]:
    """Files that use names defined by the best files, or the best sources; rare names count
    most.
    """
    usable = []
    for name, worth in _defined_by_best(search).items():
        holders = _holders(search, name)
        if 1 < len(holders) <= MAX_HOLDERS:
            usable.append((worth / math.sqrt(len(holders)), name, holders))
    found: dict[str, float] = {}
    for worth, _, holders in sorted(usable, reverse=True)[:MAX_USED]:
        for row in holders:
            if (path := search.paths.get(row)) is not None:
                found[path] = found.get(path, 0.0) + worth
    return found


def mentions_sources(search: Search) -> dict[str, float]:
    """Tests that contain the name of a best source, which most often is that of its type or
    module; rare names count most.
    """
    found: dict[str, float] = {}
    for n, source in enumerate(search.sources[:MENTIONED_SEEDS]):
        name = imports.own(source).rpartition("/")[2]
        if words.stems(name) <= GENERIC_STEMS:
            continue
        holders = [row for row in _mentioning(search, name) if row in search.paths]
        worth = rarity(len(search.paths), len(holders)) / (3 + n)
        for row in holders:
            found[search.paths[row]] = found.get(search.paths[row], 0.0) + worth
    return found


def _mentioning(search: Search, name: str) -> list[int]:
    """The rows of the files that contain a file's name or its type's: `cart_item`, `CartItem`."""
    spellings = {name.replace("-", "_").lower(), "".join(words.parts(name))}
    match = " OR ".join(map(quoted, sorted(spellings)))
    sql = "SELECT rowid FROM words WHERE words MATCH ?"
    return [row for (row,) in search.lookup.connection.execute(sql, (f"body : ({match})",))]


def _defined_by_best(search: Search) -> dict[str, float]:
    lookup = search.lookup
    found: dict[str, float] = {}
    for n, path in enumerate((search.sources or search.fused)[:SEEDS]):
        for name in sorted(lookup.names_of(lookup.rows[path])):
            if len(name) >= MIN_LENGTH and name not in words.STOP_WORDS:
                found[name] = found.get(name, 0.0) + 1 / (3 + n)
    return dict(sorted(found.items(), key=lambda item: -item[1])[:MAX_NAMES])


def _holders(search: Search, name: str) -> list[int]:
    """The rows of the files that contain a name, at most MAX_HOLDERS + 1."""
    sql = "SELECT rowid FROM words WHERE words MATCH ? LIMIT ?"
    return [
        row for (row,) in search.lookup.connection.execute(sql, (quoted(name), MAX_HOLDERS + 1))
    ]
