"""The words that a file holds: BM25 over what it says and, with a measure of its own, over its path."""

from preread.evidence import words
from preread.evidence.search import K1, B, Search, rarity

PATH = 1.0  # of a word in a path, against the same word in the text


def words_said(search: Search) -> dict[str, float]:
    found = dict(search.said)
    for path, score in _in_paths(search).items():
        found[path] = found.get(path, 0.0) + PATH * score
    return found


def _in_paths(search: Search) -> dict[str, float]:
    stems = search.path_stems
    average = sum(map(len, stems.values())) / max(len(stems), 1)
    found: dict[str, float] = {}
    wanted: dict[str, float] = {}
    for word, weight in search.asked.weights.items():
        stem = words.stem(word)
        wanted[stem] = max(weight, wanted.get(stem, 0.0))
    for stem, weight in wanted.items():
        held = [path for path, of in stems.items() if stem in of]
        worth = weight * rarity(len(stems), len(held))
        for path in held:
            length = len(stems[path]) / average
            found[path] = found.get(path, 0.0) + worth * (K1 + 1) / (1 + K1 * (1 - B + B * length))
    return found


def words_held(search: Search) -> dict[str, float]:
    """How many of the different words a file holds: no single loud word makes up for the others."""
    held: dict[str, float] = {}
    for term in search.terms:
        for row in term.rows:
            if (path := search.paths.get(row)) is not None:
                held[path] = held.get(path, 0.0) + term.weight
    said = search.said
    most = max(said.values(), default=1.0) or 1.0
    return {path: n + 0.5 * said.get(path, 0.0) / most for path, n in held.items()}
