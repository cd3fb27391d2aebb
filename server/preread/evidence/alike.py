"""What stands more than once: functions of one file that have most of their lines in common."""

import re
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.view import FileView, View
from preread.models import Finding
from preread.syntax import Symbol

SHORT, MOST_COMPARED, ALIKE = (
    5,
    120,
    0.6,
)  # lines of twins; functions of a file; lines in common of all


def twins(view: View) -> Iterator[Finding]:
    """Functions of one file that are much alike, of one name or of two: a change goes to both."""
    for file in view.sources[:4]:
        functions = [
            s
            for s in file.outline.symbols
            if s.kind in {"function", "method"} and s.end - s.start >= SHORT
        ]
        bodies = [
            (s, frozenset(_telling(file.lines[s.start : s.end]))) for s in functions[:MOST_COMPARED]
        ]
        told = set[tuple[str, str]]()
        for at, (one, lines) in enumerate(bodies):
            if len(lines) < SHORT or (one.name, one.container) in told:
                continue
            same = [
                (other, len(lines & others) / max(len(lines | others), 1))
                for other, others in bodies[at + 1 :]
                if one.end < other.start
                and (one.name, one.container) != (other.name, other.container)  # overloads
            ]
            same = [
                (other, share)
                for other, share in same
                if share >= ALIKE and _belong(view, file, one, other)
            ]
            if same:
                told.update((other.name, other.container) for other, _ in same)
                yield _twin(
                    file,
                    [one, *(other for other, _ in same)],
                    round(100 * min(share for _, share in same)),
                )


def _telling(lines: list[str]) -> Iterator[str]:
    """The lines of a body that tell it from others, without what only waits, opens or ends."""
    for line in lines:
        folded = re.sub(r"\b(?:await|async)\s+|\basync_", "", line.strip())
        if len(folded) > 8 and not folded.startswith(("#", "//", "*", "/*", '"""')):
            yield folded


def _belong(view: View, file: FileView, one: Symbol, other: Symbol) -> bool:
    names = (one.name, other.name, one.container, other.container)
    return (
        max(map(view.relevance, filter(None, names)), default=0.0) >= 0.5
        or view.relevance(file.path) >= 1
    )


def _twin(file: FileView, alike: list[Symbol], share: int) -> Finding:
    one = alike[0]
    if len({s.name.removeprefix("async_") for s in alike}) == 1 and len(
        {s.container for s in alike}
    ) == len(alike):
        times = "twice" if len(alike) == 2 else f"{len(alike)} times"
        text = f"{code(one.name)} stands {times}, in {_listed([s.container for s in alike])}, {share} % alike"
    else:
        text = f"{_listed([s.name for s in alike])} have {share} % of their lines in common"
    return Finding(
        rule="twins",
        kind="twin",
        text=f"{text}: change {'both' if len(alike) == 2 else 'all'}",
        sources=tuple(file.cite(s.start, s.end) for s in alike),
        reason="places with nearly the same lines",
        score=0.7,
    )


def _listed(names: list[str]) -> str:
    *first, last = (code(name) if phrases.provable(name) else name for name in names)
    return f"{', '.join(first)} and {last}"
