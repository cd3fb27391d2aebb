"""Comments in the feature's definitions that give a reason or a warning, in their own words."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from preread.dossier.fact_text import code
from preread.evidence import quoting
from preread.evidence.files import Definition
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.syntax import Comment

MAX_FACTS, MAX_IN_ONE = 12, 3  # facts; of one definition
FLOOR = 0.3  # of the best definition's score: definitions below only share the file
MIN_WORDS = 5
MAX_WHOLE = 240  # characters of a comment that is quoted whole; of a longer one, single sentences
MAX_SIGNS = 0.15  # of a sentence: with more symbols it is code or a drawing
DOCS = ("/**", "///", "//!")
# Warnings of a trap, then reasons; references to issues count as warnings.
WARNING = re.compile(
    r"(?i)\b(must(n't)?|never|do not|don't|cannot|can't|beware|careful|warning|work-?arounds?|hack"
    r"|fixme|xxx|bugs?)\b|(?<!\w)(#|gh-)\d{2,}\b|/(issues|pull)/"
)
REASON = re.compile(
    r"(?i)\b(because|otherwise|so that|in order to|to (avoid|prevent)|instead of|even (if|though)"
    r"|unless|in case|note( that)?|todo)\b"
)
LEGAL = re.compile(r"(?i)copyright|licen[sc]e")
TAG = re.compile(r"^\s*[@:\\]\w+|^\s*<\w+")  # of generated documentation, and what follows it
MARKUP = re.compile(r"\{@|</?\w+>|(^| ):( |$)")
PROSE = re.compile(r"[\w\s,.'’-]|https?://\S+")


class _Remark(NamedTuple):
    """One sentence of a comment, quoted."""

    text: str
    comment: Comment
    weight: float


def find(view: View) -> Iterator[Found]:
    """The strongest sentences, in source order within a definition."""
    best = view.best_score
    found: list[tuple[float, Definition, _Remark]] = []
    for one, comment in _near(view, FLOOR * best):
        for remark in _remarks(one, comment):
            weight = 0.6 * remark.weight + 0.25 * one.score / best
            found.append((weight + 0.15 * view.relevance.of(remark.text), one, remark))
    found.sort(key=lambda each: -each[0])
    counts = Counter[int]()
    reported: set[str] = set()
    for weight, one, remark in found:
        counts[id(one)] += 1
        is_new = counts[id(one)] <= MAX_IN_ONE and remark.text not in reported
        if is_new and len(reported) < MAX_FACTS:
            reported.add(remark.text)
            yield _fact(one, remark, weight)


def _near(view: View, floor: float) -> Iterator[tuple[Definition, Comment]]:
    """Each comment of the sources with the innermost definition that it is in or right above."""
    for file in view.sources:
        own = view.definitions_in(file)
        for comment in file.details.comments if own else ():
            inner = max(
                (one for one in own if _is_at(one, comment)),
                key=lambda one: (one.symbol.start, -one.symbol.end),
                default=None,
            )
            if inner is not None and inner.score >= floor:
                yield inner, comment


def _is_at(one: Definition, comment: Comment) -> bool:
    """Whether a comment is in a definition or right above it."""
    start = one.symbol.start - 1 - len(one.symbol.decorators)
    return start <= comment.end and comment.start <= one.symbol.end


def _remarks(one: Definition, comment: Comment) -> Iterator[_Remark]:
    """The sentences of a comment that warn or give a reason; of documentation, only warnings."""
    if LEGAL.search(comment.text):
        return
    opening = one.file.line(comment.start).lstrip()
    is_docs = opening.startswith(DOCS) or comment.end + 1 == one.symbol.start
    prose = " ".join(_prose(comment.text).split())
    for sentence in [prose] if len(prose) <= MAX_WHOLE else quoting.sentences(prose):
        warns = WARNING.search(sentence) is not None
        if (warns or (not is_docs and REASON.search(sentence))) and _is_readable(sentence):
            weight = 0.6 if is_docs else 1.0 if warns else 0.7
            yield _Remark(quoting.whole(sentence, MAX_WHOLE), comment, weight)


def _prose(text: str) -> str:
    """A comment up to the first tag of generated documentation."""
    lines = text.split("\n")
    end = next((n for n, line in enumerate(lines) if TAG.match(line)), len(lines))
    return "\n".join(lines[:end])


def _is_readable(sentence: str) -> bool:
    """Whether it is a sentence of some words, and neither code nor a drawing."""
    if len(sentence.split()) < MIN_WORDS or not quoting.whole(sentence, MAX_WHOLE):
        return False
    if MARKUP.search(sentence) or sentence.endswith((";", "{", ":", ",")):
        return False
    return len(PROSE.sub("", sentence)) <= MAX_SIGNS * len(sentence)


def _fact(one: Definition, remark: _Remark, weight: float) -> Found:
    start, end = remark.comment.start, remark.comment.end
    if start < one.symbol.start:
        end = max(end, one.symbol.start)  # it is above: the definition's own line has the name
    named = f"{code(one.symbol.name)}: " if one.symbol.name.isidentifier() else ""
    return Found(f"{named}{remark.text}", (one.file.cite(start, end),), min(1.0, weight))


RULE = Rule(
    name="comments",
    file="anti-patterns.md",
    heading="Comments that explain or warn",
    weight=0.12,
    find=find,
    example="`source`: `Write bytes, otherwise Windows translates LF to CRLF.`",
)
