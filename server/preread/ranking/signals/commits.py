"""What the past says: commits with similar words, commits of late, and what is changed together."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from preread.ranking.search import TITLE, Asked, Search, quoted, rarity

MAX_ALIKE = 25  # commits with similar words
LATEST, LATELY = 1_000, 50  # commits; the one that counts half as much as the newest
TOGETHER = 1_500  # commits looked at for what is changed together
SEEDS = 5
ONCE_MORE = 2  # commits that changed both: one says little
ENOUGH, LENGTH = 1.5, 0.4  # of BM25 over a file's past
CROWD = 0.25  # how much less a folder's past says of each file, the more files it has


def similar_messages(search: Search) -> dict[str, float]:
    """The files of the past commits whose messages have most of the request's words."""
    found: dict[str, float] = {}
    for row, score in _alike(search.asked):
        paths = search.asked.commits[row].paths
        for path in paths:
            if path in search.rows:
                found[path] = found.get(path, 0.0) + score * score / math.sqrt(len(paths))
    return found


def _alike(asked: Asked) -> list[tuple[int, float]]:
    """Past commits with their scores."""
    if not asked.weights or not asked.commits:
        return []
    sql = (
        "SELECT c.id, -bm25(messages) AS score FROM messages JOIN commits c ON c.id = "
        "messages.rowid "
        "WHERE messages MATCH ? AND c.place IS NOT NULL ORDER BY score DESC, c.place LIMIT ?"
    )
    match = " OR ".join(map(quoted, [term.word for term in asked.terms] or asked.weights))
    return [
        (row, score)
        for row, score in asked.connection.execute(sql, (match, MAX_ALIKE))
        if score > 0
    ]


def words_of_its_past(search: Search) -> dict[str, float]:
    """BM25 over all that was said of a file when it was changed: how the project calls what the
    file is about.
    """
    return _said_of(search, search.asked.messages)


def title_in_its_past(search: Search) -> dict[str, float]:
    """The same for the words of a title alone: a plain word of the text says as little of a
    message.
    """
    weights = search.asked.weights
    return _said_of(
        search,
        {word: rows for word, rows in search.asked.messages.items() if weights[word] >= TITLE},
    )


def words_of_its_folders_past(search: Search) -> dict[str, float]:
    """The same for all files of a folder together: of a file that is new or hardly changed, its
    neighbours' past.
    """
    sizes = Counter(map(_folder, search.rows))
    said = _said_of(search, search.asked.messages, _folder)
    return {
        path: said[of] / sizes[of] ** CROWD for path in search.rows if (of := _folder(path)) in said
    }


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _said_of(
    search: Search,
    messages: Mapping[str, list[int]],
    unit: Callable[[str], str] = lambda path: path,
) -> dict[str, float]:
    """BM25 of messages over what they are about: a file, or what `unit` makes of its path."""
    changed = {row: set(map(unit, paths)) for row, paths in search.past.items()}
    shares = {row: 1 / math.sqrt(len(search.asked.commits[row].paths)) for row in changed}
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
        worth = search.asked.weights[word] * rarity(units, len(said))
        for each, n in said.items():
            room = ENOUGH * (1 - LENGTH + LENGTH * length[each] / average)
            found[each] = found.get(each, 0.0) + worth * n * (ENOUGH + 1) / (n + room)
    return found


def changed_of_late(search: Search) -> dict[str, float]:
    found: dict[str, float] = {}
    for commit in search.asked.commits.values():
        if commit.place >= LATEST:
            break
        for path in commit.paths:
            if path in search.rows:
                found[path] = found.get(path, 0.0) + 1 / (LATELY + commit.place)
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
    return {
        path: sum(of) / math.sqrt(changed[path] + 2)
        for path, of in together.items()
        if len(of) >= ONCE_MORE
    }
