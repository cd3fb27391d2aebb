"""Signals from file names: named by the request's words, like a source, or in the same folder."""

import math
from collections import Counter

from preread.index import words
from preread.ranking.search import Search, rarity

GENERIC_STEMS = frozenset({"test", "spec", "index", "page", "main", "init", "mod", "util", "type"})
MAX_SEEDS = 30  # best files whose folders are used


def named_after_sources(search: Search) -> dict[str, float]:
    """Tests named after one of the best sources."""
    found: dict[str, float] = {}
    for n, source in enumerate(search.sources[:10]):
        name = words.stems(words.stem_of(source))
        if not name - GENERIC_STEMS:
            name = words.stems(source.rpartition("/")[0].rpartition("/")[2]) or name
        near = source.rpartition("/")[0]
        for path, stem in search.name_stems.items():
            if name and name <= stem:
                home = 1.5 if path.startswith(near) else 1.0
                found[path] = found.get(path, 0.0) + home / (1 + len(stem - name)) / (3 + n)
    return found


def own_name(search: Search) -> dict[str, float]:
    """Files whose name consists of the request's words; rare words count most."""
    worth_of = search.lookup.stems
    called = {path: stems - GENERIC_STEMS for path, stems in search.name_stems.items()}
    common = Counter(stem for stems in called.values() for stem in stems if stem in worth_of)
    found = {}
    for path, stems in called.items():
        met = sorted(stem for stem in stems if stem in worth_of)
        if met:
            worth = sum(worth_of[stem] * rarity(len(called), common[stem]) for stem in met)
            found[path] = worth * len(met) / len(stems)
    return found


def same_folder(search: Search) -> dict[str, float]:
    """Files next to the best ones; a small folder with several of them counts most."""
    worth = {path: 1 / (5 + n) for n, path in enumerate(search.fused[:MAX_SEEDS])}
    folders: dict[str, float] = {}
    for path, of in worth.items():
        folder = path.rpartition("/")[0]
        folders[folder] = folders.get(folder, 0.0) + of
    sizes = Counter(path.rpartition("/")[0] for path in search.rows)
    found = {}
    for path in search.rows:
        folder = path.rpartition("/")[0]
        if folder in folders:
            found[path] = (folders[folder] - worth.get(path, 0.0)) / math.sqrt(sizes[folder])
    return found
