"""What was repaired and turned round: one topic again and again, single fixes, changes of mind."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from preread.evidence import phrases, words
from preread.evidence.history import CHORE, FIX, NOISE, Commit
from preread.evidence.nearness import nearness
from preread.evidence.saying import HANGS
from preread.evidence.view import View, once
from preread.models import Finding
from preread.sources import Ref

CHANGELOG = re.compile(r"(?i)^(docs?/)?(changelog|changes|history|news)(\.\w+)?$")
NEWS = re.compile(r"(?i)(^|/)(changelog|changes|history|news)(\.\w+)?$")
BULLET = re.compile(r"\s*[-*+]\s+\S")
TURN = re.compile(
    r"(?i)^(drop|remove|disable|stop|switch|swap|hide|undo|restore|bring back|add back|put back|do not|don['’]?t)\b"
    r"|\b(no longer|add(?:ed)? back|taken? out|put back|in favou?r of|renamed? (?:to|from)"
    r"|(?:was|were|been|now) (?:removed|deprecated|disabled)|default (?:to|from|is|of)|set default"
    r"|(?:no|not) any ?more|back to|again|warning instead|instead of (?:an? )?(?:error|warning|raising|failing))\b"
)
GENERIC = frozenset(
    words.stem(word)
    for word in """
    fixed fixes fix correct again error errors bug regression issue crash prevent handle handling support improve better
    properly should would could when with without from into that this make allow ensure using used after before instead
    behavior behaviour case cases test tests code function method option options value values remove refactor simplify
    update change changes more some only also logic cleanup clean move rename rewrite implement introduce missing wrong
    broken edge work works working show return call back default public client server custom long false true none small
    name names large skip split allow include multiple init initial small extra
    """.split()
)
TOLD = re.compile(
    r"(?i)\b((?:was|were|got|been) (?:lost|broken|wrong|ignored)|(?:lost|broken|introduced|regress\w*) (?:in|by|since)"
    r"|is now|are now|now \w+s|renam\w+|defaults? to|deprecat\w+|behaviou?r change|must)\b"
)
NUMBERS = re.compile(r"(?:#|[`\]]|/)(\d{2,6})\b")  # of issues and changes that an entry names
LINKED = re.compile(r"(?:\s*[(,]?(?:\[?#\d+\]?(?:\(\S+\))?|:?\{?(?:pr|issue|ref)\}?:?`\d+`|Pull #\d+)\)?)+\.?$")
NEAR, SURE = 0.5, 0.7  # how much an entry is about the feature; what only fixes has to be surely so
MOST_FIXES, MOST_TOPICS, MOST_TURNS, MOST_ENTRIES, MOST_TOLD = 5, 6, 5, 6, 190
MOST_OWN, MOST_TOLD_OF, RARE = 120, 5, 6


@once
def repeated_fixes(view: View) -> Iterator[Finding]:
    """What was worked on again and again: changes whose subjects share a topic beside the feature."""
    measure = nearness(view)
    changes = [c for c in view.told if is_change(c)]
    own = [c for c in changes if _is_own(view, c)][:MOST_OWN]
    topics = {c.sha: _topic(c.subject) - view.wanted for c in changes}
    counts = Counter(topic for c in own for topic in topics[c.sha])
    everywhere = Counter(topic for c in changes for topic in topics[c.sha])
    by_topic: dict[frozenset[str], frozenset[str]] = {}
    for topic, count in counts.items():
        if 2 <= count <= 5:
            members = frozenset(c.sha for c in own if topic in topics[c.sha])
            by_topic[members] = by_topic.get(members, frozenset()) | {topic}
    ranked = []
    for members, shared in by_topic.items():
        same = [c for c in own if c.sha in members and (len(topics[c.sha]) > 1 or c.is_fix)]
        rare = min(everywhere[topic] for topic in shared) <= RARE
        if len(same) < 2 or not _is_told_again(same, shared, rare):
            continue
        second, first = sorted(measure.of(c.subject) for c in same)[-2:]
        about = (first + second) / 2
        if (about < 0.4 or second < 0.2) and not all(
            _small_at_home(view, c) and measure.of(c.subject) > 0 for c in same
        ):
            continue
        if (
            rare or len(shared) > 1
        ) and not view.whole_project:  # what else of the files' past is about it, though it does not name the feature
            more = [c for c in changes if c not in same and shared <= topics[c.sha] and len(c.files) <= 6]
            same = sorted([*same, *more[: max(0, MOST_TOLD_OF - len(same))]], key=lambda c: c.date, reverse=True)
        fixes = sum(c.is_fix for c in same)
        ranked.append((0.2 * len(shared) + 0.2 * fixes + 1.5 * about + 0.2 * (len(same) > 2), same))
    ranked.sort(key=lambda item: (-item[0], item[1][0].sha))
    told: set[str] = set()
    n = 0
    for worth, same in ranked:
        if n >= MOST_TOPICS or sum(c.sha in told for c in same) * 2 >= len(same):
            continue
        n += 1
        told.update(c.sha for c in same)
        fixed = sum(c.is_fix for c in same)
        shown = same[:MOST_TOLD_OF]
        head = f"fixed {fixed} times, last {same[0].date}" if fixed == len(same) else f"changed {len(same)} times"
        yield Finding(
            rule="repeated_fixes",
            kind="again",
            text=f"{head}: " + "; ".join(f"{c.date[:4]} {phrases.quote(short(c), 75)}" for c in shown),
            sources=tuple(f"commit:{c.sha[:9]}" for c in shown),
            reason="changes whose subjects are about the same thing",
            score=min(0.95, 0.65 + 0.12 * worth),
        )


def short(commit: Commit) -> str:
    """A commit's subject without its prefix and the number of its review."""
    return LINKED.sub("", phrases.subject(commit.subject))


def _is_told_again(commits: list[Commit], shared: frozenset[str], rare: bool) -> bool:
    """Whether what commits share is a topic: two words, two fixes, or a rare word with a fix or a change of mind."""
    fixes = sum(c.is_fix for c in commits)
    if fixes >= 2 or len(shared) >= 2:
        return True
    turns = any(TURN.search(phrases.subject(c.subject)) for c in commits)
    return bool((fixes and _is_name(shared, commits)) or (rare and (fixes or turns)))


def is_change(commit: Commit) -> bool:
    """Whether a commit changed what the code does, as far as its subject tells."""
    return not (commit.is_revert or NOISE.search(commit.subject) or CHORE.search(commit.subject))


def _is_own(view: View, commit: Commit) -> bool:
    return (
        view.relevance(commit.subject) >= 0.5
        or (view.relevance(commit.subject) > 0 and len(commit.files) <= 6)
        or _small_at_home(view, commit)
    )


def _is_name(shared: frozenset[str], commits: list[Commit]) -> bool:
    """Whether the one shared word is a name in each subject: spelled as code, with capitals, or with an underscore."""
    (stem,) = shared
    return all(
        any(
            stem in words.stems(found) and (re.search(r"[A-Z_]", found[1:]) or (found[0].isupper() and at))
            for at, found in enumerate(words.IDENTIFIER.findall(re.sub(r"^\W*\w+\W+", "x ", c.subject)))
        )
        or re.search(rf"[`\"'][^`\"']*{re.escape(stem)}[^`\"']*[`\"']", c.subject.lower())
        for c in commits
    )


def _topic(subject: str) -> set[str]:
    found = {words.stem(w) for w in words.of_sentence(phrases.subject(subject)) if len(w) > 3}
    return {stem for stem in found if stem not in GENERIC}


def _small_at_home(view: View, commit: Commit) -> bool:
    """Whether a commit changed little else than the feature's own files."""
    home = sum(view.relevance(path) >= 1 for path in commit.files)
    return len(commit.files) <= 4 and 2 * home >= len(commit.files) > 0


def turned_round(view: View) -> Iterator[Finding]:
    """Changes of mind: what was dropped, switched, put back or done instead, as the commits' subjects say."""
    ranked = []
    told = {source for finding in changelog(view) for source in finding.sources}
    for commit in view.told:
        about = view.relevance(commit.subject)
        subject = phrases.subject(commit.subject)
        if not TURN.search(subject) or not is_change(commit) or f"commit:{commit.sha[:9]}" in told:
            continue
        if about < 0.5 and not _small_at_home(view, commit):
            continue
        ranked.append((about, commit.date, commit))
    ranked.sort(key=lambda item: (-min(1.0, item[0]), item[1]))
    for about, date, commit in ranked[:MOST_TURNS]:
        why = phrases.plain(phrases.sentence(commit.body, 110)) if _is_prose(commit.body) else ""
        yield Finding(
            rule="turned_round",
            kind="turned",
            text=f"{date[:4]}: {phrases.quote(short(commit), 100)}" + (f": {why}" if why else ""),
            sources=(f"commit:{commit.sha[:9]}",),
            reason="a change of mind about the feature",
            score=0.6 + 0.15 * min(1.0, about) + (0.05 if why else 0.0),
        )


def fixes(view: View) -> Iterator[Finding]:
    """The latest fixes of the feature, with what their authors wrote of the cause."""
    n = 0
    told = {source for finding in (*repeated_fixes(view), *changelog(view)) for source in finding.sources}
    for commit in view.told:
        about = view.relevance(commit.subject)
        if (
            not commit.is_fix
            or not is_change(commit)
            or f"commit:{commit.sha[:9]}" in told
            or (about < 0.5 and not _small_at_home(view, commit))
        ):
            continue
        n += 1
        why = phrases.plain(phrases.sentence(commit.body, 130)) if _is_prose(commit.body) else ""
        yield Finding(
            rule="fixes",
            kind="fix",
            text=phrases.quote(short(commit), 100) + (f": {why}" if why else ""),
            sources=(f"commit:{commit.sha[:9]}",),
            reason="a fix that touched the feature's files",
            score=0.4 + 0.25 * min(1.0, about) + (0.1 if why else 0.0),
        )
        if n >= MOST_FIXES:
            return


def _is_prose(body: str) -> bool:
    first = body.strip().split("\n", 1)[0]
    return len(first) > 25 and not re.match(
        r"(?i)[*#<-]|co-authored|signed-off|https?:|closes|fixes|resolves|refs?\b|bumps|\(cherry|this reverts",
        first,
    )


class Entry(NamedTuple):
    """What a changelog says of the feature, where it stands, and whether it tells of a change of mind."""

    worth: float
    said: str
    refs: tuple[str, ...]
    turned: bool


@once
def changelog(view: View) -> Iterator[Finding]:
    """What the changelog tells of the feature's changes of mind and fixes, with the commit that says the same."""
    found = sorted(_entries(view), key=lambda entry: -entry.worth)
    for entry in found[:MOST_ENTRIES]:
        yield Finding(
            rule="changelog",
            kind="turned" if entry.turned else "fix",
            text=phrases.quote(_from_turn(entry.said), MOST_TOLD),
            sources=entry.refs,
            reason=f"the changelog tells of a {'change of mind' if entry.turned else 'fix'}",
            score=0.35 + 0.5 * entry.worth,
        )


def _entries(view: View) -> Iterator[Entry]:
    measure = nearness(view)
    told = [(words.stems_of(c.subject), c) for c in view.told if view.relevance(c.subject) >= 0.5]
    shown = {doc.path for doc in view.docs}
    paths = [p for p in view.services.tree.files if CHANGELOG.search(p) or (NEWS.search(p) and p in shown)]
    for path in sorted(paths)[:3]:
        lines = view.services.tree.lines(path) or []
        for number, line in enumerate(lines, 1):
            if not BULLET.match(line):
                continue
            whole, end = phrases.paragraph(lines, number, 6)
            if (about := measure.of(whole)) < min(NEAR, SURE) or not measure.named_in(whole):
                continue
            said = LINKED.sub("", re.sub(r"^[-*+]\s+", "", whole)).rstrip(". ")
            aloud = TOLD.search(said) is not None
            turned = aloud or TURN.search(said) is not None
            if about < (NEAR if turned else SURE) or not (turned or FIX.search(said)) or CHORE.search(said):
                continue
            held, numbers = words.stems_of(said), set(NUMBERS.findall(whole))
            same = (c for stems, c in told if len(held & stems) >= 0.7 * len(stems) or numbers & {*c.issues})
            refs = (str(Ref("lines", path, number, end)), *(f"commit:{c.sha[:9]}" for c in itertools.islice(same, 1)))
            if phrases.provable(said):
                worth = 0.5 * about + 0.25 * turned + 0.15 * aloud - 0.1 * number / len(lines)
                yield Entry(worth, said, refs, turned)


def _from_turn(said: str) -> str:
    """An entry from the sentence on that tells of the change of mind, when all of it would be too long."""
    match = TOLD.search(said) or TURN.search(said)
    if len(said) <= MOST_TOLD or match is None or match.end() <= MOST_TOLD - 40:
        return said
    starts = [0, *(m.end() for m in re.finditer(r"[.;:!?]\s+", said) if m.end() <= match.start())]
    hangs = len(starts) > 1 and HANGS.match(said[starts[-1] :]) and match.end() - starts[-2] <= MOST_TOLD
    return said[starts[-2 if hangs else -1] :]
