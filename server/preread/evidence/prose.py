"""Prose: what the documents of the feature restrict and promise, sentence by sentence."""

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.nearness import nearness
from preread.evidence.paragraphs import paragraphs
from preread.evidence.pieces import FileView
from preread.evidence.saying import HANGS
from preread.evidence.view import View, once
from preread.index import words
from preread.models import Finding
from preread.syntax import enclosing

OTHER_DOCS = re.compile(
    r"(?i)change|history|news|release|license|contribut|versioned_docs|/(version-|v)\d|-v\d+/"
)
LIMITS = re.compile(
    r"(?i)\b(only|never|not|cannot|can['’]t|won['’]t|does(?:n['’]t| not)|unless|except|must|however|instead|otherwise"
    r"|beware|careful|warning|always|ignored?|lost|overrid\w+|unlike|contrary|replaced|requires?|disabled?"
    r"|by default|even if|regardless|at least|at most|automatically|fall(?:s|ing)? back|deprecated|advised)\b"
)
STRONG = re.compile(
    r"(?i)\b(never|cannot|unless|except|however|instead|otherwise|note that|beware|careful|ignored?|lost"
    r"|overrid\w+|unlike|contrary|not supported|advised|will not|won['’]t|must|at least|even if"
    r"|(?:warning|caution|important|attention)(?=:))\b"
)
BINDS = re.compile(
    r"(?i)\b(?:must|never|cannot|can['’]t|only|will not|won['’]t|always|unless|ignored?)\b"
)
ENDS = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<=[.!?:])\s+(?=[\W_]*[A-Z`])")
WARNS = re.compile(  # how a box opens that warns
    r"(?i)[>\s]*(?:\[!(?:warning|important|caution)\]|\.\. (?:warning|caution|danger|attention|important)::"
    r"|!!! *(?:warning|danger)|:::\s*(?:warning|danger|caution))"
)
SPELLED = re.compile(r"`+([^`\s]{4,40}?)`+|\b([a-z]+[A-Z]\w+|[a-z]+_\w+|[A-Z][a-z]+[A-Z]\w+)\b")
SPAN = re.compile(r"`[^`]*`")
LEANS = re.compile(
    r"(?i)\b(?:for example|e\.g\.|in (?:this|that|these) (?:case|example|section)s?|the (?:example|following|above)"
    r"|(?:example|snippet|code|shown|listed|described|see) (?:above|below)|let['’]?s)\b"
    r"|^(?:both|here|now|next|first|the (?:latter|former)|you can)\b|,? (?:this|these) \w+ (?:is|are)\b"
    r"|\bwe(?:['’](?:ll|ve|re))?\b(?! (?:recommend|advise|suggest|do not|don['’]t|cannot))"
)
OF_BEFORE = re.compile(
    r"(?i)\binstead\W*$|^(?:by default|note that|in general),? (?:it|they|this|that|these)\b"
)
WISH = re.compile(r"(?i)^if you [^,]*,")  # who wants this: no limit of what is there
HEDGED = re.compile(  # advice to whoever uses it: nothing that holds of it
    r"(?i)\b(?:likely|probably|perhaps|may want|might want|consider(?:ed)? using"
    r"|(?:simpler|easier|cleaner|better|preferable)(?:,| and| or| to| than))\b"
)
ALIKE, FEW = 0.5, 3  # of the shorter sentence's words: the same is said again; so many say nothing
NEAR = 0.4  # below that a sentence is about something else
LEAST, MOST_SAID, MOST, MOST_HERE = 25, 240, 8, 5
KNOWN, FILES = 0.08, 6  # what a name of the feature's first files adds; how many these are


class Sentence(NamedTuple):
    """One sentence of a document, on the lines it stands on."""

    text: str
    start: int
    end: int
    of: str = ""  # the option or definition that it is said of
    named: int = 0  # the line of that name


@once
def limits(view: View) -> Iterator[Finding]:
    """Sentences of the documents that say what the feature does not do, needs, or does by itself."""
    measure = nearness(view)
    found = []
    known = {symbol.name for file in view.sources[:FILES] for symbol in file.outline.symbols}
    known |= {member.name for file in view.sources[:FILES] for member in file.details.members}
    for doc in view.docs:
        if OTHER_DOCS.search(doc.path):
            continue
        home = measure.of(doc.path)
        for sentence in sentences(doc):
            if not LIMITS.search(WISH.sub("", SPAN.sub("", sentence.text))) or not stands_alone(
                sentence.text
            ):
                continue
            about = measure.of(sentence.text)
            section = enclosing(doc.outline, sentence.start)
            heading = f"{section.name if section else ''} {sentence.of}"
            under = measure.of(heading)
            if max(about, 0.8 * under, 0.8 * home) < NEAR or not measure.named_in(
                sentence.text, heading, doc.path
            ):
                continue
            named = KNOWN * (not known.isdisjoint(names_in(sentence)))
            above = doc.lines[max(0, sentence.start - 3) : sentence.start - 1]
            strong = STRONG.search(sentence.text) or any(map(WARNS.match, above))
            limits = named + 0.25 * bool(strong) + 0.05 * min(3, len(LIMITS.findall(sentence.text)))
            worth = (
                0.35 * max(about, 0.6 * under, 0.6 * home)
                + 0.2 * under
                + 0.2 * home
                + 0.1 * doc.score
                + limits
            )
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
            text=said_of(sentence, MOST_SAID),
            sources=cites(doc, sentence),
            reason="the documents limit or promise something",
            score=min(0.95, 0.45 + 0.4 * worth),
        )


def names_in(sentence: Sentence) -> set[str]:
    """The names of code that a sentence has or is said of, as code spells them."""
    found = {one or other for one, other in SPELLED.findall(sentence.text)} | {sentence.of}
    return {name.strip(".()").rpartition(".")[2].replace("-", "_") for name in found} - {""}


def said_of(sentence: Sentence, most: int) -> str:
    """A sentence as a quote, after the option or definition that it is said of, if it does not say that itself."""
    name, said = sentence.of, phrases.quote(sentence.text, most)
    if not name or name in sentence.text:
        return said
    return f"{code(name) if phrases.provable(name) else name}: {said}"


def cites(doc: FileView, sentence: Sentence) -> tuple[str, ...]:
    """Where a sentence stands, and the name that it is said of."""
    own = doc.cite(sentence.start, sentence.end)
    away = sentence.named and sentence.of not in sentence.text and sentence.named != sentence.start
    return (doc.cite(sentence.named), own) if away else (own,)


def _again(text: str, other: str) -> bool:
    """Whether two sentences say the same, by their words."""
    one, two = ({words.stem(word) for word in words.of_sentence(said)} for said in (text, other))
    return (
        text in other or other in text or len(one & two) > max(FEW, ALIKE * min(len(one), len(two)))
    )


def stands_alone(text: str) -> bool:
    """Whether a reader needs nothing around a sentence: no example, list or sentence that it speaks of."""
    whole = phrases.provable(text) and phrases.complete(text) and len(text) <= MOST_SAID
    advice = HEDGED.search(text) and not BINDS.search(text)
    return (
        whole
        and not advice
        and not LEANS.search(text)
        and (len(list(ENDS.finditer(text))) > 0 or not leans(text))
    )


def leans(text: str) -> bool:
    """Whether a sentence speaks of the one before it."""
    return any(one.search(text) for one in (HANGS, OF_BEFORE))


def sentences(doc: FileView) -> Iterator[Sentence]:
    """The sentences of a document's paragraphs, list items and rows of options."""
    for paragraph in paragraphs(doc):
        lines = list(paragraph.lines)
        text = " ".join(lines)
        before: list[int] = []
        starts = [0, *(m.end() for m in ENDS.finditer(text)), len(text)]
        for first, end in itertools.pairwise(starts):
            hangs = before and leans(text[first:end].strip()) and end - before[0] <= MOST_SAID
            begin = before[0] if hangs else first
            said = text[begin:end].strip().rstrip(".")
            if len(said) >= LEAST:
                start, last = (
                    paragraph.start + _line_at(lines, at) for at in (begin, begin + len(said) - 1)
                )
                yield Sentence(said, start, last, paragraph.of, paragraph.named)
            before = [begin]


def _line_at(lines: list[str], position: int) -> int:
    for number, line in enumerate(lines):
        if position <= len(line):
            return number
        position -= len(line) + 1
    return len(lines) - 1
