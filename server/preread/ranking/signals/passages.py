"""Passages: where the words of the request stand together; a large file holds all of them, but
nowhere together.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from preread.index import words
from preread.ranking.search import K1, TITLE, Search, rarity, whole_stem

FIRST = 30  # best files that are read
HALF = 20  # lines: a passage is two such blocks, and each block but the ends is in two passages
MAX_BLOCKS = 300  # of a file
BEST = 3  # passages that count for a file, no two of them with a block in common


def dense_passages(search: Search) -> dict[str, float]:
    """The passages of the first files that hold most of the words."""
    return _dense(search, 0.0)


def dense_passages_for_title(search: Search) -> dict[str, float]:
    """The same for the words of the opening alone."""
    return _dense(search, TITLE)


def _dense(search: Search, least: float) -> dict[str, float]:
    worth = _worth(search, least)
    return {
        path: _best(_blocks(search, path), worth)
        for path in (search.fused[:FIRST] if worth else ())
    }


def _worth(search: Search, least: float) -> dict[str, float]:
    """What each stem of the words that weigh at least so much is worth, the rare ones most."""
    found: dict[str, float] = {}
    for term in search.terms:
        if term.weight >= least:
            holders = sum(row in search.paths for row in term.rows)
            stem, worth = whole_stem(term.word), term.weight * rarity(len(search.paths), holders)
            found[stem] = max(worth, found.get(stem, 0.0))
    return found


def _blocks(search: Search, path: str) -> list[dict[str, int]]:
    """How often each stem of the request stands in each block of a file."""
    if path not in search.asked.blocks:
        lines = (search.asked.read(path) or "").split("\n")
        cut = range(0, min(len(lines), MAX_BLOCKS * HALF), HALF)
        said = [words.identifiers("\n".join(lines[n : n + HALF])) for n in cut]
        known = search.asked.stems_in
        met = {name: known[name] for name in set().union(*said) if known[name]}
        search.asked.blocks[path] = [
            _counted(met[name] for name in block if name in met) for block in said
        ]
    return search.asked.blocks[path]


def _counted(said: Iterable[tuple[str, ...]]) -> dict[str, int]:
    return Counter(stem for stems in said for stem in stems)


def _best(blocks: list[dict[str, int]], worth: Mapping[str, float]) -> float:
    """The sum of the best passages' scores, BM25 without a length, for all are as long."""
    scores = []
    for n, (block, after) in enumerate(zip(blocks, [*blocks[1:], {}], strict=True)):
        score = 0.0
        for stem in sorted((block.keys() | after.keys()) & worth.keys()):
            held = block.get(stem, 0) + after.get(stem, 0)
            score += worth[stem] * held * (K1 + 1) / (held + K1)
        scores.append((score, n))
    taken: set[int] = set()
    total = 0.0
    for score, n in sorted(scores, reverse=True):
        if len(taken) < 2 * BEST and not {n, n + 1} & taken:
            total += score
            taken |= {n, n + 1}
    return total
