"""The words that a file holds: BM25 over what it says and, with a measure of its own, over its
path.
"""

from preread.ranking.search import K1, B, Search, rarity

PATH = 1.0  # of a word in a path, against the same word in the text


def words_said(search: Search) -> dict[str, float]:
    found = {path: held.said for path, held in search.held.items()}
    for path, score in words_in_path(search).items():
        found[path] = found.get(path, 0.0) + PATH * score
    return found


def words_in_path(search: Search) -> dict[str, float]:
    """BM25 over paths: their words have a length and a rarity of their own."""
    stems = search.path_stems
    average = sum(map(len, stems.values())) / max(len(stems), 1)
    found: dict[str, float] = {}
    for stem, paths in search.in_path(search.asked.stems.keys()).items():
        worth = search.asked.stems[stem] * rarity(len(stems), len(paths))
        for path in paths:
            length = len(stems[path]) / average
            found[path] = found.get(path, 0.0) + worth * (K1 + 1) / (1 + K1 * (1 - B + B * length))
    return found


def words_held(search: Search) -> dict[str, float]:
    """How many of the different words a file holds: no single loud word makes up for the others."""
    most = max((held.said for held in search.held.values()), default=1.0) or 1.0
    return {path: held.words + 0.5 * held.said / most for path, held in search.held.items()}


def rare_words_held(search: Search) -> dict[str, float]:
    """The same as `words_held`, each word by how few files hold it."""
    return {path: held.rarity for path, held in search.held.items()}


def words_defined(search: Search) -> dict[str, float]:
    """BM25 over the names that a file defines, tests and headings among them."""
    found: dict[str, float] = {}
    for term in search.terms:
        rows = {
            row: fill
            for row, fill in search.asked.defined(term.word).items()
            if row in search.paths
        }
        worth = term.weight * rarity(len(search.paths), len(rows))
        for row, fill in rows.items():
            path = search.paths[row]
            found[path] = found.get(path, 0.0) + worth * fill
    return found
