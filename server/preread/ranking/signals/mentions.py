"""Signals from exact mentions in the text, typical of issues: files, modules, defined names, stack
traces.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from preread.index import imports, words
from preread.ranking.search import Search, quoted, rarity

PATH = re.compile(r"[\w./\\@-]*\w\.[A-Za-z]{1,6}\b|\w[\w.@-]*(?:[/\\][\w.@-]+)+")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+")
PYTHON_FRAME = re.compile(r'File "([^"\n]+)", line \d+')  # the last one raised the error
# In other languages, the first frame raised it.
OTHER_FRAME = re.compile(r"([\w./\\@~+-]*\w\.[A-Za-z]{1,6})[:(]\d+")
# No file's name, but like base64; on 20,000 characters, these patterns would take minutes.
BLOB = re.compile(r"[\w./\\@~+:-]{1000,}")
SUFFIX = re.compile(r"\.([A-Za-z]{1,6})$")
# Interchangeable, because a trace names the compiled file.
SCRIPT_SUFFIXES = frozenset({"js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"})
WRITTEN_AS_CODE = re.compile(r"[a-z0-9][A-Z]|\w_\w|^[A-Z]{2,}[a-z]")
QUOTED = re.compile(r"`([^`\n]{2,80})`|[\"']([A-Za-z_][\w.-]{2,40})[\"']|(?<!\w)--([a-z][\w-]{2,})")
MAX_NAMES, MAX_HOLDERS = 60, 40
CODE_WEIGHT, PLAIN_WEIGHT = 1.0, 0.3  # of a defined name, written as code or as a plain word
COMMON_SHARE = 10  # a name in more than one in so many files does not discriminate


def files_named(search: Search) -> dict[str, float]:
    """Files named by path, end of path or module; the more parts match, the more they count."""
    found: dict[str, float] = {}
    for _, shared, matches in _resolve(search, dict.fromkeys(_named_files(_text(search)))):
        for path in matches:
            found[path] = max(found.get(path, 0.0), shared / len(matches))
    return found


def _text(search: Search) -> str:
    return BLOB.sub(" ", search.lookup.text)


def calls_traced(search: Search) -> dict[str, float]:
    """Files of a stack trace in the text, the innermost frame first."""
    text = _text(search)
    found: dict[str, float] = {}
    for trace in (PYTHON_FRAME.findall(text)[::-1], OTHER_FRAME.findall(text)):
        inside = 0
        for name, shared, matches in _resolve(search, map(_named_file, trace)):
            # Otherwise it may be another project's `core.py`.
            whole = shared > 1 or shared == len(name.parts) or "/" not in matches[0]
            if len(matches) == 1 and whole:
                inside += 1
                found[matches[0]] = max(found.get(matches[0], 0.0), 1 / inside)
    return found


class Named(NamedTuple):
    """A file named in a text: the parts of its module name, and its suffix or ""."""

    parts: tuple[str, ...]
    suffix: str = ""


def _named_file(text: str) -> Named:
    name = text.replace("\\", "/").strip("./").lower()
    suffix = SUFFIX.search(name)
    return Named(tuple(imports.own(name).split("/")), suffix[1] if suffix else "")


def _named_files(text: str) -> Iterator[Named]:
    yield from map(_named_file, PATH.findall(text))
    for dotted in DOTTED.findall(text):
        parts = tuple(re.split(r"\.|::", dotted.lower()))
        for end in range(len(parts), 1, -1):  # the last parts may be names inside the module
            yield Named(parts[:end])


def _resolve(search: Search, named: Iterable[Named]) -> Iterator[tuple[Named, int, list[str]]]:
    """Each name that matches files: how many parts match, and the files that match most."""
    for name in named:
        shared = {
            path: _shared(name.parts, own.split("/"))
            for path, own in search.by_module.get(name.parts[-1], ())
            if _can_end(path, name.suffix)
        }
        if shared:
            longest = max(shared.values())
            yield name, longest, [path for path, n in shared.items() if n == longest]


def _can_end(path: str, suffix: str) -> bool:
    """Whether a name with this suffix can mean a file: `model.keras` does not mean `model.py`."""
    own = path.rpartition(".")[2].lower()
    return not suffix or own == suffix or {own, suffix} <= SCRIPT_SUFFIXES


def _shared(parts: Sequence[str], others: Sequence[str]) -> int:
    """The number of equal parts, counted from the end."""
    pairs = zip(reversed(parts), reversed(others), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def names_defined(search: Search) -> dict[str, float]:
    """Files that define a name mentioned in the text."""
    found: dict[str, float] = defaultdict(float)
    for name, weight in _names(search.lookup.text).items():
        paths = search.paths_of(search.lookup.defined(name))
        if len(paths) > MAX_HOLDERS:
            continue
        holders = [p for p in paths if name in search.lookup.names_of(search.rows[p])]
        for path in holders:
            found[path] += weight * rarity(len(search.paths), len(holders)) / len(holders) ** 0.5
    return found


def _names(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in words.IDENTIFIER.findall(text):
        bare = name.strip("_$")
        if WRITTEN_AS_CODE.search(bare):
            found[bare.lower()] = CODE_WEIGHT
        elif len(bare) > 3 and bare.lower() not in words.STOP_WORDS:
            found.setdefault(bare.lower(), PLAIN_WEIGHT)
    return dict(sorted(found.items(), key=lambda item: -item[1])[:MAX_NAMES])


def code_contained(search: Search) -> dict[str, float]:
    """Files that contain what the text writes as code: names, quotes, command options."""
    found: dict[str, float] = defaultdict(float)
    most = max(MAX_HOLDERS, len(search.paths) // COMMON_SHARE)
    for name in _written_as_code(search.lookup.text):
        paths = search.paths_of(search.lookup.rows_with(f"body : {quoted(name)}"))
        for path in paths if len(paths) <= most else ():
            found[path] += rarity(len(search.paths), len(paths))
    return found


def _written_as_code(text: str) -> list[str]:
    found = [name for name, weight in _names(text).items() if weight == CODE_WEIGHT]
    for code, quote, option in QUOTED.findall(text):
        identifiers = words.IDENTIFIER.findall(code or quote or option.replace("-", "_"))
        found += [name.lower().strip("_$") for name in identifiers]
    usable = [n for n in dict.fromkeys(found) if len(n) > 2 and n not in words.STOP_WORDS]
    return usable[:MAX_NAMES]
