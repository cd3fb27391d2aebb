"""What a text names exactly: files, modules, names that are defined here; issues and traces of
calls have them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from preread.index import imports, words
from preread.ranking.search import Search, quoted, rarity

PATH = re.compile(r"[\w./\\@-]*\w\.[A-Za-z]{1,6}\b|\w[\w.@-]*(?:[/\\][\w.@-]+)+")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+")
FRAME = re.compile(r'File "([^"\n]+)", line \d+')  # the last one is where it broke
PLACE = re.compile(r"([\w./\\@~+-]*\w\.[A-Za-z]{1,6})[:(]\d+")  # elsewhere the first one is
SUFFIX = re.compile(r"\.([A-Za-z]{1,6})$")
SCRIPTS = frozenset("js jsx mjs cjs ts tsx mts cts".split())  # a trace names what was made of them
WRITTEN_AS_CODE = re.compile(r"[a-z0-9][A-Z]|\w_\w|^[A-Z]{2,}[a-z]")
QUOTED = re.compile(r"`([^`\n]{2,80})`|[\"']([A-Za-z_][\w.-]{2,40})[\"']|(?<!\w)--([a-z][\w-]{2,})")
MAX_NAMES, MAX_HOLDERS = 60, 40
PLAIN = 0.3  # of a plain word that is a name here, against one written as code
COMMON = 10  # a word that more than one in so many files holds is no name that tells them apart


def files_named(search: Search) -> dict[str, float]:
    """Files that the text names by their path, its end, or as a module; longer names count more."""
    found: dict[str, float] = {}
    for _, shared, met in _met(search, dict.fromkeys(_paths(search.asked.text))):
        for path in met:
            found[path] = max(found.get(path, 0.0), shared / len(met))
    return found


def calls_traced(search: Search) -> dict[str, float]:
    """Files of a trace of calls in the text, where it broke first."""
    text = search.asked.text
    found: dict[str, float] = {}
    for trace in (FRAME.findall(text)[::-1], PLACE.findall(text)):
        inside = 0
        for name, shared, met in _met(search, map(_path, trace)):
            whole = (
                shared > 1 or shared == len(name.parts) or "/" not in met[0]
            )  # not another project's `core.py`
            if len(met) == 1 and whole:
                inside += 1
                found[met[0]] = max(found.get(met[0], 0.0), 1 / inside)
    return found


class Named(NamedTuple):
    """A file as a text names it: what it is called as a module, by its parts, and its suffix or
    "".
    """

    parts: tuple[str, ...]
    suffix: str = ""


def _path(text: str) -> Named:
    name = text.replace("\\", "/").strip("./").lower()
    suffix = SUFFIX.search(name)
    return Named(tuple(imports.own(name).split("/")), suffix[1] if suffix else "")


def _paths(text: str) -> Iterator[Named]:
    for match in PATH.finditer(text):
        yield _path(match[0])
    for match in DOTTED.finditer(text):
        parts = tuple(re.split(r"\.|::", match[0].lower()))
        for end in range(len(parts), 1, -1):  # the last ones may be names inside of it
            yield Named(parts[:end])


def _met(search: Search, named: Iterable[Named]) -> Iterator[tuple[Named, int, list[str]]]:
    """Each name that means files: how many of its parts they share, and which share most."""
    every = list(named)
    tails = {name.parts[-1] for name in every}
    by_tail: dict[str, list[tuple[str, list[str]]]] = {}
    for path, own in search.owns.items() if tails else ():
        if (tail := own.rpartition("/")[2]) in tails:
            by_tail.setdefault(tail, []).append((path, own.split("/")))
    for name in every:
        known = by_tail.get(name.parts[-1], ())
        shared = {
            path: _shared(name.parts, own) for path, own in known if _can_end(path, name.suffix)
        }
        longest = max(shared.values(), default=0)
        if longest:
            yield name, longest, [path for path, n in shared.items() if n == longest]


def _can_end(path: str, suffix: str) -> bool:
    """Whether a file may be the one that is named with this suffix: `model.keras` is no
    `model.py`.
    """
    own = path.rpartition(".")[2].lower()
    return not suffix or own == suffix or {own, suffix} <= SCRIPTS


def _shared(parts: Sequence[str], others: Sequence[str]) -> int:
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
        if not rows or len(rows) > MAX_HOLDERS:
            continue
        holders = [row for row in rows if name in search.asked.names_of(row)]
        for row in holders:
            path = search.paths[row]
            found[path] = (
                found.get(path, 0.0)
                + worth * rarity(len(search.paths), len(holders)) / len(holders) ** 0.5
            )
    return found


def _names(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in words.IDENTIFIER.findall(text):
        bare = name.strip("_$")
        if WRITTEN_AS_CODE.search(bare):
            found[bare.lower()] = 1.0
        elif len(bare) > 3 and bare.lower() not in words.STOP_WORDS:
            found.setdefault(bare.lower(), PLAIN)
    return dict(sorted(found.items(), key=lambda item: -item[1])[:MAX_NAMES])


def code_held(search: Search) -> dict[str, float]:
    """Files that hold what the text writes as code: names, what it quotes, options of a command."""
    found: dict[str, float] = {}
    sql = "SELECT rowid FROM words WHERE words MATCH ?"
    most = max(MAX_HOLDERS, len(search.paths) // COMMON)
    for name in _written_as_code(search.asked.text):
        rows = [row for (row,) in search.asked.connection.execute(sql, (f"body : {quoted(name)}",))]
        paths = [search.paths[row] for row in rows if row in search.paths]
        if len(paths) <= most:
            for path in paths:
                found[path] = found.get(path, 0.0) + rarity(len(search.paths), len(paths))
    return found


def _written_as_code(text: str) -> list[str]:
    found = [name for name, worth in _names(text).items() if worth == 1.0]
    for code, quote, option in QUOTED.findall(text):
        told = words.IDENTIFIER.findall(code or quote or option.replace("-", "_"))
        found += [name.lower().strip("_$") for name in told]
    return [
        name for name in dict.fromkeys(found) if len(name) > 2 and name not in words.STOP_WORDS
    ][:MAX_NAMES]
