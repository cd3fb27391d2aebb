"""The query: the words of a request by the part they come from, with weights."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from preread.index import words
from preread.models import Request

# The weight of a word by the part of the request that it comes from. The opening is the
# description's first sentence, usually its summary.
FEATURE, OPENING, DESCRIPTION, TICKET = 3.0, 2.0, 0.3, 0.3
MAX_WORDS = 24  # words of a description or ticket kept apart; the rest goes to `more`
MAX_OPENING = 16  # words
COMPOUND = re.compile(r"_|[a-z][A-Z]")
MEMBER = re.compile(r"(?<=\w\.)[A-Za-z]\w+(?=\()|(?<=`)[A-Za-z]\w+(?=`|\()")
SENTENCE = re.compile(r"[.?!]\s|\n")  # the end of the first sentence or of a title


class Query(NamedTuple):
    """The words of a request, by the part they come from."""

    feature: tuple[str, ...]
    description: tuple[str, ...] = ()
    ticket: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()  # the feature's name as one identifier
    more: tuple[str, ...] = ()  # further words of the description, then of the ticket
    text: str = ""  # all of it, as it was written
    opening: tuple[str, ...] = ()  # words of the description's first sentence
    scope: str = ""  # the prefix of all ranked paths

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.feature, *self.whole, *self.description, *self.ticket)))

    @property
    def spelled(self) -> frozenset[str]:
        """Identifiers written as code in the text: `BindEnv`, `line_ranges`, `click.confirm`."""
        named = {n for n in words.IDENTIFIER.findall(self.text) if COMPOUND.search(n.strip("_"))}
        return frozenset(named) | frozenset(MEMBER.findall(self.text))

    @property
    def weights(self) -> dict[str, float]:
        """Every word with its weight, in the order of the parts."""
        found = dict.fromkeys((*self.feature, *self.whole), FEATURE)
        for words_of, weight in (
            (self.opening, OPENING),
            (self.description, DESCRIPTION),
            (self.ticket, TICKET),
            (self.more, DESCRIPTION),
        ):
            for word in words_of:
                found.setdefault(word, weight)
        return found


def query_of(request: Request, ticket_text: str) -> Query:
    """What to search for: the feature's words, then the description's, then the ticket's."""
    feature = words.of_feature(request.feature)
    description = tuple(w for w in words.of_sentence(request.description) if w not in feature)
    earlier = {*feature, *description}
    ticket = tuple(w for w in words.of_sentence(ticket_text) if w not in earlier)
    title = SENTENCE.split((request.description or ticket_text).strip(), maxsplit=1)[0]
    opening = [word for word in words.of_sentence(title) if word not in words.REPORT_WORDS]
    return Query(
        feature,
        description[:MAX_WORDS],
        ticket[:MAX_WORDS],
        whole=words.compounds(request.feature),
        more=description[MAX_WORDS:] + ticket[MAX_WORDS:],
        text=f"{request.description}\n{ticket_text}",
        opening=tuple(opening[:MAX_OPENING]),
        scope=f"{request.scope}/" if request.scope else "",
    )


def stem_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """The weight of each word's stem; of several words with one stem, the largest."""
    found: dict[str, float] = {}
    for word, weight in weights.items():
        stem = words.stem(word)
        found[stem] = max(weight, found.get(stem, 0.0))
    return found


class StemsIn(dict[str, tuple[str, ...]]):
    """For each identifier, which of the given stems its parts or the whole of it have."""

    def __init__(self, stems: Iterable[str]) -> None:
        self._stems = frozenset(stems)

    def __missing__(self, identifier: str) -> tuple[str, ...]:
        found = words.stems(identifier) | {words.whole_stem(identifier)}
        self[identifier] = tuple(sorted(found & self._stems))
        return self[identifier]
