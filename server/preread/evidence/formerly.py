"""Formerly: what comments and documents of the feature say of how it was before, or from which version on."""

import re
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases, prose, saying
from preread.evidence.changelog import NEWS
from preread.evidence.nearness import nearness
from preread.evidence.passages import passages
from preread.evidence.view import FileView, View
from preread.models import Finding
from preread.syntax import Comment, enclosing

ONCE = re.compile(
    r"(?i)\b((?<!the )previously(?! (?:specified|configured|registered|stored|provided|set|created|defined|added)\b)"
    r"|formerly|historically|(?:earlier|older|previous|prior|former) (?:versions?|releases?)"
    r"|(?<!been )used to (?:be|have|return|do|require|allow|accept|raise|throw|happen|work|live|exist|default)"
    r"|(?:prior to|before|as of|since|until|from|in|with) (?:(?!\d)\w+ )?v?\d+\.\d+(?:\.[\dx]+)?\b"
    r"|(?:[Ii]nitially|[Oo]riginally) (?:used|was|were|had|did|called)|backwards?[- ]compat\w*)"
)
HINTS = re.compile(
    r"revious|ormer|istor|used to|arlier|lder|rior|nitially|riginally|ompat|\d\.\d"
)  # quick to see
TO_COME = re.compile(r"(?i)\b(?:we will|will be|going to)\b")
MOST, NEAR, SAID = 6, 0.3, 0.6


def formerly(view: View) -> Iterator[Finding]:
    """Remarks on how something near the feature was before, and what it is since."""
    found = [finding for file in view.sources[:6] for finding in _of_comments(view, file)]
    found += [
        finding
        for file in view.docs[:4]
        if not NEWS.search(file.path)
        for finding in _of_document(view, file)
    ]
    found.sort(key=lambda finding: -finding.score)
    yield from list(
        {finding.text.partition(": ")[2]: finding for finding in reversed(found)}.values()
    )[::-1][:MOST]


def _of_comments(view: View, file: FileView) -> Iterator[Finding]:
    for comment in file.details.comments:
        if (
            comment.start < 10
            or not HINTS.search(comment.text)
            or saying.TOOLING.search(comment.text)
        ):
            continue  # a file's head speaks of its origin
        part = next(
            (p for p in saying.parts(comment.text) if ONCE.search(p) and not p.startswith("@")), ""
        )
        match = None if TO_COME.search(part) else ONCE.search(part)
        near = _near(view, file, comment, part) if match else 0.0
        if match and near >= NEAR:
            below = enclosing(file.outline, comment.end + 1)
            name, end = comment.within, comment.end
            if below is not None and below.start == end + 1 and below.name in file.lines[end]:
                name, end = below.name, end + 1  # what the comment stands above
            said = saying.around(part, match.start())
            if saying.stands(said):
                yield _finding(file, name, said, comment.start, end, near)


def _near(view: View, file: FileView, comment: Comment, text: str) -> float:
    around = [
        p.near
        for p in passages(view)
        if p.file is file and p.start <= comment.end + 1 and comment.start <= p.end
    ]
    said = nearness(view).of(text)
    return max([view.heat(file, comment.end + 1), *around, said if said >= SAID else 0.0])


def _of_document(view: View, file: FileView) -> Iterator[Finding]:
    for number, line in enumerate(file.lines, 1):
        if HINTS.search(line) and (match := ONCE.search(line)) and not line.startswith("#"):
            said = nearness(view).of(line)
            if said >= SAID and nearness(view).named_in(line):
                bare = re.sub(r"^\s*(?:[-*+>]|\d+\.)\s+", "", line).strip()
                told = saying.around(bare, max(0, bare.find(match[0])))
                if saying.stands(told) and not prose.LEANS.search(told):
                    yield _finding(file, "", told, number, number, said)


def _finding(file: FileView, name: str, said: str, start: int, end: int, near: float) -> Finding:
    named = f"{code(name)}: " if phrases.provable(name) and re.fullmatch(r"[\w.]+", name) else ": "
    return Finding(
        rule="formerly",
        kind="turned",
        text=f"{named.removeprefix(': ')}{phrases.quote(said, saying.WHOLE)}",
        sources=(file.cite(start, end),),
        reason="a remark on how it was before",
        score=min(0.95, 0.4 + 0.5 * near),
    )
