"""Signals from file names: named by the request's words, like a source, or in the same folder."""

import math
from collections import Counter, defaultdict

from preread.index import words
from preread.ranking.search import Search, folder_of, rarity

GENERIC_STEMS = frozenset({"test", "spec", "index", "page", "main", "init", "mod", "util", "type"})
SEEDS = 10
MAX_FOLDER_SEEDS = 30  # best files whose folders are used
SAME_FOLDER = 1.5  # the factor of a test that is beside or below its source


def named_after_sources(search: Search) -> dict[str, float]:
    """Tests named after one of the best sources."""
    found: dict[str, float] = defaultdict(float)
    for n, source in enumerate(search.sources[:SEEDS]):
        folder = folder_of(source)
        name = words.stems(words.stem_of(source))
        if name <= GENERIC_STEMS:  # `cart/index.ts` is called cart
            name = words.stems(folder.rpartition("/")[2]) or name
        for path, stems in search.name_stems.items() if name else ():
            if name <= stems:
                factor = SAME_FOLDER if path.startswith(folder) else 1.0
                found[path] += factor / (1 + len(stems - name)) / (3 + n)
    return found


def own_name(search: Search) -> dict[str, float]:
    """Files whose name consists of the request's words; rare words count most."""
    weights = search.lookup.stems
    names = {path: stems - GENERIC_STEMS for path, stems in search.name_stems.items()}
    counts = Counter(stem for stems in names.values() for stem in stems & weights.keys())
    worth = {stem: weights[stem] * rarity(len(names), n) for stem, n in counts.items()}
    found = {}
    for path, stems in names.items():
        if matching := sorted(stems & worth.keys()):
            found[path] = sum(map(worth.__getitem__, matching)) * len(matching) / len(stems)
    return found


def same_folder(search: Search) -> dict[str, float]:
    """Files next to the best ones; a small folder with several of them counts most."""
    worth = {path: 1 / (5 + n) for n, path in enumerate(search.fused[:MAX_FOLDER_SEEDS])}
    folders: dict[str, float] = defaultdict(float)
    for path, own in worth.items():
        folders[folder_of(path)] += own
    sizes = Counter(map(folder_of, search.rows))
    return {
        path: (folders[folder] - worth.get(path, 0.0)) / math.sqrt(sizes[folder])
        for path in search.rows
        if (folder := folder_of(path)) in folders
    }
