"""What the changelogs tell of the feature: changes of mind and fixes, with the version and the commit of the same."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from preread.evidence import phrases
from preread.evidence.lineage import lineage
from preread.evidence.nearness import nearness
from preread.evidence.repeated import repeated_fixes
from preread.evidence.reworked import reworked
from preread.evidence.saying import HANGS
from preread.evidence.subjects import (
    TURN,
    code_of,
    compact,
    holds_most,
    is_change,
    is_gone,
    is_named,
    names,
    tells,
    without_others,
)
from preread.evidence.subjects import turned as is_turned
from preread.evidence.view import View, once
from preread.index import words
from preread.index.gitlog import ASIDE, CHORE, FIX, NOISE, Commit
from preread.models import Finding
from preread.sources import Ref

NEWS = re.compile(
    r"(?i)(^|/)(changelog|change_?log|changes|history|news|release[-_]?notes|releases)(\.\w+|/[^/]+)?$"
)
ENTRY = re.compile(r"\s*(?:[-*+]\s+\S|#\d+[:.]\s)")
MARK = re.compile(
    r"^(?:[-*+]\s+|#\d+[:.]\s+)(?:\[[A-Z]{3,}\]:?\s+)?(?:(?:\[[^\]]+\]\(\S+\)\s+)+(?:Thanks .{1,80}?! - )?)?"
)
VERSION = re.compile(
    r"(?i)^(?:(?:#+\s*|=+\s*)?(?:version |release |[\w.-]+ )?\[?v?"
    r"(\d+\.\d+(?:\.\d+)*(?:-?(?:rc|alpha|beta|pre|dev|snapshot)[.-]?\d*)?)\b(?![\w. ]* \w+ \w+ \w+)"
    r"|#+\s*\[?(?P<next>unreleased)\b)"
)
# What a heading, an item that heads others, or the mark of one entry says of entries.
FIXES = r"bug[- ]?fix(?:es)?|fix(?:es|ed)?|bugs?"
ADDS = r"add(?:ed|itions)?|(?:new )?features?|feat|new|enhancements?"
SECTION = re.compile(rf"(?i)^\W*(?:(?P<fix>{FIXES})|(?P<add>{ADDS}))\b[\W\d]*$")
LABEL = re.compile(
    rf"(?i)^(?:[-*+]\s+)?(?:\[|\*\*)?(?:(?P<fix>{FIXES})|(?P<add>{ADDS})|\w+)(?:\([^)]*\))?!?(?:\]:?|:?\*\*:?|:)\s+"
)
HEAD = re.compile(r"^(?:#{2,}\s|\*\*[^*]+\*\*:?\s*$)|^\W*[\w /-]+:\s*\d*\s*$")
ADDED = re.compile(
    r"(?i)(?:add(?:s|ed)?|new|introduc\w*|support(?:s|ed)?|allow(?:s|ed)?|expos\w*)\b"
)
CREDITED = re.compile(
    r"(?i)(?:(?:fix|add|updat|remov|chang|implement|report|contribut)ed by|thanks to)\b"
)
WHEN = re.compile(
    r"(?i)\b(?:not|never|no longer|could|should|when|while|if|unless|without|instead|until|since)\b|n['’]t\b"
)
SPAN = re.compile(r"`([^`]+)`")
TOLD = re.compile(
    r"(?i)\b((?:was|were|got|been) (?:lost|broken|wrong|ignored)|(?:lost|broken|introduced|regressed) (?:in|by|since)"
    r"|is now|are now|now \w+s|renam\w+|defaults? to|deprecat\w+|behaviou?r change|must)\b"
)
WHO = (  # a person's name, or the number of a review
    r"(?:\[?@[\w-]+\]?(?:\(\S+?\))?|\[[\w .-]+\]\(https://github\.com/[\w-]+/?\)|\[?#\d+\]?(?:\([^)]*\))?"
    r"|\[[0-9a-f]{7,40}\]\([^)]*\)|\[[A-Z][A-Z0-9]+-\d+\]\([^)]*\)|https?://\S+/(?:pull|issues|commit)/\w+|:(?:user|pr|issue|ghsa):`[^`]+`"
    r"|\{(?:pr|issue)\}`\d+`)"
)
BY = (
    r"(?i:\b(?:(?:contributed |reported |suggested )?by|in|see|and|via|pull|thanks(?: to)?|fix(?:es|ed)?|closes"
    r"|refs?)|-)\s+"
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
FEWEST, SHORT = (
    4,
    80,
)  # words that a sentence has; characters of an entry that may be of documents or tests alone
MORE = 2  # stems that an entry has beyond a title that it only repeats


class Entry(NamedTuple):
    """What a changelog says of the feature, where it stands, and whether it tells of a change of mind."""

    worth: float
    said: str
    refs: tuple[str, ...]
    named: frozenset[str]  # the commit and the numbers of issues
    turned: bool
    version: str
    line: int
    fixed: bool  # it says what was wrong, under a heading or a mark that says so


@once
def changelog(view: View) -> Iterator[Finding]:
    """What changelogs tell of the feature's changes of mind and fixes, with the commit that says the same."""
    found = sorted(_entries(view), key=lambda entry: -entry.worth)
    for entry in _once(found)[:MOST]:
        yield Finding(
            rule="changelog",
            kind="turned" if entry.turned else "fix",
            text=_text(entry),
            sources=entry.refs,
            reason=f"the changelog tells of a {'change of mind' if entry.turned else 'fix'}",
            score=0.35 + 0.5 * entry.worth,
        )


def _once(found: list[Entry]) -> list[Entry]:
    """The entries without those that tell of what a better one of the same version tells of; what several versions
    tell in the same words once, for the oldest."""
    told: set[str] = set()
    kept = []
    oldest = {entry.said: entry for entry in sorted(found, key=lambda entry: entry.line)}
    for entry in found:
        if oldest[entry.said] is not entry:
            continue
        if told.isdisjoint(here := {f"{entry.version} {one}" for one in entry.named}):
            kept.append(entry)
        told |= here
    return kept


def _text(entry: Entry) -> str:
    head = (
        f"{entry.version}{', fixed' if entry.fixed else ''}"
        if entry.version
        else "fixed"
        if entry.fixed
        else ""
    )
    return (
        f"{head}: {phrases.quote(entry.said, LENGTH)}"
        if head
        else phrases.quote(entry.said, LENGTH)
    )


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


class _Item(NamedTuple):
    """One entry as it stands: its lines, the version and the kind that it is under, "fix", "add" or ""."""

    path: str
    start: int
    end: int
    whole: str
    version: str
    kind: str
    place: float  # how far down the file it stands, 0 to 1


def _items(view: View) -> Iterator[_Item]:
    for path in _paths(view):
        lines, version, section = view.services.tree.lines(path) or [], "", ""
        for number, line in enumerate(lines, 1):
            if HEAD.match(line):
                section = _kind(SECTION.match(line))
            if ENTRY.match(line):
                whole, end = _whole(lines, number)
                kind = _kind(LABEL.match(whole)) or section
                yield _Item(path, number, end, whole, version, kind, number / len(lines))
            elif (match := VERSION.match(LINK.sub(r"\1", line))) and len(
                LINK.sub(r"\1", line)
            ) < 50:
                version, section = match[1] or match["next"], ""


def _kind(match: re.Match[str] | None) -> str:
    return "" if match is None else "fix" if match["fix"] else "add" if match["add"] else ""


def _entries(view: View) -> Iterator[Entry]:
    told = [
        (words.stems_of(c.subject), c)
        for c in view.told
        if view.relevance(c.subject) >= 0.5 or is_named(view, c)
    ]
    about = partial(_about, view, names(view), _at_home(view))
    elsewhere = _told_elsewhere(view)
    for item in _items(view):
        bare = MARK.sub("", item.whole)
        if ASIDE.match(bare) or CREDITED.match(bare):
            continue
        said = phrases.subject(_without_credits(LABEL.sub("", bare))).rstrip(". ")
        aloud = TOLD.search(said) is not None
        turned = aloud or (item.kind != "fix" and TURN.search(said) is not None)
        if not _is_news(item, said, turned, aloud) or _is_respelled(said):
            continue
        others = _without_own(view, said)
        if CHORE.search(others) or (
            len(said) < SHORT and (NOISE.search(others) or OF_TESTS.search(said))
        ):
            continue
        if (near := about(without_others(view, item.whole))) < (NEAR if turned else SURE):
            continue
        if is_gone(view, said) or not (turned or tells(view, said)):
            continue
        same = _same(told, item.whole)
        if same and elsewhere(same, said):
            continue
        refs = (
            str(Ref("lines", item.path, item.start, item.end)),
            *(f"commit:{c.sha[:9]}" for c in same),
        )
        said = _sentences(said)
        if phrases.provable(said) and len(said.split()) >= FEWEST and not said.endswith(":"):
            worth = 0.5 * near + 0.25 * turned + 0.15 * aloud - 0.1 * item.place
            named = frozenset(refs[1:]) | {*NUMBERS.findall(item.whole)}
            fixed = item.kind == "fix" and not FIX.search(said) and not aloud
            yield Entry(worth, said, refs, named, turned, item.version, item.start, fixed)


def _is_news(item: _Item, said: str, turned: bool, aloud: bool) -> bool:
    """Whether an entry tells of a change of mind or of a fix, and is none that only adds something."""
    fixes = FIX.search(said) is not None
    if not (aloud or fixes) and (item.kind == "add" or ADDED.match(said)):
        return False
    return (
        turned
        or fixes
        or (_is_troubled(said) and (item.kind == "fix" or FIX.search(item.whole) is not None))
    )


def _without_own(view: View, said: str) -> str:
    """A text without the feature's words: where formatting is the feature, what is about it is no noise."""
    return words.IDENTIFIER.sub(
        lambda found: "" if words.stem(found[0].lower()) in view.wanted else found[0], said
    )


def _is_troubled(said: str) -> bool:
    """Whether a text says what was wrong, or when: more than names of things."""
    return WHEN.search(said) is not None or not words.TROUBLE.isdisjoint(said.lower().split())


def _is_respelled(said: str) -> bool:
    """Whether a name became the same one in other letters: `WebsocketKey` and `WebSocketKey`."""
    spans = SPAN.findall(said)
    return len(spans) > len({compact(span) for span in spans}) and len(set(spans)) > 1


def _told_elsewhere(view: View) -> Callable[[list[Commit], str], bool]:
    """Whether what an entry says is the title of a commit that other rules tell."""
    sources = {
        source
        for rule in (reworked, repeated_fixes)
        for finding in rule(view)
        for source in finding.sources
    }

    def is_told(same: list[Commit], said: str) -> bool:
        more = words.stems_of(said) - words.stems_of(same[0].subject)
        other = f"commit:{same[0].sha[:9]}" in sources or (
            is_change(same[0]) and is_turned(same[0])
        )
        return other and len(more) <= MORE

    return is_told


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
    small = (
        commit for commit in view.commits if commit.sha in near and len(code_of(commit)) <= SMALL
    )
    return frozenset(number for commit in small for number in commit.issues)


def _about(view: View, own: frozenset[str], numbers: frozenset[str], text: str) -> float:
    """How much an entry is about the feature: by its words, by the names it holds, by the change that it names."""
    measure = nearness(view)
    near = measure.of(text)
    if near >= NEAR and holds_most(view, text):
        return near  # half a name is mostly another thing's
    named = any(name in text for name in own) and own & set(words.IDENTIFIER.findall(text))
    return NAMED if named or (numbers and numbers & set(NUMBERS.findall(text))) else 0.0


def _same(told: list[tuple[frozenset[str], Commit]], text: str) -> list[Commit]:
    """The commit that an entry tells of: it has the entry's number or nearly all its words."""
    held, numbers = words.stems_of(text), set(NUMBERS.findall(text))
    return [
        c for stems, c in told if len(held & stems) >= 0.7 * len(stems) or numbers & {*c.issues}
    ][:1]


def _sentences(said: str) -> str:
    """Whole sentences of an entry, those of its change of mind when all are too long; "" without a short one."""
    if len(said) <= LENGTH:
        return said
    match = TOLD.search(said) or TURN.search(said) or FIX.search(said)
    ends = [m.start() + 1 for m in re.finditer(r"(?<!\be\.g)(?<!\bi\.e)[.;!?](?=\s)", said)] + [
        len(said)
    ]
    at = match.end() if match else 0
    starts = [0, *(end for end in ends if end < at)]
    start = 0 if next(end for end in ends if end >= at) <= LENGTH else starts[-1]
    hangs = start and HANGS.match(said[start:].lstrip())
    start = starts[-2] if hangs else start
    end = max((end for end in ends if start < end <= start + LENGTH), default=0)
    return said[start:end].strip().rstrip(".;") if end >= at else ""
