"""Signals from commits: similar messages, recent changes, and files changed together."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from preread.ranking.search import MIN_TITLE_WEIGHT, Lookup, Search, quoted, rarity

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
    found: dict[str, float] = {}
    for row, score in _similar(search.lookup):
        paths = search.lookup.commits[row].paths
        for path in paths:
            if path in search.rows:
                found[path] = found.get(path, 0.0) + score * score / math.sqrt(len(paths))
    return found


def _similar(lookup: Lookup) -> list[tuple[int, float]]:
    """The rows of the best matching commits with their scores."""
    if not lookup.weights or not lookup.commits:
        return []
    sql = (
        "SELECT c.id, -bm25(messages) AS score FROM messages JOIN commits c ON c.id = "
        "messages.rowid "
        "WHERE messages MATCH ? ORDER BY score DESC, c.place LIMIT ?"
    )
    match = " OR ".join(map(quoted, [term.word for term in lookup.terms] or lookup.weights))
    return [
        (row, score)
        for row, score in lookup.connection.execute(sql, (match, MAX_SIMILAR))
        if score > 0
    ]


def words_of_its_past(search: Search) -> dict[str, float]:
    """BM25 over the messages of each file's commits: the project's own words for what the file
    does.
    """
    return _bm25_of_messages(search, search.lookup.messages)


def title_in_its_past(search: Search) -> dict[str, float]:
    """The same for the words of the title alone: other words of a report match messages by
    chance.
    """
    weights = search.lookup.weights
    return _bm25_of_messages(
        search,
        {
            word: rows
            for word, rows in search.lookup.messages.items()
            if weights[word] >= MIN_TITLE_WEIGHT
        },
    )


def words_of_its_folders_past(search: Search) -> dict[str, float]:
    """The same for all files of a folder together, which helps files that are new or rarely
    changed.
    """
    sizes = Counter(map(_folder, search.rows))
    said = _bm25_of_messages(search, search.lookup.messages, _folder)
    return {
        path: said[of] / sizes[of] ** FOLDER_SIZE_EXPONENT
        for path in search.rows
        if (of := _folder(path)) in said
    }


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _bm25_of_messages(
    search: Search,
    messages: Mapping[str, list[int]],
    unit: Callable[[str], str] = lambda path: path,
) -> dict[str, float]:
    """BM25 of messages by file, or by what `unit` returns for a path, such as its folder."""
    changed = {row: set(map(unit, paths)) for row, paths in search.past.items()}
    shares = {row: 1 / math.sqrt(len(search.lookup.commits[row].paths)) for row in changed}
    length: dict[str, float] = defaultdict(float)
    for row, units_of in changed.items():
        for each in units_of:
            length[each] += shares[row]
    average = sum(length.values()) / max(len(length), 1) or 1.0
    units = len(set(map(unit, search.rows)))
    found: dict[str, float] = {}
    for word, rows in messages.items():
        said: dict[str, float] = defaultdict(float)
        for row in rows:
            for each in changed.get(row, ()):
                said[each] += shares[row]
        worth = search.lookup.weights[word] * rarity(units, len(said))
        for each, n in said.items():
            room = K1 * (1 - B + B * length[each] / average)
            found[each] = found.get(each, 0.0) + worth * n * (K1 + 1) / (n + room)
    return found


def changed_of_late(search: Search) -> dict[str, float]:
    found: dict[str, float] = {}
    for commit in search.lookup.commits.values():
        if commit.place >= LATEST:
            break
        for path in commit.paths:
            if path in search.rows:
                found[path] = found.get(path, 0.0) + 1 / (HALF_WEIGHT + commit.place)
    return found


def changed_together(search: Search) -> dict[str, float]:
    """Files that commits changed along with the best files."""
    seeds = {path: 1 / (2 + n) for n, path in enumerate((search.sources or search.fused)[:SEEDS])}
    together: dict[str, list[float]] = {}
    changed: Counter[str] = Counter()
    for commit in search.lookup.commits.values():
        if commit.place >= TOGETHER:
            break
        worth = sum(seeds.get(path, 0.0) for path in commit.paths)
        for path in commit.paths:
            if path in search.rows:
                changed[path] += 1
                if worth and path not in seeds:
                    together.setdefault(path, []).append(worth / len(commit.paths))
    return {
        path: sum(of) / math.sqrt(changed[path] + 2)
        for path, of in together.items()
        if len(of) >= MIN_SHARED
    }
