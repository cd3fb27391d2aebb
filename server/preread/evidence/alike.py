"""What stands twice: functions of one file that have most of their lines in common."""

import re
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.view import FileView, View
from preread.models import Finding
from preread.syntax import Symbol

SHORT, MOST_COMPARED, ALIKE = 5, 120, 0.6  # lines of twins; functions of a file; lines in common of all


def twins(view: View) -> Iterator[Finding]:
    """Functions of one file that are much alike, of one name or of two: a change goes to both."""
    for file in view.sources[:4]:
        functions = [s for s in file.outline.symbols if s.kind in {"function", "method"} and s.end - s.start >= SHORT]
        bodies = [(s, frozenset(_telling(file.lines[s.start : s.end]))) for s in functions[:MOST_COMPARED]]
        told = set[str]()
        for at, (one, lines) in enumerate(bodies):
            for other, others in bodies[at + 1 :]:
                share = len(lines & others) / max(len(lines | others), 1)
                apart = one.end < other.start and one.name not in told
                apart = apart and (one.name, one.container) != (other.name, other.container)  # overloads
                if share < ALIKE or len(lines) < SHORT or not apart or not _belong(view, file, one, other):
                    continue
                told.add(one.name)
                yield _twin(file, one, other, round(100 * share))


def _telling(lines: list[str]) -> Iterator[str]:
    """The lines of a body that tell it from others, without what only waits, opens or ends."""
    for line in lines:
        folded = re.sub(r"\b(?:await|async)\s+|\basync_", "", line.strip())
        if len(folded) > 8 and not folded.startswith(("#", "//", "*", "/*", '"""')):
            yield folded


def _belong(view: View, file: FileView, one: Symbol, other: Symbol) -> bool:
    names = (one.name, other.name, one.container, other.container)
    return max(map(view.relevance, filter(None, names)), default=0.0) >= 0.5 or view.relevance(file.path) >= 1


def _twin(file: FileView, one: Symbol, other: Symbol, share: int) -> Finding:
    if one.name.removeprefix("async_") == other.name.removeprefix("async_") and one.container != other.container:
        where = " and ".join(code(s.container) if phrases.provable(s.container) else s.container for s in (one, other))
        text = f"{code(one.name)} stands twice, in {where}, {share} % alike: change both"
    else:
        names = " and ".join(code(s.name) if phrases.provable(s.name) else s.name for s in (one, other))
        text = f"{names} have {share} % of their lines in common: change both"
    return Finding(
        rule="twins",
        kind="twin",
        text=text,
        sources=(file.cite(one.start, one.end), file.cite(other.start, other.end)),
        reason="two places with nearly the same lines",
        score=0.7,
    )
