"""Prose: what the documents of the feature restrict and promise, sentence by sentence."""

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from preread.evidence import phrases, words
from preread.evidence.nearness import nearness
from preread.evidence.pieces import FileView
from preread.evidence.saying import HANGS
from preread.evidence.view import View, once
from preread.models import Finding
from preread.syntax import enclosing

OTHER_DOCS = re.compile(r"(?i)change|history|news|release|license|contribut|versioned_docs|/(version-|v)\d")
LIMITS = re.compile(
    r"(?i)\b(only|never|not|cannot|can['’]t|won['’]t|does(?:n['’]t| not)|unless|except|must|however|instead|otherwise"
    r"|beware|careful|warning|always|ignored?|lost|overrid\w+|unlike|contrary|replaced|requires?|disabled?"
    r"|by default|even if|regardless|at least|at most|automatically|fall(?:s|ing)? back|deprecated|advised)\b"
)
STRONG = re.compile(
    r"(?i)\b(never|cannot|unless|except|however|instead|otherwise|note that|beware|careful|ignored?|lost"
    r"|overrid\w+|unlike|contrary|not supported|advised|will not|won['’]t|must|at least|even if)\b"
)
FENCE = re.compile(r"\s*(```|~~~|:::)")
SKIPPED = re.compile(r"\s*([#|<=]|>(?! \w)|\{[%{]|\.\. |import |export |:[\w-]+:|---|===|\[!)|^\t|^ {4,}(?![-*+\d])")
ITEM = re.compile(r"^\s*(?:>|[-*+]|\d+[.)])\s+")
BOX = re.compile(r"\s*(?:\.\. (?:warning|caution|danger|attention|important|note)::|!!! ?\w+|\?\?\?)")
ENDS = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<=[.!?:])\s+(?=[\W_]*[A-Z`])")
SPAN = re.compile(r"`[^`]*`")
LEANS = re.compile(
    r"(?i)\b(?:for example|e\.g\.|in (?:this|that|these) (?:case|example|section)s?|the (?:example|following|above)"
    r"|(?:example|snippet|code|shown|listed|described|see) (?:above|below)|let['’]?s)\b"
    r"|^(?:both|here|now|the (?:latter|former)|you can)\b|,? (?:this|these) \w+ (?:is|are)\b"
)
OF_BEFORE = re.compile(r"(?i)\binstead\W*$|^(?:by default|note that|in general),? (?:it|they|this|that|these)\b")
WISH = re.compile(r"(?i)^if you [^,]*,")  # who wants this: no limit of what is there
ALIKE, FEW = 0.5, 3  # of the shorter sentence's words: the same is said again; so many say nothing
NEAR = 0.4  # below that a sentence is about something else
LEAST, MOST_SAID, MOST, MOST_HERE = 25, 240, 8, 5


class Sentence(NamedTuple):
    """One sentence of a document, on the lines it stands on."""

    text: str
    start: int
    end: int


@once
def limits(view: View) -> Iterator[Finding]:
    """Sentences of the documents that say what the feature does not do, needs, or does by itself."""
    measure = nearness(view)
    found = []
    for doc in view.docs:
        if OTHER_DOCS.search(doc.path):
            continue
        home = measure.of(doc.path)
        for sentence in sentences(doc):
            if not LIMITS.search(WISH.sub("", SPAN.sub("", sentence.text))) or not _stands_alone(sentence.text):
                continue
            about = measure.of(sentence.text)
            section = enclosing(doc.outline, sentence.start)
            under = measure.of(section.name) if section else 0.0
            heading = section.name if section else ""
            if max(about, 0.8 * under, 0.8 * home) < NEAR or not measure.named_in(sentence.text, heading, doc.path):
                continue
            limits = 0.25 * bool(STRONG.search(sentence.text)) + 0.05 * min(3, len(LIMITS.findall(sentence.text)))
            worth = 0.35 * max(about, 0.6 * under, 0.6 * home) + 0.2 * under + 0.2 * home + 0.1 * doc.score + limits
            found.append((worth, doc, sentence))
    found.sort(key=lambda one: (-one[0], one[1].path, one[2].start))
    counts: dict[str, int] = {}
    told: set[str] = set()
    for worth, doc, sentence in found:
        again = any(_again(sentence.text, other) for other in told)
        if counts.get(doc.path, 0) >= MOST_HERE or again or len(told) >= MOST:
            continue
        counts[doc.path] = counts.get(doc.path, 0) + 1
        told.add(sentence.text)
        yield Finding(
            rule="limits",
            kind="document",
            text=phrases.quote(sentence.text, MOST_SAID),
            sources=(doc.cite(sentence.start, sentence.end),),
            reason="the documents limit or promise something",
            score=min(0.95, 0.45 + 0.4 * worth),
        )


def _again(text: str, other: str) -> bool:
    """Whether two sentences say the same, by their words."""
    one, two = ({words.stem(word) for word in words.of_sentence(said)} for said in (text, other))
    return text in other or other in text or len(one & two) > max(FEW, ALIKE * min(len(one), len(two)))


def _stands_alone(text: str) -> bool:
    """Whether a reader needs nothing around a sentence: no example, list or sentence that it speaks of."""
    whole = phrases.provable(text) and phrases.complete(text) and len(text) <= MOST_SAID
    return whole and not LEANS.search(text) and (len(list(ENDS.finditer(text))) > 0 or not leans(text))


def leans(text: str) -> bool:
    """Whether a sentence speaks of the one before it."""
    return any(one.search(text) for one in (HANGS, OF_BEFORE))


def sentences(doc: FileView) -> Iterator[Sentence]:
    """The sentences of a document's paragraphs and list items; code, tables and markup are left out."""
    at: list[int] = []
    fenced = boxed = False
    head = next((n for n, line in enumerate(doc.lines[1:60], 2) if line == "---"), 0) if doc.lines[:1] == ["---"] else 0
    for number, line in enumerate([*doc.lines, ""], 1):
        if number <= head:
            continue
        is_fence = FENCE.match(line) is not None
        fenced ^= is_fence and not line.strip().startswith(":::")
        boxed = BOX.match(line) is not None or (boxed and (not line.strip() or line[0].isspace()))
        skipped = BOX.match(line) or SKIPPED.match(line.lstrip() if boxed else line)
        is_prose = bool(line.strip()) and not ((fenced and not boxed) or is_fence or skipped)
        if at and (not is_prose or ITEM.match(line)):
            yield from _of_paragraph(doc, at[0], at[-1])
            at = []
        if is_prose:
            at.append(number)


def _of_paragraph(doc: FileView, first: int, last: int) -> Iterator[Sentence]:
    lines = [ITEM.sub("", doc.lines[first - 1]).strip(), *(doc.lines[n].strip() for n in range(first, last))]
    text = " ".join(lines)
    before: list[int] = []
    starts = [0, *(m.end() for m in ENDS.finditer(text)), len(text)]
    for first_of, end in itertools.pairwise(starts):
        hangs = before and leans(text[first_of:end].strip()) and end - before[0] <= MOST_SAID
        begin = before[0] if hangs else first_of
        said = text[begin:end].strip().rstrip(".")
        if len(said) >= LEAST:
            yield Sentence(said, first + _line_at(lines, begin), first + _line_at(lines, begin + len(said) - 1))
        before = [begin]


def _line_at(lines: list[str], position: int) -> int:
    for number, line in enumerate(lines):
        if position <= len(line):
            return number
        position -= len(line) + 1
    return len(lines) - 1
