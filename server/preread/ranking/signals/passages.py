"""Passages where the request's words occur together; a large file has them all, but far apart."""

from collections import Counter
from collections.abc import Iterable, Mapping

from preread.index import words
from preread.ranking.search import K1, MIN_TITLE_WEIGHT, Search, rarity, whole_stem

MAX_FILES = 30  # best files to read
BLOCK = 20  # lines: a passage is two adjacent blocks, so passages overlap
MAX_BLOCKS = 300  # of a file
MAX_PASSAGES = 3  # passages that count for a file, without overlap


def dense_passages(search: Search) -> dict[str, float]:
    """The best files by their densest passages."""
    return _dense(search, 0.0)


def dense_passages_for_title(search: Search) -> dict[str, float]:
    """The same for the words of the title alone."""
    return _dense(search, MIN_TITLE_WEIGHT)


def _dense(search: Search, least: float) -> dict[str, float]:
    worth = _worth(search, least)
    return {
        path: _best(_blocks(search, path), worth)
        for path in (search.fused[:MAX_FILES] if worth else ())
    }


def _worth(search: Search, least: float) -> dict[str, float]:
    """The weight times the rarity of each stem, for words that weigh at least `least`."""
    found: dict[str, float] = {}
    for term in search.terms:
        if term.weight >= least:
            holders = sum(row in search.paths for row in term.rows)
            stem, worth = whole_stem(term.word), term.weight * rarity(len(search.paths), holders)
            found[stem] = max(worth, found.get(stem, 0.0))
    return found


def _blocks(search: Search, path: str) -> list[dict[str, int]]:
    """How often each stem of the request occurs in each block of a file."""
    if path not in search.lookup.blocks:
        lines = (search.lookup.read(path) or "").split("\n")
        cut = range(0, min(len(lines), MAX_BLOCKS * BLOCK), BLOCK)
        identifiers = [words.identifiers("\n".join(lines[n : n + BLOCK])) for n in cut]
        known = search.lookup.stems_in
        stems_of = {name: known[name] for name in set().union(*identifiers) if known[name]}
        search.lookup.blocks[path] = [
            _counted(stems_of[name] for name in block if name in stems_of) for block in identifiers
        ]
    return search.lookup.blocks[path]


def _counted(identifiers: Iterable[tuple[str, ...]]) -> dict[str, int]:
    return Counter(stem for stems in identifiers for stem in stems)


def _best(blocks: list[dict[str, int]], worth: Mapping[str, float]) -> float:
    """The sum of the best passages' scores: BM25 without length, because all are equally long."""
    scores = []
    for n, (block, after) in enumerate(zip(blocks, [*blocks[1:], {}], strict=True)):
        score = 0.0
        for stem in sorted((block.keys() | after.keys()) & worth.keys()):
            count = block.get(stem, 0) + after.get(stem, 0)
            score += worth[stem] * count * (K1 + 1) / (count + K1)
        scores.append((score, n))
    taken: set[int] = set()
    total = 0.0
    for score, n in sorted(scores, reverse=True):
        if len(taken) < 2 * MAX_PASSAGES and not {n, n + 1} & taken:
            total += score
            taken |= {n, n + 1}
    return total
