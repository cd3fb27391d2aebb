"""Signals from a file's words: BM25 over its text and, separately, over its path."""

from collections import defaultdict

from preread.ranking.search import K1, B, Search, rarity


def words_said(search: Search) -> dict[str, float]:
    found = defaultdict(float, {path: match.bm25 for path, match in search.matches.items()})
    for path, score in words_in_path(search).items():
        found[path] += score
    return found


def words_in_path(search: Search) -> dict[str, float]:
    """BM25 over paths, with lengths and rarities of paths alone."""
    stems = search.path_stems
    average = sum(map(len, stems.values())) / max(len(stems), 1)
    weights = search.lookup.stems
    holders: dict[str, list[str]] = defaultdict(list)
    for path, own in stems.items():
        for stem in own & weights.keys():
            holders[stem].append(path)
    found: dict[str, float] = defaultdict(float)
    for stem, paths in sorted(holders.items()):
        worth = weights[stem] * rarity(len(stems), len(paths))
        for path in paths:
            length = len(stems[path]) / average
            found[path] += worth * (K1 + 1) / (1 + K1 * (1 - B + B * length))
    return found


def words_contained(search: Search) -> dict[str, float]:
    """How many different words a file contains, so that one frequent word cannot dominate."""
    most = max((match.bm25 for match in search.matches.values()), default=1.0) or 1.0
    return {path: match.words + 0.5 * match.bm25 / most for path, match in search.matches.items()}


def rare_words_contained(search: Search) -> dict[str, float]:
    """The same as `words_contained`, with each word weighted by its rarity."""
    return {path: match.rarity for path, match in search.matches.items()}


def words_defined(search: Search) -> dict[str, float]:
    """BM25 over the names that a file defines, including tests and headings."""
    found: dict[str, float] = defaultdict(float)
    for term in search.terms:
        rows = search.lookup.defined(term.word)
        paths = search.paths_of(rows)
        worth = term.weight * rarity(len(search.paths), len(paths))
        for path in paths:
            found[path] += worth * rows[search.rows[path]]
    return found
