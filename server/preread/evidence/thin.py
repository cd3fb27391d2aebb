"""Whether evidence is thin: the project has next to nothing about a feature."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from preread.index import words
from preread.ranking.fusion import Hit
from preread.ranking.query import Query
from preread.ranking.search import Lookup, rarity

BARE_SHARE = 0.62  # of the words' weight, found in one passage: then it is about the feature
# With a description, thin means less than NAME_SHARE of the name's weight and less than
# REQUEST_SHARE of the whole request's. Measured on past commits' messages (under 2 % are thin).
NAME_SHARE, REQUEST_SHARE = 0.25, 0.3
MIN_FILES, MAX_SHARE = 3, 0.1  # of the files: a word that more of them define is a common one
PASSAGE = 30  # lines: words further apart than this are unrelated
MIN_LINES = 2  # with a bare name: one remark in passing does not make its file about the feature
COMMENT = re.compile(r"\s*(?:#(?![a-z]+ )|//|/?\*|--|;|%|<!--|\"\"\"|''')")
# Written as code: a string without spaces, a path, an identifier of several words, a key.
WRITTEN_AS_CODE = re.compile(
    r"[\"'`][^\"'`\s]+[\"'`]|[\w.$-]*[/_][\w./$-]+|\b[a-z]+[A-Z]\w*|^\s*[\w.-]+\s*[:=]|^\s*\[[\w.-]+\]"
)


def is_thin(query: Query, lookup: Lookup, hits: Mapping[str, Sequence[Hit]]) -> bool:
    """Whether no passage of a ranked file, and no commit of one, is about the feature.

    Words are weighted by rarity, so one found nowhere weighs most. A passage includes the words of
    its file's path. An identifier of the description that a file defines is enough.
    """
    paths = list(dict.fromkeys(hit.path for own in hits.values() for hit in own))
    weights = _weights(lookup, query.feature)
    if not weights or any(lookup.defined(name.lower().strip("_$")) for name in query.spelled):
        return False
    has_description = bool(query.text.strip())
    enough = NAME_SHARE if has_description else BARE_SHARE
    if _reach(weights, _messages(lookup, frozenset(paths)), enough):
        return False
    is_repeated = has_description or _is_repeated(query, lookup, paths)
    if is_repeated and _reach(weights, _passages(lookup, paths), enough):
        return False
    return not has_description or not _is_described(query, lookup, paths)


def _is_described(query: Query, lookup: Lookup, paths: Sequence[str]) -> bool:
    """Whether the project has what the description says, whatever the feature's name."""
    if any(_is_defined(lookup, word) for word in (*query.feature, *query.opening)):
        return True
    described = _weights(lookup, (*query.feature, *query.opening, *query.description))
    return _reach(described, _passages(lookup, paths), REQUEST_SHARE)


def _is_repeated(query: Query, lookup: Lookup, paths: Iterable[str]) -> bool:
    """Whether a word of the bare name is defined, is in a path, or is on several lines.

    One line of code is enough if the word is written as code there: a route, a variable's name.
    """
    if any(map(lookup.defined, query.feature)):
        return True
    wanted = {words.stem(word) for word in query.feature}
    lines = 0
    for path in paths:
        if words.stems(path) & wanted:
            return True
        is_prose = lookup.files[lookup.rows[path]][1] == "doc"
        for line in (lookup.read(path) or "").split("\n"):
            lines += bool(words.stems_of(line) & wanted)
            if lines >= MIN_LINES or (not is_prose and _is_in_code(line, wanted)):
                return True
    return False


def _is_in_code(line: str, wanted: set[str]) -> bool:
    if COMMENT.match(line):
        return False
    return any(words.stems_of(name) & wanted for name in WRITTEN_AS_CODE.findall(line))


def _is_defined(lookup: Lookup, word: str) -> bool:
    """Whether a few files define a name with this word: enough for a description to go by."""
    return 0 < len(lookup.defined(word)) <= max(MIN_FILES, MAX_SHARE * len(lookup.files))


def _weights(lookup: Lookup, terms: Sequence[str]) -> dict[str, float]:
    """The rarity of each word's stem among the files."""
    rows = {term.word: len(term.rows) for term in lookup.terms}
    return {words.stem(word): rarity(len(lookup.files), rows.get(word, 0)) for word in terms}


def _reach(weights: Mapping[str, float], texts: Iterable[frozenset[str]], share: float) -> bool:
    """Whether any text contains stems with at least this share of the weight."""
    enough = share * sum(weights.values())
    return any(sum(weights[stem] for stem in stems & weights.keys()) >= enough for stems in texts)


def _passages(lookup: Lookup, paths: Sequence[str]) -> Iterator[frozenset[str]]:
    for path in paths:
        of_path, lines = words.stems(path), (lookup.read(path) or "").split("\n")
        for start in range(0, len(lines), PASSAGE // 2):
            yield of_path | words.stems_of("\n".join(lines[start : start + PASSAGE]))


def _messages(lookup: Lookup, paths: frozenset[str]) -> Iterator[frozenset[str]]:
    """The stems in the message of each commit that changed one of these files."""
    of_commit: dict[int, set[str]] = {}
    for word, rows in lookup.messages.items():
        for row in rows:
            of_commit.setdefault(row, set()).add(words.stem(word))
    for row, stems in of_commit.items():
        if paths.intersection(lookup.commits[row].paths):
            yield frozenset(stems)
