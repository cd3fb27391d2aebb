"""Signals from names in code: files that use names defined by the best files, and tests that
mention the best sources.
"""

import heapq
import math
from collections import defaultdict
from operator import itemgetter

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
    for name, worth in _defined_by_best(search):
        rows = search.lookup.rows_with(quoted(name), MAX_HOLDERS + 1)
        if 1 < len(rows) <= MAX_HOLDERS:
            usable.append((worth / math.sqrt(len(rows)), name, rows))
    found: dict[str, float] = defaultdict(float)
    for worth, _, rows in sorted(usable, reverse=True)[:MAX_USED]:
        for path in search.paths_of(rows):
            found[path] += worth
    return found


def _defined_by_best(search: Search) -> list[tuple[str, float]]:
    lookup = search.lookup
    found: dict[str, float] = defaultdict(float)
    for n, path in enumerate(search.best[:SEEDS]):
        for name in sorted(lookup.names_of(lookup.rows[path])):
            if len(name) >= MIN_LENGTH and name not in words.STOP_WORDS:
                found[name] += 1 / (3 + n)
    return heapq.nlargest(MAX_NAMES, found.items(), key=itemgetter(1))


def mentions_sources(search: Search) -> dict[str, float]:
    """Tests that contain the name of a best source, which most often is that of its type or
    module; rare names count most.
    """
    found: dict[str, float] = defaultdict(float)
    for n, source in enumerate(search.sources[:MENTIONED_SEEDS]):
        name = imports.own(source).rpartition("/")[2]
        if words.stems(name) <= GENERIC_STEMS:
            continue
        spellings = {name.replace("-", "_").lower(), "".join(words.parts(name))}
        match = " OR ".join(map(quoted, sorted(spellings)))
        paths = search.paths_of(search.lookup.rows_with(f"body : ({match})"))
        for path in paths:
            found[path] += rarity(len(search.paths), len(paths)) / (3 + n)
    return found
