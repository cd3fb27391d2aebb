"""Anchors: quoted names in a fact's text, each followed by the line that contains it."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from preread.dossier import fact_text, source_paths, sources
from preread.dossier.sources import Ref
from preread.models import Fact

# A quoted name with its line is a source inside the text: `name` :12 or `name` src/a.py:12.
ANCHOR = re.compile(
    r"(?<!`)(?P<ticks>`{1,3}+)(?!`)(?P<quote>(?>(?:(?!(?P=ticks)).)+))(?P=ticks) "
    r"(?P<path><[^<>]+>|[^\s`,:<>()]*+)"
    r":(?P<start>[1-9]\d{0,6})(?:-(?P<end>[1-9]\d{0,6}))?(?![\w.:-])"
)


class Anchor(NamedTuple):
    """A quote in a fact's text and its source: exactly these lines must contain the quote."""

    quote: str
    source: str


def of_fact(fact: Fact, base: str = "") -> tuple[Anchor, ...]:
    """The anchors of a parsed fact; `base` is its section's source, for lines without a path."""
    return _of_text(fact.text, base)


@lru_cache(maxsize=10_000)  # a build renders and checks every fact several times
def _of_text(text: str, base: str) -> tuple[Anchor, ...]:
    return tuple(Anchor(match["quote"].strip(), str(ref)) for match, ref in anchored(text, base))


def matches(text: str, base: str = "") -> list[re.Match[str]]:
    """The matches of anchors in a fact's text, in the order of `anchors`."""
    return [match for match, _ in anchored(text, base)]


def written_path(path: str) -> str:
    """A path as an anchor writes it: in angle brackets if it has blanks or special characters."""
    return path if re.fullmatch(r"<[^<>]+>|[^\s`,:<>()]+", path) else f"<{path}>"


def anchored(
    text: str, base: str, expand: Callable[[Ref, str], Ref] = lambda ref, _: ref
) -> Iterator[tuple[re.Match[str], Ref]]:
    """Each anchor in a text with its source; `expand` replaces a basename by the full path."""
    ref = sources.parse(base) if base else None
    path = own = ref.path if ref is not None else ""
    for match in ANCHOR.finditer(text):
        written = match["path"] or (source_paths.quoted_path(path) if path else "")
        ref = sources.parse(f"{written}:{match['start']}-{match['end'] or match['start']}")
        if ref is None or not (written.startswith("<") or source_paths.is_path_shaped(ref.path)):
            continue
        ref = expand(ref, written) if match["path"] else ref
        path = own or ref.path  # without a section's source, a line belongs to the last path
        yield match, ref


def at_end(fact: Fact, base: str) -> set[str]:
    """The sources that a fact has besides those in its text."""
    return {*fact.sources} - {one.source for one in of_fact(fact, base)}


def own_quotes(fact: Fact, base: str) -> dict[str, list[str]]:
    """The quotes that the check looks up in each source by itself.

    Of a fact with several sources, only names with their lines say which has which quote.
    """
    if len(fact.sources) == 1:
        return {fact.sources[0]: fact_text.quotes(fact.text)}
    found: dict[str, list[str]] = {}
    for one in of_fact(fact, base):
        if len(one.quote) >= fact_text.MIN_QUOTE:
            found.setdefault(one.source, []).append(one.quote)
    return found
