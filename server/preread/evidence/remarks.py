"""Remarks: what comments and docstrings of the feature warn about and explain, in their own words."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.traps import DEPRECATED
from preread.evidence.view import FileView, View
from preread.models import Finding
from preread.syntax import Comment, enclosing

STRONG = re.compile(
    r"(?i)\b(don['’]?t|do not|never|must not|mustn['’]?t|careful|beware|race|deadlock|security|sensitive|CVE-\d|unsafe"
    r"|dangerous|workaround|hack|breaks?|subtle|surprising(ly)?|historically|order matters|on purpose"
    r"|bizarre|freeze|bug|despite|intentional(ly)?)\b"
    r"|(?:^|[,;.—-] )otherwise\b|(?-i:\b(WARNING|HACK|XXX|FIXME|BUG|CAREFUL|IMPORTANT|ATTENTION)\b)"
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
HANGS = re.compile(r"(?i)^(so|this|that|these|it|they|and|but|hence|thus|therefore|see|here|then)\b|^\W*#\d")
FIELD_OF_DOC = re.compile(r"^\s*(:\w+|@\w+|\.\. |Args:|Returns:|>>>|[-*+] )")
LONGEST, MOST_SAID, MOST, MOST_IN_ONE = 1500, 190, 16, 3
WORTH = {0.75: 2.4, 0.62: 1.6, 0.5: 1.4, 0.0: 0.4}  # of a comment beside the code around it, by its weight alone


class Remark(NamedTuple):
    """One sentence that somebody wrote down for the next reader, where it stands, and how much it warns."""

    said: str
    within: str
    start: int
    end: int
    word: str
    weight: float


def warnings(view: View) -> Iterator[Finding]:
    """What comments and docstrings at the feature's symbols warn about, with their reasons; the strongest first."""
    found = []
    for file in (*view.sources[:8], *view.tests[:4]):
        found += list(_of_file(view, file))
    found.sort(key=lambda finding: -finding.score)
    said: dict[str, Finding] = {}
    for finding in found:
        said.setdefault(finding.text.partition(": ")[2] or finding.text, finding)
    yield from list(said.values())[:MOST]


def _of_file(view: View, file: FileView) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for remark in (*_comments(view, file), *_docstrings(view, file)):
        seen[remark.within] = seen.get(remark.within, 0) + 1
        if seen[remark.within] > MOST_IN_ONE:
            continue
        named = phrases.provable(remark.within) and re.fullmatch(r"[\w.]+", remark.within)
        yield Finding(
            rule="warnings",
            kind="warning",
            text=(f"{code(remark.within)}: " if named else "") + phrases.quote(remark.said, MOST_SAID),
            sources=(file.cite(remark.start, remark.end),),
            reason=f"a remark that warns or explains: {remark.word}",
            score=remark.weight + 0.15 * min(1.0, view.relevance(remark.said)) - (0.2 if file.role != "source" else 0),
        )


def _comments(view: View, file: FileView) -> Iterator[Remark]:
    for comment in file.details.comments:
        folded = " ".join(comment.text.split())
        if not 30 <= len(folded) <= LONGEST or TOOLING.search(folded) or CODE_LIKE.search(comment.text):
            continue
        here = view.is_hot(file, comment.start) or view.is_hot(file, comment.end + 1) or view.relevance(folded) >= 1
        if not here or DEPRECATED.search(folded):
            continue
        strong = STRONG.search(folded)
        if not strong and comment.start < 10 and not comment.within:
            continue  # a file's head speaks of its origin
        if file.role != "source" and len(folded) < 50:
            continue
        word, weight = _weight(folded, file)
        if word is None:
            continue
        within, end = comment.within, comment.end
        below = enclosing(file.outline, end + 1)
        if below is not None and below.start == end + 1 and below.name in file.lines[end]:
            within, end = below.name, end + 1
        yield Remark(_around(folded, word.start()), within, comment.start, end, word[0], weight)


def _docstrings(view: View, file: FileView) -> Iterator[Remark]:
    """Sentences of the prose in docstrings; fields, lists and examples are left out."""
    if file.role != "source" or not file.path.endswith((".py", ".pyi")):
        return  # in other languages they are comments
    for hot in view.symbols:
        if hot.file is not file:
            continue
        for start, end, paragraph in _paragraphs(file, hot.symbol.start, hot.symbol.end):
            strong = STRONG.search(paragraph) or re.search(r"\bALWAYS\b|should be called|if and only if", paragraph)
            if strong is None or DEPRECATED.search(paragraph) or len(paragraph) > LONGEST:
                continue
            yield Remark(_around(paragraph, strong.start()), hot.symbol.name, start, end, strong[0], 0.6)


def _paragraphs(file: FileView, start: int, last: int) -> Iterator[tuple[int, int, str]]:
    opening = next((n for n in range(start, min(last, start + 40)) if re.match(r'\s*[rR]?"""', file.lines[n])), -1)
    if opening < 0 or file.lines[opening].count('"""') > 1:
        return
    at: list[int] = []
    for n in range(opening, min(last, opening + 120)):
        line = file.lines[n]
        closing = n > opening and '"""' in line
        text = line.replace('"""', "").strip()
        if not text or FIELD_OF_DOC.match(text) or closing:
            if at:
                yield at[0] + 1, at[-1] + 1, _prose(file, at)
            at = []
            if text and FIELD_OF_DOC.match(text):
                return  # what follows are fields
        else:
            at.append(n)
        if closing:
            return


def _prose(file: FileView, at: list[int]) -> str:
    return " ".join(" ".join(file.lines[n].replace('"""', "") for n in at).split())


def worth_saying(file: FileView, comment: Comment) -> tuple[str, float]:
    """What a comment says to the next reader, in its own words, and how much it tells; nothing of no use."""
    folded = " ".join(comment.text.split())
    if not 25 <= len(folded) <= LONGEST or TOOLING.search(folded) or CODE_LIKE.search(comment.text):
        return "", 0.0
    word, weight = _weight(folded, file)
    said = _around(folded, word.start() if word else 0)
    return (said, WORTH[weight] if word else WORTH[0.0]) if phrases.provable(said) else ("", 0.0)


def _weight(text: str, file: FileView) -> tuple[re.Match[str] | None, float]:
    """The word that makes a comment worth reading, and how much; in tests only what warns aloud."""
    if found := STRONG.search(text):
        return found, 0.75
    if file.role != "source":
        return None, 0.0
    if found := WEAK.search(text):
        return found, 0.62
    found = REASON.search(text)
    return found, 0.5 if found and len(text) >= 60 else 0.0


def _around(text: str, at: int) -> str:
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
