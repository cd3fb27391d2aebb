"""Signals from commits: similar messages, recent changes, and files changed together."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from preread.ranking.search import MIN_TITLE_WEIGHT, Search, folder_of, quoted, rarity

MAX_SIMILAR = 25  # commits with similar messages
LATEST = 1_000  # commits
HALF_WEIGHT = 50  # the place of the commit that counts half as much as the newest
TOGETHER = 1_500  # commits read for files changed together
SEEDS = 5
MIN_SHARED = 2  # commits that changed both files: one may be chance
K1, B = 1.5, 0.4  # BM25 over the messages of a file's commits
FOLDER_SIZE_EXPONENT = 0.25  # the larger the folder, the less its commits say about each file


def similar_messages(search: Search) -> dict[str, float]:
    """The files of the commits whose messages match the request best."""
    lookup = search.lookup
    found: dict[str, float] = defaultdict(float)
    if not lookup.weights or not lookup.commits:
        return found
    sql = (
        "SELECT c.id, -bm25(messages) AS score FROM messages JOIN commits c ON c.id = "
        "messages.rowid "
        "WHERE messages MATCH ? ORDER BY score DESC, c.place LIMIT ?"
    )
    match = " OR ".join(map(quoted, [term.word for term in lookup.terms] or lookup.weights))
    for row, score in lookup.connection.execute(sql, (match, MAX_SIMILAR)):
        for path in search.past.get(row, ()) if score > 0 else ():
            found[path] += score * score / math.sqrt(len(lookup.commits[row].paths))
    return found


def words_of_its_past(search: Search) -> dict[str, float]:
    """BM25 over the messages of each file's commits: the project's own words for what the file
    does.
    """
    return _bm25_of_messages(search, search.lookup.messages)


def title_in_its_past(search: Search) -> dict[str, float]:
    """The same for the words of the title alone: other words of a report match messages by
    chance.
    """
    weights, messages = search.lookup.weights, search.lookup.messages
    in_title = {word: of for word, of in messages.items() if weights[word] >= MIN_TITLE_WEIGHT}
    return _bm25_of_messages(search, in_title)


def words_of_its_folders_past(search: Search) -> dict[str, float]:
    """The same for all files of a folder together, which helps files that are new or rarely
    changed.
    """
    sizes = Counter(map(folder_of, search.rows))
    scores = _bm25_of_messages(search, search.lookup.messages, folder_of)
    return {
        path: scores[folder] / sizes[folder] ** FOLDER_SIZE_EXPONENT
        for path in search.rows
        if (folder := folder_of(path)) in scores
    }


def _bm25_of_messages(
    search: Search, messages: Mapping[str, list[int]], unit_of: Callable[[str], str] = str
) -> dict[str, float]:
    """BM25 of messages by file, or by what `unit_of` returns for a path, such as its folder."""
    changed = {row: set(map(unit_of, paths)) for row, paths in search.past.items()}
    shares = {row: 1 / math.sqrt(len(search.lookup.commits[row].paths)) for row in changed}
    length: dict[str, float] = defaultdict(float)
    for row, units in changed.items():
        for unit in units:
            length[unit] += shares[row]
    average = sum(length.values()) / max(len(length), 1) or 1.0
    total = len(set(map(unit_of, search.rows)))
    found: dict[str, float] = defaultdict(float)
    for word, rows in messages.items():
        counts: dict[str, float] = defaultdict(float)
        for row in rows:
            for unit in changed.get(row, ()):
                counts[unit] += shares[row]
        worth = search.lookup.weights[word] * rarity(total, len(counts))
        for unit, n in counts.items():
            norm = K1 * (1 - B + B * length[unit] / average)
            found[unit] += worth * n * (K1 + 1) / (n + norm)
    return found


def changed_of_late(search: Search) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for row, paths in search.past.items():
        place = search.lookup.commits[row].place
        for path in paths if place < LATEST else ():
            found[path] += 1 / (HALF_WEIGHT + place)
    return found


def changed_together(search: Search) -> dict[str, float]:
    """Files that commits changed along with the best files."""
    seeds = {path: 1 / (2 + n) for n, path in enumerate(search.best[:SEEDS])}
    together: dict[str, list[float]] = defaultdict(list)
    changed: Counter[str] = Counter()
    for row, paths in search.past.items():
        commit = search.lookup.commits[row]
        worth = sum(seeds.get(path, 0.0) for path in commit.paths)
        for path in paths if commit.place < TOGETHER else ():
            changed[path] += 1
            if worth and path not in seeds:
                together[path].append(worth / len(commit.paths))
    return {
        path: sum(of) / math.sqrt(changed[path] + 2)
        for path, of in together.items()
        if len(of) >= MIN_SHARED
    }
