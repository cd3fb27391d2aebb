"""Thin: whether the project says next to nothing about a feature, by words of the best files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from preread.index import words
from preread.ranking.fusion import Hit
from preread.ranking.query import Query
from preread.ranking.search import Asked, rarity

MOST = 0.62  # of the words' weight: what a passage holds that is about the feature
# If a description explains the feature, thin takes more: less than this of its name in any passage,
# and less than that of the whole request. Measured on past commits' messages (under 2 % are thin).
LITTLE, DESCRIBED = 0.25, 0.3
PASSAGE = 30  # lines that are read together: words that are further apart say nothing together


def is_thin(query: Query, asked: Asked, hits: Mapping[str, Sequence[Hit]]) -> bool:
    """Whether no passage of a ranked file, and no commit of one, is about the feature.

    Words weigh by how few files hold them, so one that is nowhere weighs most. A passage holds
    what its file's path does, too. A name that the description spells out and a file defines
    is enough.
    """
    paths = list(dict.fromkeys(hit.path for own in hits.values() for hit in own))
    weights = _weights(asked, query.feature)
    if not weights or any(asked.defined(name.lower().strip("_$")) for name in query.spelled):
        return False
    enough = LITTLE if query.text.strip() else MOST
    if _reach(weights, _passages(asked, paths), enough):
        return False
    if _reach(weights, _messages(asked, frozenset(paths)), enough):
        return False
    if not query.text.strip():
        return True
    told = _weights(asked, (*query.feature, *query.opening, *query.description))
    return not _reach(told, _passages(asked, paths), DESCRIBED)


def _weights(asked: Asked, named: Sequence[str]) -> dict[str, float]:
    """What each word's stem weighs: its rarity among the files."""
    rows = {term.word: len(term.rows) for term in asked.terms}
    return {words.stem(word): rarity(len(asked.files), rows.get(word, 0)) for word in named}


def _reach(weights: Mapping[str, float], texts: Iterable[frozenset[str]], share: float) -> bool:
    """Whether the stems of any text hold this share of the weight."""
    enough = share * sum(weights.values())
    return any(sum(weights[stem] for stem in stems & weights.keys()) >= enough for stems in texts)


def _passages(asked: Asked, paths: Sequence[str]) -> Iterator[frozenset[str]]:
    for path in paths:
        of_path, lines = words.stems(path), (asked.read(path) or "").split("\n")
        for start in range(0, len(lines), PASSAGE // 2):
            yield of_path | words.stems_of("\n".join(lines[start : start + PASSAGE]))


def _messages(asked: Asked, paths: frozenset[str]) -> Iterator[frozenset[str]]:
    """The words of each past commit that changed one of these files."""
    of_commit: dict[int, set[str]] = {}
    for word, rows in asked.messages.items():
        for row in rows:
            of_commit.setdefault(row, set()).add(words.stem(word))
    for row, stems in of_commit.items():
        if paths.intersection(asked.commits[row].paths):
            yield frozenset(stems)
