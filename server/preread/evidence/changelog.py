"""What the changelogs tell of the feature: changes of mind and fixes, with the version and the commit of the same."""

import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from preread.evidence import phrases, words
from preread.evidence.history import ASIDE, CHORE, FIX, NOISE, Commit
from preread.evidence.lineage import lineage
from preread.evidence.nearness import nearness
from preread.evidence.saying import HANGS
from preread.evidence.subjects import TURN, code_of, holds_most, is_gone, names, tells, without_others
from preread.evidence.view import View, once
from preread.models import Finding
from preread.sources import Ref

NEWS = re.compile(r"(?i)(^|/)(changelog|change_?log|changes|history|news|release[-_]?notes|releases)(\.\w+|/[^/]+)?$")
ENTRY = re.compile(r"\s*(?:[-*+]\s+\S|#\d+[:.]\s)")
MARK = re.compile(
    r"^(?:[-*+]\s+|#\d+[:.]\s+)(?:\[[A-Z]{3,}\]:?\s+)?(?:(?:\[[^\]]+\]\(\S+\)\s+)+(?:Thanks .{1,80}?! - )?)?"
)
VERSION = re.compile(
    r"(?i)^(?:(?:#+\s*|=+\s*)?(?:version |release |[\w.-]+ )?\[?v?(\d+\.\d+(?:\.\d+)*)\b(?![\w. ]* \w+ \w+ \w+)"
    r"|#+\s*\[?(?P<next>unreleased)\b)"
)
TOLD = re.compile(
    r"(?i)\b((?:was|were|got|been) (?:lost|broken|wrong|ignored)|(?:lost|broken|introduced|regressed) (?:in|by|since)"
    r"|is now|are now|now \w+s|renam\w+|defaults? to|deprecat\w+|behaviou?r change|must)\b"
)
WHO = (  # a person's name, or the number of a review
    r"(?:\[?@[\w-]+\]?(?:\(\S+?\))?|\[[\w .-]+\]\(https://github\.com/[\w-]+/?\)|\[?#\d+\]?(?:\([^)]*\))?"
    r"|\[[0-9a-f]{7,40}\]\([^)]*\)|https?://\S+/(?:pull|issues|commit)/\w+|:(?:user|pr|issue|ghsa):`[^`]+`"
    r"|\{(?:pr|issue)\}`\d+`)"
)
BY = (
    r"(?i:\b(?:(?:contributed |reported |suggested )?by|in|see|and|via|pull|thanks to|fix(?:es|ed)?|closes|refs?)|-)\s+"
)
# One of them at the end of a text. They are taken off one by one: a pattern of all of them takes for ever to fail.
CREDIT = re.compile(rf"[\s,;.:&+(\[-]*(?:{BY}){{0,3}}{WHO}[\s,)\]]*\.?$")
CREDITS, ENDING = 40, 400  # of an entry, at most; characters of its end that may hold them
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
NUMBERS = re.compile(r"(?:#|[`\]]|/)(\d{2,6})\b")  # of issues and changes that an entry names
# How much an entry is about the feature; what only fixes has to be surely so.
NEAR, SURE, NAMED, HOME = 0.5, 0.7, 0.8, 0.7
SMALL = 4  # files of code that a change touches when it is one of a function
OF_TESTS = re.compile(r"(?i)\btests?$")
FILES, MOST, LENGTH, LINES = 3, 5, 240, 6  # characters and lines of an entry
FEWEST, SHORT = 4, 80  # words that a sentence has; characters of an entry that may be of documents or tests alone


class Entry(NamedTuple):
    """What a changelog says of the feature, where it stands, and whether it tells of a change of mind."""

    worth: float
    said: str
    refs: tuple[str, ...]
    named: frozenset[str]  # the commit and the numbers of issues
    turned: bool
    version: str


@once
def changelog(view: View) -> Iterator[Finding]:
    """What changelogs tell of the feature's changes of mind and fixes, with the commit that says the same."""
    found = sorted(_entries(view), key=lambda entry: -entry.worth)
    for entry in _once(found)[:MOST]:
        yield Finding(
            rule="changelog",
            kind="turned" if entry.turned else "fix",
            text=f"{entry.version}: {_said(entry)}" if entry.version else _said(entry),
            sources=entry.refs,
            reason=f"the changelog tells of a {'change of mind' if entry.turned else 'fix'}",
            score=0.35 + 0.5 * entry.worth,
        )


def _once(found: list[Entry]) -> list[Entry]:
    """The entries without those that tell of what a better one of the same version tells of."""
    told: set[str] = set()
    kept = []
    for entry in found:
        if told.isdisjoint(here := {f"{entry.version} {one}" for one in entry.named}):
            kept.append(entry)
        told |= here
    return kept


def _said(entry: Entry) -> str:
    return phrases.quote(entry.said, LENGTH)


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
    about = partial(_about, view, names(view), _at_home(view))
    for path in _paths(view):
        lines, version = view.services.tree.lines(path) or [], ""
        for number, line in enumerate(lines, 1):
            if not ENTRY.match(line):
                head = LINK.sub(r"\1", line)
                version = (match[1] or match["next"]) if (match := VERSION.match(head)) and len(head) < 50 else version
                continue
            whole, end = _whole(lines, number)
            bare = MARK.sub("", whole)
            if ASIDE.match(bare):
                continue
            said = phrases.subject(_without_credits(bare)).rstrip(". ")
            aloud = TOLD.search(said) is not None
            turned = aloud or TURN.search(said) is not None
            if not (turned or FIX.search(bare)) or CHORE.search(said):
                continue
            if len(said) < SHORT and (NOISE.search(said) or OF_TESTS.search(said)):
                continue
            if (near := about(without_others(view, whole))) < (NEAR if turned else SURE):
                continue
            if is_gone(view, said) or not (turned or tells(view, said)):
                continue
            refs = (str(Ref("lines", path, number, end)), *_same(told, whole))
            said = _sentences(said)
            if phrases.provable(said) and len(said.split()) >= FEWEST and not said.endswith(":"):
                worth = 0.5 * near + 0.25 * turned + 0.15 * aloud - 0.1 * number / len(lines)
                yield Entry(worth, said, refs, frozenset(refs[1:]) | {*NUMBERS.findall(whole)}, turned, version)


def _without_credits(text: str) -> str:
    """An entry without the people and numbers that it ends with."""
    head, end = text[:-ENDING], text[-ENDING:]
    for _ in range(CREDITS):
        shorter = CREDIT.sub("", end)
        if shorter == end:
            break
        end = shorter
    return head + end


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


def _at_home(view: View) -> frozenset[str]:
    """Numbers of issues and changes whose commits changed the feature's own functions."""
    (past,) = lineage(view)
    near = {sha for sha, near in past.home().items() if near >= HOME}
    small = (commit for commit in view.commits if commit.sha in near and len(code_of(commit)) <= SMALL)
    return frozenset(number for commit in small for number in commit.issues)


def _about(view: View, own: frozenset[str], numbers: frozenset[str], text: str) -> float:
    """How much an entry is about the feature: by its words, by the names it holds, by the change that it names."""
    measure = nearness(view)
    near = measure.of(text)
    if near >= NEAR and holds_most(view, text):
        return near  # half a name is mostly another thing's
    named = any(name in text for name in own) and own & set(words.IDENTIFIER.findall(text))
    return NAMED if named or (numbers and numbers & set(NUMBERS.findall(text))) else 0.0


def _same(told: list[tuple[frozenset[str], Commit]], text: str) -> list[str]:
    """The commit that an entry tells of: it has the entry's number or nearly all its words."""
    held, numbers = words.stems_of(text), set(NUMBERS.findall(text))
    same = (c for stems, c in told if len(held & stems) >= 0.7 * len(stems) or numbers & {*c.issues})
    return [f"commit:{commit.sha[:9]}" for commit in same][:1]


def _sentences(said: str) -> str:
    """Whole sentences of an entry, those of its change of mind when all are too long; "" without a short one."""
    if len(said) <= LENGTH:
        return said
    match = TOLD.search(said) or TURN.search(said) or FIX.search(said)
    ends = [m.start() + 1 for m in re.finditer(r"(?<!\be\.g)(?<!\bi\.e)[.;!?](?=\s)", said)] + [len(said)]
    at = match.end() if match else 0
    starts = [0, *(end for end in ends if end < at)]
    start = 0 if next(end for end in ends if end >= at) <= LENGTH else starts[-1]
    hangs = start and HANGS.match(said[start:].lstrip())
    start = starts[-2] if hangs else start
    end = max((end for end in ends if start < end <= start + LENGTH), default=0)
    return said[start:end].strip().rstrip(".;") if end >= at else ""
