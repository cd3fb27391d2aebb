"""What a text names exactly: files, modules, names that are defined here; issues and traces of calls have them."""

import re
from collections.abc import Iterator

from preread.evidence import links, words
from preread.evidence.search import Search, rarity

PATH = re.compile(r"[\w./\\@-]*\w\.[A-Za-z]{1,6}\b|\w[\w.@-]*(?:[/\\][\w.@-]+)+")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+")
WRITTEN_AS_CODE = re.compile(r"[a-z0-9][A-Z]|\w_\w|^[A-Z]{2,}[a-z]")
MOST_NAMES, MOST_HOLDERS = 60, 40
PLAIN = 0.3  # of a plain word that is a name here, against one written as code


def files_named(search: Search) -> dict[str, float]:
    """Files that the text names by their path, its end, or as a module: the more of it, the surer."""
    named = list(dict.fromkeys(_paths(search.asked.text)))
    tails = {parts[-1] for parts in named}
    by_tail: dict[str, list[tuple[str, list[str]]]] = {}
    for path, own in search.owns.items() if tails else ():
        if (tail := own.rpartition("/")[2]) in tails:
            by_tail.setdefault(tail, []).append((path, own.split("/")))
    found: dict[str, float] = {}
    for parts in named:
        shared = {path: _shared(parts, own) for path, own in by_tail.get(parts[-1], ())}
        longest = max(shared.values(), default=0)
        met = [path for path, n in shared.items() if n == longest]
        for path in met:
            found[path] = max(found.get(path, 0.0), longest / len(met))
    return found


def _paths(text: str) -> Iterator[tuple[str, ...]]:
    for match in PATH.finditer(text):
        name = match[0].replace("\\", "/").strip("./").lower()
        yield tuple(links.own(name).split("/"))
    for match in DOTTED.finditer(text):
        parts = tuple(re.split(r"\.|::", match[0].lower()))
        for end in range(len(parts), 1, -1):  # the last ones may be names inside of it
            yield parts[:end]


def _shared(parts: tuple[str, ...], others: list[str]) -> int:
    """How many parts are the same from the end."""
    n = 0
    for a, b in zip(reversed(parts), reversed(others), strict=False):
        if a != b:
            break
        n += 1
    return n


def names_defined(search: Search) -> dict[str, float]:
    """Files that define a name of the text."""
    found: dict[str, float] = {}
    for name, worth in _names(search.asked.text).items():
        rows = [row for row in search.asked.defined(name) if row in search.paths]
        if not rows or len(rows) > MOST_HOLDERS:
            continue
        holders = [row for row in rows if name in search.asked.names_of(row)]
        for row in holders:
            path = search.paths[row]
            found[path] = found.get(path, 0.0) + worth * rarity(len(search.paths), len(holders)) / len(holders) ** 0.5
    return found


def _names(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in words.IDENTIFIER.findall(text):
        bare = name.strip("_$")
        if WRITTEN_AS_CODE.search(bare):
            found[bare.lower()] = 1.0
        elif len(bare) > 3 and bare.lower() not in words.STOP:
            found.setdefault(bare.lower(), PLAIN)
    return dict(sorted(found.items(), key=lambda item: -item[1])[:MOST_NAMES])
