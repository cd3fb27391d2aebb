"""Passages where the request's words occur together; a large file has them all, but far apart."""

from collections import Counter
from collections.abc import Mapping, Sequence

from preread.index import words
from preread.ranking.search import K1, MIN_TITLE_WEIGHT, Search, rarity

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
    """The best files by their passages with the words that weigh at least `least`."""
    worth: dict[str, float] = {}
    for term in search.terms:
        if term.weight >= least:
            holders = len(search.paths_of(term.rows))
            stem, value = words.whole_stem(term.word), rarity(len(search.paths), holders)
            worth[stem] = max(term.weight * value, worth.get(stem, 0.0))
    paths = search.fused[:MAX_FILES] if worth else []
    return {path: _best(_blocks(search, path), worth) for path in paths}


def _blocks(search: Search, path: str) -> list[Counter[str]]:
    """How often each stem of the request occurs in each block of a file."""
    lookup = search.lookup
    if path not in lookup.blocks:
        lines = (lookup.read(path) or "").split("\n")
        starts = range(0, min(len(lines), MAX_BLOCKS * BLOCK), BLOCK)
        blocks = ["\n".join(lines[n : n + BLOCK]) for n in starts]
        lookup.blocks[path] = [
            Counter(stem for name in words.identifiers(block) for stem in lookup.stems_in[name])
            for block in blocks
        ]
    return lookup.blocks[path]


def _best(blocks: Sequence[Counter[str]], worth: Mapping[str, float]) -> float:
    """The sum of the best passages' scores: BM25 without length, because all are equally long."""
    scores = []
    for n, (block, after) in enumerate(zip(blocks, [*blocks[1:], Counter()], strict=True)):
        counts = {stem: block[stem] + after[stem] for stem in block.keys() | after.keys()}
        matching = sorted(counts.keys() & worth.keys())
        score = sum(worth[s] * counts[s] * (K1 + 1) / (counts[s] + K1) for s in matching)
        scores.append((score, n))
    taken: set[int] = set()
    total = 0.0
    for score, n in sorted(scores, reverse=True):
        if len(taken) < 2 * MAX_PASSAGES and not {n, n + 1} & taken:
            total += score
            taken |= {n, n + 1}
    return total
