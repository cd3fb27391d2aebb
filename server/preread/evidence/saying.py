"""Saying: which comments tell the next reader something, how much, and the sentence that does."""

import re

from preread.evidence import phrases
from preread.evidence.pieces import FileView
from preread.syntax import Comment

STRONG = re.compile(
    r"(?i)\b(don['’]?t|do not|never|must not|mustn['’]?t|careful|beware|race|deadlock|security|sensitive|CVE-\d|unsafe"
    r"|dangerous|workaround|hack|breaks|subtle|surprising(ly)?|historically|order matters|on purpose"
    r"|bizarre|freeze|bug|despite|intentional(ly)?)\b"
    r"|(?:would|will|could|not|n['’]t|to) break\b|(?:^|[,;.—-] )otherwise\b"
    r"|(?-i:\b(WARNING|HACK|XXX|FIXME|BUG|CAREFUL|IMPORTANT|ATTENTION)\b)"
)
WEAK = re.compile(
    r"\b(NOTE|TODO|N\.B\.|ALWAYS)\b|(?<![\w&])#\d{2,6}\b|\bgh-\d+|issues/\d+"
    r"|(?i:\b(must|only because|assum\w+|legacy|backwards?[- ]compat\w*|for now|temporary|compatibility"
    r"|can['’]?t|cannot|isn['’]?t|ideally|malformed|should be called|should never happen|special attention"
    r"|not (?:yet|supported|support|covered)|unlike|instead of|if and only if)\b)"
)
REASON = re.compile(
    r"(?i)\b(because|so that|in case|in order (?:not )?to|to (?:avoid|prevent|ensure|make sure)|else we"
    r"|since (?:it|we|the|they|this))\b"
)
TOOLING = re.compile(
    r"(?i)^\W*(type:|noqa|pragma|eslint|biome|prettier|ts-(ignore|expect)|pylint|mypy|nosec|fmt:|ruff|isort|@ts-|istanbul"
    r"|v8 ignore|region|copyright|spdx|licensed?\b|sourcemapping|nolint|go:)"
)
CODE_LIKE = re.compile(r"[;{}]\s*$|^\s*(return|const|let|var|if|for|import|from|def|self\.)\b.*[=(:]")
HANGS = re.compile(
    r"(?i)^(so|this|that|these|it|they|and|but|however|instead|hence|thus|therefore|see|here|then|which|otherwise|or)\b|^\W*#\d"
)
LONGEST, MOST_SAID = 1500, 190
WORTH = {0.75: 2.4, 0.62: 1.6, 0.5: 1.4, 0.0: 0.4}  # of a comment beside the code around it, by its weight alone


def worth_saying(file: FileView, comment: Comment) -> tuple[str, float]:
    """What a comment says to the next reader, in its own words, and how much it tells; nothing of no use."""
    folded = " ".join(comment.text.split())
    if not is_prose(comment):
        return "", 0.0
    word, weight = weigh(folded, file)
    said = around(folded, word.start() if word else 0)
    return (said, WORTH[weight] if word else WORTH[0.0]) if phrases.provable(said) else ("", 0.0)


def is_prose(comment: Comment) -> bool:
    """Whether a comment is words for people, no tool's, no code left behind."""
    folded = " ".join(comment.text.split())
    return 25 <= len(folded) <= LONGEST and not TOOLING.search(folded) and not CODE_LIKE.search(comment.text)


def weigh(text: str, file: FileView) -> tuple[re.Match[str] | None, float]:
    """The word that makes a comment worth reading, and how much; in tests only what warns aloud."""
    if found := STRONG.search(text):
        return found, 0.75
    if file.role != "source":
        return None, 0.0
    if found := WEAK.search(text):
        return found, 0.62
    found = REASON.search(text)
    return found, 0.5 if found and len(text) >= 60 else 0.0


def around(text: str, at: int) -> str:
    """The sentence that holds position `at`, and the one before it when this one hangs on it, as far as both fit."""
    starts = [0, *(m.end() for m in re.finditer(r"(?<!e\.g)(?<!i\.e)[.!?] (?=[\W_]*[A-Z`])", text))]
    ends = [*(start - 1 for start in starts[1:]), len(text)]
    i = next(i for i in range(len(starts) - 1, -1, -1) if starts[i] <= at)
    start, end = starts[i], ends[i]
    if i and HANGS.match(text[start:]) and end - starts[i - 1] <= MOST_SAID:
        start = starts[i - 1]
    if end - start < 100 and i + 1 < len(ends) and ends[i + 1] - start <= MOST_SAID:
        end = ends[i + 1]
    if at - start > MOST_SAID - 60:  # the clause that warns, not a long way to it
        parts = (m for m in (", ", "; ", ": ", " — ", " - ", ". ") if m in text[start:at])
        marks = [text.rfind(m, start, at) + len(m) for m in parts]
        start = max(marks, default=start)
    return text[start:end].strip().rstrip(".")
