"""What the past says: commits with similar words, commits of late, and what is changed together."""

import math
from collections import Counter

from preread.evidence.search import Search, quoted

MOST_ALIKE = 25  # commits with similar words
LATEST = 200
TOGETHER = 1_500  # commits looked at for what is changed together
SEEDS = 5
ONCE_MORE = 2  # commits that changed both: one says little


def similar_messages(search: Search) -> dict[str, float]:
    """The files of the past commits whose messages have most of the request's words."""
    found: dict[str, float] = {}
    for row, score in _alike(search):
        paths = search.asked.commits[row].paths
        for path in paths:
            if path in search.rows:
                found[path] = found.get(path, 0.0) + score * score / math.sqrt(len(paths))
    return found


def _alike(search: Search) -> list[tuple[int, float]]:
    asked = search.asked
    if not asked.weights or not asked.commits:
        return []
    match = " OR ".join(map(quoted, [term.word for term in asked.terms] or asked.weights))
    sql = (
        "SELECT c.id, -bm25(messages) AS score FROM messages JOIN commits c ON c.id = messages.rowid "
        "WHERE messages MATCH ? AND c.place IS NOT NULL ORDER BY score DESC, c.place LIMIT ?"
    )
    return [(row, score) for row, score in asked.connection.execute(sql, (match, MOST_ALIKE)) if score > 0]


def changed_of_late(search: Search) -> dict[str, float]:
    found: dict[str, float] = {}
    for commit in search.asked.commits.values():
        if commit.place >= LATEST:
            break
        for path in commit.paths:
            if path in search.rows:
                found[path] = found.get(path, 0.0) + 1 / (10 + commit.place)
    return found


def changed_together(search: Search) -> dict[str, float]:
    """What past commits changed along with the best files."""
    seeds = {path: 1 / (2 + n) for n, path in enumerate((search.sources or search.fused)[:SEEDS])}
    together: dict[str, list[float]] = {}
    changed: Counter[str] = Counter()
    for commit in search.asked.commits.values():
        if commit.place >= TOGETHER:
            break
        worth = sum(seeds.get(path, 0.0) for path in commit.paths)
        for path in commit.paths:
            if path in search.rows:
                changed[path] += 1
                if worth and path not in seeds:
                    together.setdefault(path, []).append(worth / len(commit.paths))
    return {path: sum(of) / math.sqrt(changed[path] + 2) for path, of in together.items() if len(of) >= ONCE_MORE}
