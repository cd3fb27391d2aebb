"""The query: the words of a request, by the part they come from, and how much each says."""

import re
from typing import NamedTuple

from preread.index import words
from preread.models import Request

# How much a word says about where to look, by the part of the request that it comes from. The
# opening is the description's first sentence, which mostly says what the rest explains.
FEATURE, OPENING, DESCRIPTION, TICKET = 3.0, 2.0, 0.3, 0.3
MAX_WORDS = 24  # of a description or a ticket that count in full; the others weigh as little
MAX_OPENING = 16  # words
COMPOUND = re.compile(r"_|[a-z][A-Z]")
MEMBER = re.compile(r"(?<=\w\.)[A-Za-z]\w+(?=\()|(?<=`)[A-Za-z]\w+(?=`|\()")
SENTENCE = re.compile(r"[.?!]\s|\n")  # ends the first one, or a title


class Query(NamedTuple):
    """The words of a request, by the part they come from."""

    feature: tuple[str, ...]
    description: tuple[str, ...] = ()
    ticket: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()  # the feature's name as one identifier
    more: tuple[str, ...] = ()  # what else the description has, and then the ticket
    text: str = ""  # all of it, as it was written
    opening: tuple[str, ...] = ()  # of the description's first sentence
    scope: str = ""  # what ranked paths begin with

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.feature, *self.whole, *self.description, *self.ticket)))

    @property
    def spelled(self) -> frozenset[str]:
        """Identifiers that the text spells out: `BindEnv`, `line_ranges`, `click.confirm`."""
        named = {n for n in words.IDENTIFIER.findall(self.text) if COMPOUND.search(n.strip("_"))}
        return frozenset(named) | frozenset(MEMBER.findall(self.text))

    @property
    def weights(self) -> dict[str, float]:
        """Every word with what it is worth, the likeliest first."""
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
    seen = {*feature, *description}
    ticket = tuple(w for w in words.of_sentence(ticket_text) if w not in seen)
    whole, more = words.compounds(request.feature), description[MAX_WORDS:] + ticket[MAX_WORDS:]
    text = f"{request.description}\n{ticket_text}"
    title = SENTENCE.split((request.description or ticket_text).strip(), maxsplit=1)[0]
    opening = tuple(word for word in words.of_sentence(title) if word not in words.REPORT_WORDS)[
        :MAX_OPENING
    ]
    scope = f"{request.scope}/" if request.scope else ""
    return Query(
        feature, description[:MAX_WORDS], ticket[:MAX_WORDS], whole, more, text, opening, scope
    )
