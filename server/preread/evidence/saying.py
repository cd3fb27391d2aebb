"""Saying: which comments tell the next reader something, how much, and the sentence that does."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from preread.evidence import phrases
from preread.evidence.pieces import FileView

STRONG = re.compile(
    r"(?i)\b(don['’]?t|do not|never|must not|mustn['’]?t|careful|beware|race|deadlock|security|sensitive|CVE-\d|unsafe"
    r"|dangerous|workaround|hack|breaks|subtle|surprising(ly)?|historically|order matters|on purpose"
    r"|bizarre|freeze|bug|despite|intentional(ly)?)\b"
    r"|(?:would|will|could|not|n['’]t|to) break\b|(?:^|[,;.—-] )otherwise\b"
    r"|(?-i:\b(WARNING|HACK|XXX|FIXME|BUG|CAREFUL|IMPORTANT|ATTENTION|SAFETY)\b)|\b(?:warning|important|caution):"
)
WEAK = re.compile(
    r"\b(NOTE|TODO|N\.B\.|ALWAYS|Note)\b|(?<![\w&])#\d{2,6}\b|\bgh-\d+|issues/\d+"
    r"|(?i:\b(must|only because|assum\w+|legacy|backwards?[- ]compat\w*|for now|temporary|compatibility"
    r"|can['’]?t|cannot|isn['’]?t|ideally|malformed|should be called|should never happen|special attention"
    r"|not (?:yet|supported|support|covered)|unlike|instead of|if and only if|rather than|always|even (?:if|when)"
    r"|explicitly|deliberately|performance|no longer|unless)\b)"
)
REASON = re.compile(
    r"(?i)\b(because|so that|in case|in order (?:not )?to|(?:to )?(?:avoid|prevent|ensur)(?:ing|es?)?|make sure|else we"
    r"|since (?:it|we|the|they|this))\b"
)
TOOLING = re.compile(
    r"(?i)^\W*(type:|noqa|pragma|eslint|biome|prettier|ts-(ignore|expect)|pylint|mypy|nosec|fmt:|ruff|isort|@ts-|istanbul"
    r"|v8 ignore|region|copyright|spdx|licensed?\b|sourcemapping|nolint|go:)"
)
CODE_LIKE = re.compile(
    r"[;{}]\s*$|^\s*(return|const|let|var|if|for|import|from|def|self\.)\b.*[=(:]"
)
HANGS = re.compile(
    r"(?i)^(so|this|that|these|it|they|and|but|however|instead|hence|thus|therefore|see|here|then|which|otherwise|or)\b|^\W*#\d"
    r"|^(?:\W*note,? (?:that )?,?)?(?:in|for|under) (?:this|that|these|those|which|such)"
    r" (?:cases?|situations?|circumstances)\b"
)
# Where one thing that a comment says ends: blank lines, items of lists, fields, markup of documentation.
PARTS = re.compile(
    r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+•] |\d+[.)] |[@\\]\w+|:\w+(?: \w+)*:(?!`)))"
    r"|</?(?:summary|remarks|para|p|ul|ol|li|list|item|description|returns|value|br|div|note)\b[^>]{0,40}>"
)
FIELD = re.compile(r"\W*(?:see|param|returns?|type|since|author|internal|private|public|link)\b")
ADDRESS = re.compile(r"https?://\S+")
EXAMPLE = re.compile(  # and fields of documentation: parameters, exceptions; not a name set as code
    r"```.*?(?:```|\Z)|<code>(?![^<\n]{1,40}</code>).*?(?:</code>|\Z)|<(pre|example)>.*?(?:</\1>|\Z)"
    r"|<(param|typeparam|exception|seealso)\b[^>]*>.*?(?:</\2>|\Z)|@example\b.*?(?=\n\s*@|\Z)",
    re.DOTALL,
)
ENDS = re.compile(r"(?<!e\.g)(?<!i\.e)[.!?] (?=[\W_]*[A-Z`])")
TURNS = re.compile(r"(?i)(?:but|however|yet|still)\b")
ELSEWHERE = re.compile(
    r"(?i)\b(?:above|following|previous) (?:example|condition|snippet|code)|\b(?:example|code) (?:above|below)"
)
OF_ITSELF = re.compile(
    r"(?i)this (?:method|function|class|option|field|type|test|should|must)\b|otherwise\b"
)
LONGEST, LEAST, MOST_SAID, HUNG = 4000, 25, 190, 240
WHOLE, FEWEST = 300, 5  # characters of a remark that is told, words
OFTEN = 3  # what stands so often in one file is no remark on the place
SURE = 0.75  # the weight of what warns aloud


class Telling(NamedTuple):
    """A sentence of a comment that tells the next reader something, the word that shows it, and how much it tells."""

    said: str
    word: str
    weight: float


def telling(file: FileView, text: str) -> Telling | None:
    """The sentence of a comment that tells most, with those that belong to it; its first one where none warns."""
    if TOOLING.search(text) or len(text) > LONGEST:
        return None
    best: Telling | None = None
    for part in parts(text):
        for start, end in sentences(part):
            word, weight = weigh(part[start:end], file)
            if best is None or weight > best.weight:
                said = around(part, start + word.start() if word else start)
                if phrases.provable(said) and len(said) >= LEAST:
                    best = Telling(said, word[0] if word else "", weight)
    return best


def is_usual(file: FileView, said: str) -> bool:
    """Whether the same remark stands all over a file."""
    if file.text.count(" ".join(said.split()[:3])) < OFTEN:
        return False
    return sum(said in " ".join(comment.text.split()) for comment in file.details.comments) >= OFTEN


def stands(said: str) -> bool:
    """Whether what a comment says is whole and needs no sentence before it."""
    leans = HANGS.match(said) and not OF_ITSELF.match(said) and len(sentences(said)) == 1
    leans = leans or ELSEWHERE.search(said) is not None
    return (
        phrases.complete(said) and len(said) <= WHOLE and not leans and len(said.split()) >= FEWEST
    )


def parts(text: str) -> Iterator[str]:
    """The paragraphs and items of a comment, each on one line, without examples and code left behind."""
    for part in PARTS.split(EXAMPLE.sub("\n\n", text)):
        folded = " ".join((part or "").split())
        is_field = folded.startswith(("@", ":", "\\")) and FIELD.match(folded)
        if len(ADDRESS.sub("", folded)) >= LEAST and not is_field and not CODE_LIKE.search(part):
            yield folded


def sentences(text: str) -> list[tuple[int, int]]:
    """Where each sentence of a line begins and ends."""
    starts = [0, *(match.end() for match in ENDS.finditer(text)), len(text) + 1]
    return [(start, end - 1) for start, end in pairwise(starts)]


def weigh(text: str, file: FileView) -> tuple[re.Match[str] | None, float]:
    """The word that makes a comment worth reading, and how much; in tests only what warns aloud."""
    if found := STRONG.search(text):
        return found, SURE
    if file.role != "source":
        return None, 0.0
    if found := WEAK.search(text):
        return found, 0.62
    found = REASON.search(text)
    return found, 0.5 if found and len(text) >= 60 else 0.0


def around(text: str, at: int) -> str:
    """The sentence that holds position `at`, and the one before it when this one hangs on it, as far as both fit."""
    spans = sentences(text)
    i = next(i for i in range(len(spans) - 1, -1, -1) if spans[i][0] <= at)
    start, end = spans[i]
    if i and HANGS.match(text[start:]) and end - spans[i - 1][0] <= HUNG:
        start = spans[i - 1][0]
    for after, last in spans[i + 1 :]:  # what turns it round, what follows a short one
        most = WHOLE if TURNS.match(text[after:]) else MOST_SAID if end - start < 100 else 0
        if last - start > most:
            break
        end = last
    if at - start > MOST_SAID - 60:  # the clause that warns, not a long way to it
        breaks = (m for m in (", ", "; ", ": ", " — ", " - ", ". ") if m in text[start:at])
        marks = [text.rfind(m, start, at) + len(m) for m in breaks]
        start = max(marks, default=start)
    return text[start:end].strip().rstrip(".")
