"""Remarks: what comments and docstrings of the feature warn about and explain, in their own words."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import digests, phrases, saying
from preread.evidence.nearness import nearness
from preread.evidence.passages import passages
from preread.evidence.traps import DEPRECATED
from preread.evidence.view import FileView, View
from preread.models import Finding
from preread.syntax import Comment, Symbol, enclosing

FIELD_OF_DOC = re.compile(r"^\s*(:\w+|@\w+|\.\. |Args:|Returns:|>>>|[-*+] )")
MOST, MOST_IN_ONE = 14, 3
STRONGEST, SURE, LEAST = (
    0.75,
    0.6,
    0.15,
)  # a weight; a nearness that is enough by itself, and beside other signs
BARE, BARE_IN_TEST = 40, 80  # characters of a remark that needs a reason beside it
REASONS = 0.6  # the weight of what warns by more than a reason
OFFERS = re.compile(
    r"(?i)\b(?:advantages?|benefits?|conveniently|handy|allows? you|lets you|(?:so that )?you can)\b"
)
NEGATED = re.compile(r"(?:!|\bnot ?|\bunless )\({1,3}$")  # how a line ends whose operand follows
SWITCHED = re.compile(
    r" {0,8}# ?(?:ifn?def|define|if|elif) (?:!?defined ?\(?)?([A-Z][A-Z0-9_]{3,})\b"
)  # a macro
LEFT = re.compile(
    r"\.?[a-z][\w.]*(?:\([^()]*\))?[,;]"
)  # the last line of a comment: code that was switched off
MOST_USERS, LISTED = 40, 6  # files in which a constant is looked for; comments inside one
HOT = 0.5  # of a definition of the feature, for what is said in it


class Remark(NamedTuple):
    """One sentence that somebody wrote down for the next reader, where it stands, and how much it warns."""

    said: str
    within: str
    start: int
    end: int
    word: str
    weight: float


def warnings(view: View) -> Iterator[Finding]:
    """What comments and docstrings near the feature warn about, with their reasons; the strongest first."""
    told = [finding.text for finding in digests.inside(view)[:8]]
    found = []
    for file in (*view.sources[:8], *view.tests[:4]):
        found += list(_of_file(view, file))
    found.sort(key=lambda finding: -finding.score)
    said: dict[str, Finding] = {}
    for finding in found:
        quoted = finding.text.partition(": ")[2] or finding.text
        if not any(quoted.strip("`")[:60] in text for text in told):
            said.setdefault(quoted, finding)
    yield from list(said.values())[:MOST]


def _of_file(view: View, file: FileView) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for remark in (*_comments(view, file), *_docstrings(view, file)):
        seen[remark.within] = seen.get(remark.within, 0) + 1
        if seen[remark.within] > MOST_IN_ONE or not saying.stands(remark.said):
            continue
        named = phrases.provable(remark.within) and re.fullmatch(r"[\w.]+", remark.within)
        yield Finding(
            rule="warnings",
            kind="warning",
            text=(f"{code(remark.within)}: " if named else "")
            + phrases.quote(remark.said, saying.WHOLE),
            sources=(file.cite(remark.start, remark.end),),
            reason=f"a remark that warns or explains: {remark.word}",
            score=remark.weight
            + 0.15 * min(1.0, view.relevance(remark.said))
            - (0.35 if file.role != "source" else 0),
        )


def _comments(view: View, file: FileView) -> Iterator[Remark]:
    counts = Counter(comment.within for comment in file.details.comments)
    lists = {
        one.name
        for one in file.outline.symbols
        if one.kind == "constant" and counts[one.name] > LISTED
    }
    for comment in file.details.comments:
        if comment.within in lists:
            continue  # what each value of a list is
        told = saying.telling(file, comment.text)
        if (
            told is None
            or not told.weight
            or DEPRECATED.search(told.said)
            or _is_bare(file, told.said)
        ):
            continue
        if (told.weight < REASONS and OFFERS.search(told.said)) or _is_of_dead_code(file, comment):
            continue
        near = _near(view, file, comment, " ".join(comment.text.split()))
        if not near or (told.weight < STRONGEST and comment.start < 10 and not comment.within):
            continue  # a file's head speaks of its origin
        within, end = comment.within, comment.end
        below = enclosing(file.outline, end + 1)
        if below is not None and below.start == end + 1 and below.name in file.lines[end]:
            within, end = below.name, end + 1
            if (
                isinstance(below, Symbol)
                and below.kind == "constant"
                and not _is_used(view, file, below)
            ):
                continue
        elif switched := SWITCHED.match(file.lines[end] if end < len(file.lines) else ""):
            within, end = switched[1], end + 1
        if file.role == "source" and not _is_about(view, file, within, told.said, comment.text):
            continue
        within = digests.field(file, comment) or within
        yield Remark(
            told.said, within, comment.start, end, told.word, told.weight - 0.3 + 0.6 * near
        )


def _is_of_dead_code(file: FileView, comment: Comment) -> bool:
    """Whether a comment ends in code that was switched off, or is of what a condition denies."""
    above = file.lines[comment.start - 2].rstrip() if comment.start > 1 else ""
    return LEFT.fullmatch(comment.text.strip().rpartition("\n")[2].strip()) is not None or bool(
        NEGATED.search(above)
    )


def _is_used(view: View, file: FileView, constant: Symbol) -> bool:
    """Whether anything but its own definition has a constant's name."""
    name = re.compile(rf"(?<!\w){re.escape(constant.name)}(?!\w)")
    if len(name.findall(file.text)) > 1:
        return True
    paths = view.candidates(constant.name, ("source", "test", "support"))[:MOST_USERS]
    return any(
        name.search(view.services.tree.text(path) or "") for path in paths if path != file.path
    )


def _is_bare(file: FileView, said: str) -> bool:
    """Whether a remark is too short to explain itself and gives no reason, or stands all over its file."""
    short = len(said) < (
        BARE if file.role == "source" else BARE_IN_TEST
    ) and not saying.REASON.search(said)
    return (short and not re.search(r"(?i)\b(?:otherwise|since)\b", said)) or saying.is_usual(
        file, said
    )


def _is_about(view: View, file: FileView, within: str, said: str, comment: str) -> bool:
    """Whether a remark's paragraph, its function or its file has the feature's name, or it has a rare word of the
    description."""
    name = f"{within} {said} {file.path.rpartition('/')[2]}"
    paragraph = next((part for part in saying.parts(comment) if said in part), said)
    return view.relevance(file.path) >= 1 or nearness(view).is_about(name, paragraph)


def _near(view: View, file: FileView, comment: Comment, folded: str) -> float:
    """How near a comment is: as its own words are, as the passage around or below it is."""
    said = nearness(view).of(folded)
    if file.role != "source":
        return (
            max(0.4, said)
            if len(folded) >= 50 and (view.is_hot(file, comment.start) or said >= SURE)
            else 0.0
        )
    around = [
        p.near
        for p in passages(view)
        if p.file is file and p.start <= comment.end + 1 and comment.start <= p.end
    ]
    near = max([0.0, *around, said if said >= SURE else 0.0])
    return near if near >= LEAST else HOT * view.heat(file, comment.end + 1)


def _docstrings(view: View, file: FileView) -> Iterator[Remark]:
    """Sentences of the prose in docstrings; fields, lists and examples are left out."""
    if file.role != "source" or not file.path.endswith((".py", ".pyi")):
        return  # in other languages they are comments
    for hot in view.symbols:
        if hot.file is not file:
            continue
        for start, end, paragraph in _paragraphs(file, hot.symbol.start, hot.symbol.end):
            strong = saying.STRONG.search(paragraph) or re.search(
                r"\bALWAYS\b|should be called|if and only if", paragraph
            )
            if strong is None or DEPRECATED.search(paragraph) or len(paragraph) > saying.LONGEST:
                continue
            yield Remark(
                saying.around(paragraph, strong.start()),
                hot.symbol.name,
                start,
                end,
                strong[0],
                0.6,
            )


def _paragraphs(file: FileView, start: int, last: int) -> Iterator[tuple[int, int, str]]:
    opening = next(
        (n for n in range(start, min(last, start + 40)) if re.match(r'\s*[rR]?"""', file.lines[n])),
        -1,
    )
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
