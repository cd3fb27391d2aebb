"""What names say: a file is called by the request's words, a test like its source; a folder holds
what is of a kind.
"""

import math
from collections import Counter

from preread.index import words
from preread.ranking.search import Search, rarity

IDLE = frozenset({"test", "spec", "index", "page", "main", "init", "mod", "util", "type"})
NEAR = 30  # best files whose folders count


def named_after_sources(search: Search) -> dict[str, float]:
    """Tests that are called like one of the best sources."""
    found: dict[str, float] = {}
    for n, source in enumerate(search.sources[:10]):
        name = words.stems(words.stem_of(source))
        if not name - IDLE:
            name = words.stems(source.rpartition("/")[0].rpartition("/")[2]) or name
        near = source.rpartition("/")[0]
        for path, stem in search.name_stems.items():
            if name and name <= stem:
                home = 1.5 if path.startswith(near) else 1.0
                found[path] = found.get(path, 0.0) + home / (1 + len(stem - name)) / (3 + n)
    return found


def own_name(search: Search) -> dict[str, float]:
    """Files whose own name is made of the request's words, the rare ones most."""
    wanted = search.asked.stems
    called = {path: stems - IDLE for path, stems in search.name_stems.items()}
    common = Counter(stem for stems in called.values() for stem in stems if stem in wanted)
    found = {}
    for path, stems in called.items():
        met = sorted(stem for stem in stems if stem in wanted)
        if met:
            worth = sum(wanted[stem] * rarity(len(called), common[stem]) for stem in met)
            found[path] = worth * len(met) / len(stems)
    return found


def same_folder(search: Search) -> dict[str, float]:
    """Files beside the best ones, most in a small folder that has several of them."""
    worth = {path: 1 / (5 + n) for n, path in enumerate(search.fused[:NEAR])}
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
