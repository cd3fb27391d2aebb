"""What the changelogs tell of the feature: changes of mind and fixes, with the version and the commit of the same."""

import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from preread.evidence import phrases, words
from preread.evidence.history import CHORE, FIX, Commit
from preread.evidence.lineage import lineage
from preread.evidence.nearness import nearness
from preread.evidence.saying import HANGS
from preread.evidence.subjects import LINKED, TURN
from preread.evidence.view import View, once
from preread.models import Finding
from preread.sources import Ref

NEWS = re.compile(r"(?i)(^|/)(changelog|change_?log|changes|history|news|release[-_]?notes|releases)(\.\w+|/[^/]+)?$")
ENTRY = re.compile(r"\s*(?:[-*+]\s+\S|#\d+[:.]\s)")
MARK = re.compile(r"^(?:[-*+]\s+|#\d+[:.]\s+)(?:(?:\[[^\]]+\]\(\S+\)\s+)+(?:Thanks .{1,80}?! - )?)?")
VERSION = re.compile(r"(?i)^(?:#+\s*|=+\s*)?(?:version |release )?\[?v?(\d+\.\d+(?:\.\d+)*)\b(?![\w. ]* \w+ \w+ \w+)")
TOLD = re.compile(
    r"(?i)\b((?:was|were|got|been) (?:lost|broken|wrong|ignored)|(?:lost|broken|introduced|regress\w*) (?:in|by|since)"
    r"|is now|are now|now \w+s|renam\w+|defaults? to|deprecat\w+|behaviou?r change|must)\b"
)
NUMBERS = re.compile(r"(?:#|[`\]]|/)(\d{2,6})\b")  # of issues and changes that an entry names
NEAR, SURE, NAMED, HOME = (
    0.5,
    0.7,
    0.8,
    0.7,
)  # how much an entry is about the feature; what only fixes has to be surely so
FILES, MOST, LENGTH, LINES = 3, 5, 190, 6


class Entry(NamedTuple):
    """What a changelog says of the feature, where it stands, and whether it tells of a change of mind."""

    worth: float
    said: str
    refs: tuple[str, ...]
    turned: bool
    version: str


@once
def changelog(view: View) -> Iterator[Finding]:
    """What changelogs tell of the feature's changes of mind and fixes, with the commit that says the same."""
    found = sorted(_entries(view), key=lambda entry: -entry.worth)
    for entry in found[:MOST]:
        yield Finding(
            rule="changelog",
            kind="turned" if entry.turned else "fix",
            text=f"{entry.version}: {_said(entry)}" if entry.version else _said(entry),
            sources=entry.refs,
            reason=f"the changelog tells of a {'change of mind' if entry.turned else 'fix'}",
            score=0.35 + 0.5 * entry.worth,
        )


def _said(entry: Entry) -> str:
    return phrases.quote(_from_turn(entry.said), LENGTH)


def _paths(view: View) -> list[str]:
    """The changelogs of the folders that the feature's files stand in, the nearest first."""
    own, shown = [file.path for file in view.sources[:4]], {doc.path for doc in view.docs}

    def depth(path: str) -> int:
        folder = re.sub(r"(^|/)(docs?|release[-_]?notes)$", "", path.rpartition("/")[0])
        if not folder:
            return 0
        if any(one.startswith(f"{folder}/") for one in own):
            return folder.count("/") + 1
        return 0 if path in shown else -1

    found = [path for path in view.services.tree.files if NEWS.search(path) and depth(path) >= 0]
    return sorted(found, key=lambda path: (-depth(path), path))[:FILES]


def _entries(view: View) -> Iterator[Entry]:
    told = [(words.stems_of(c.subject), c) for c in view.told if view.relevance(c.subject) >= 0.5]
    about = partial(_about, view, _names(view), _at_home(view))
    for path in _paths(view):
        lines, version = view.services.tree.lines(path) or [], ""
        for number, line in enumerate(lines, 1):
            if not ENTRY.match(line):
                version = match[1] if (match := VERSION.match(line)) and len(line) < 50 else version
                continue
            whole, end = _whole(lines, number)
            said = LINKED.sub("", MARK.sub("", whole)).rstrip(". ")
            aloud = TOLD.search(said) is not None
            turned = aloud or TURN.search(said) is not None
            if not (turned or FIX.search(said)) or CHORE.search(said):
                continue
            if (near := about(whole)) < (NEAR if turned else SURE):
                continue
            refs = (str(Ref("lines", path, number, end)), *_same(told, whole))
            if phrases.provable(said):
                worth = 0.5 * near + 0.25 * turned + 0.15 * aloud - 0.1 * number / len(lines)
                yield Entry(worth, said, refs, turned, version)


def _whole(lines: list[str], number: int) -> tuple[str, int]:
    """An entry with the lines that go on with it, and the number of its last."""
    end = number
    indent = len(lines[number - 1]) - len(lines[number - 1].lstrip())
    while end < min(len(lines), number + LINES - 1):
        line = lines[end]
        if not line.strip() or ENTRY.match(line) or len(line) - len(line.lstrip()) <= indent:
            break
        end += 1
    return " ".join(" ".join(lines[number - 1 : end]).split()), end


def _names(view: View) -> frozenset[str]:
    """Names of the feature's definitions that no sentence holds by chance."""
    hot = {hot.symbol.name for hot in view.symbols if hot.score >= NEAR and view.is_telling(hot)}
    return view.spelled | {name for name in hot if "_" in name.strip("_") or re.search(r"[a-z][A-Z]", name)}


def _at_home(view: View) -> frozenset[str]:
    """Numbers of issues and changes whose commits changed the feature's own functions."""
    (past,) = lineage(view)
    near = {sha for sha, near in past.home().items() if near >= HOME}
    return frozenset(number for commit in view.commits if commit.sha in near for number in commit.issues)


def _about(view: View, names: frozenset[str], numbers: frozenset[str], text: str) -> float:
    """How much an entry is about the feature: by its words, by the names it holds, by the change that it names."""
    measure = nearness(view)
    near = measure.of(text)
    near = near if near >= NEAR and measure.named_in(text) else 0.0
    if near >= NAMED:
        return near
    named = any(name in text for name in names) and names & set(words.IDENTIFIER.findall(text))
    return NAMED if named or (numbers and numbers & set(NUMBERS.findall(text))) else near


def _same(told: list[tuple[frozenset[str], Commit]], text: str) -> list[str]:
    """The commit that an entry tells of: it has the entry's number or nearly all its words."""
    held, numbers = words.stems_of(text), set(NUMBERS.findall(text))
    same = (c for stems, c in told if len(held & stems) >= 0.7 * len(stems) or numbers & {*c.issues})
    return [f"commit:{commit.sha[:9]}" for commit in same][:1]


def _from_turn(said: str) -> str:
    """An entry from the sentence on that tells of the change of mind, when all of it would be too long."""
    match = TOLD.search(said) or TURN.search(said)
    if len(said) <= LENGTH or match is None or match.end() <= LENGTH - 40:
        return said
    starts = [0, *(m.end() for m in re.finditer(r"[.;:!?]\s+", said) if m.end() <= match.start())]
    hangs = len(starts) > 1 and HANGS.match(said[starts[-1] :]) and match.end() - starts[-2] <= LENGTH
    return said[starts[-2 if hangs else -1] :]
