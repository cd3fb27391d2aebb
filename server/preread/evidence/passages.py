"""Passages: stretches of functions, each with how near it is to the feature."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from preread.evidence import phrases
from preread.evidence.nearness import ENOUGH, Nearness, nearness, share
from preread.evidence.pieces import FileView
from preread.evidence.view import View, once
from preread.index import words
from preread.syntax import Symbol

FUNCTIONS = frozenset({"function", "method", "component"})
DECLARED = frozenset(
    {"interface", "type", "enum", "class"}
)  # short ones without functions of their own: options
NAME = re.compile(r"[A-Za-z_]\w{2,}")
FILES, LONG, LEAST = 8, 50, 0.1  # a passage has about so many lines at most
MOST_DECLARED = 120
# What makes a passage near, as fitted on the tuning half of bench/claims: the description's words that it holds,
# that its function belongs to the feature, its names with the feature's words, its function's own name.
DESCRIBED, HOT, NAMED, OWN, CALLED = 1.5, 0.7, 0.6, 0.4, 0.3
ELSEWHERE = 0.6  # of what does not hold the name, or only the commoner of its two words
MANY = 3  # functions of one name: a call tells nothing about them


class Passage(NamedTuple):
    """Lines `start` to `end` of a function; `near` is 1 for the nearest."""

    file: FileView
    symbol: Symbol
    start: int
    end: int
    near: float


@once
def passages(view: View) -> list[Passage]:
    """The passages of the feature's first sources, nearest first."""
    if view.whole_project:
        hot = [h for h in view.symbols if h.symbol.kind in FUNCTIONS]
        return [
            Passage(h.file, h.symbol, start, end, h.score)
            for h in hot
            for start, end in _spans(h.file, h.symbol)
        ]
    measure = nearness(view)
    hot_ones = {(h.file.path, h.symbol.start): h.score for h in view.symbols}
    found: list[Passage] = []
    names: list[set[str]] = []
    for file in view.sources[:FILES]:
        for symbol in _with_passages(file):
            for start, end in _spans(file, symbol):
                held = {*NAME.findall("\n".join(file.lines[start - 1 : end])), symbol.name}
                named = (
                    hot_ones.get((file.path, symbol.start), 0.0)
                    if _is_named(file, symbol, measure)
                    else 0.0
                )
                near = HOT * named + _said(symbol.name, held, measure)
                found.append(Passage(file, symbol, start, end, near * file.score))
                names.append(held)
    best = max((p.near for p in found), default=0.0) or 1.0
    found = [p._replace(near=p.near / best) for p in found]
    reached = _called(found, names)
    ranked = [
        p._replace(near=round(near, 4))
        for p, near in zip(found, reached, strict=True)
        if near >= LEAST
    ]
    return sorted(ranked, key=lambda p: (-p.near, p.file.path, p.start))


def _with_passages(file: FileView) -> Iterator[Symbol]:
    """The functions of a file, and what only declares: structs, interfaces, enums."""
    functions = [symbol for symbol in file.outline.symbols if symbol.kind in FUNCTIONS]
    yield from functions
    for symbol in file.outline.symbols:
        is_short = symbol.kind in DECLARED and 1 < symbol.end - symbol.start <= MOST_DECLARED
        if is_short and not any(
            symbol.start < one.end and one.start < symbol.end for one in functions
        ):
            yield symbol


def _spans(file: FileView, symbol: Symbol) -> Iterator[tuple[int, int]]:
    """A function's lines, a long one's in parts that end at blank lines, the outermost near."""
    start, last = symbol.start, min(symbol.end, len(file.lines))
    while last - start > LONG * 1.4:
        blank = [
            n
            for n in range(start + LONG - 15, start + LONG + 15)
            if n < last and not file.lines[n - 1].strip()
        ]
        end = min(
            blank,
            key=lambda n: (phrases.indent(file.lines[n]), abs(n - start - LONG)),
            default=start + LONG,
        )
        yield start, end
        start = end + 1
    yield start, last


def _is_named(file: FileView, symbol: Symbol, measure: Nearness) -> bool:
    """Whether a function, its class or its file has the feature's name, not only the commoner of two words."""
    return measure.named_in(symbol.name, symbol.container, file.path.rpartition("/")[2])


def _said(name: str, held: set[str], measure: Nearness) -> float:
    stems = {one: words.stems(one) for one in held}
    shares = sorted((share(measure.own, found) for found in stems.values()), reverse=True)[:3]
    everything = frozenset().union(*stems.values())
    near = (
        NAMED * sum(shares) / 3
        + OWN * share(measure.own, stems[name])
        + DESCRIBED * share(measure.also, everything)
    )
    return near if share(measure.own, everything) >= ENOUGH else ELSEWHERE * near


def _called(found: list[Passage], names: list[set[str]]) -> list[float]:
    """How near each passage is, also by what calls it."""
    near = [p.near for p in found]
    by_name: dict[str, list[int]] = defaultdict(list)
    for i, passage in enumerate(found):
        by_name[passage.symbol.name].append(i)
    for i, passage in enumerate(found):
        for name in names[i] & by_name.keys() if passage.near >= CALLED else ():
            if len(by_name[name]) <= MANY:
                for other in by_name[name]:
                    near[other] = max(near[other], CALLED * passage.near if other != i else 0.0)
    return near
