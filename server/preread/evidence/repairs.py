"""What was repaired and turned round: one topic again and again, single fixes, changes of mind."""

import re
from collections import Counter
from collections.abc import Iterator

from preread.evidence import phrases, words
from preread.evidence.history import FIX, NOISE, Commit
from preread.evidence.view import View
from preread.models import Finding
from preread.sources import Ref

CHANGELOG = re.compile(r"(?i)^(docs?/)?(changelog|changes|history|news)(\.\w+)?$")
BULLET = re.compile(r"\s*[-*+]\s+\S")
TURN = re.compile(
    r"(?i)^(drop|remove|disable|stop|switch|swap|hide|undo|restore|bring back|add back|put back|do not|don['’]?t)\b"
    r"|\b(no longer|add(?:ed)? back|taken? out|put back|in favou?r of|renamed? (?:to|from)"
    r"|(?:was|were|been|now) (?:removed|deprecated|disabled)|default (?:to|from|is|of)|set default"
    r"|(?:no|not) any ?more|back to|again|warning instead|instead of (?:an? )?(?:error|warning|raising|failing))\b"
)
CHORE = re.compile(
    r"(?i)\b(bump|upgrade|depend\w*|version (?:to|v?\d)|release|translat\w*|i18n|unused|no longer used|dead code"
    r"|imports?|typ(?:e|es|ed|ing|ings)|annotations?|refactor\w*|page|reference|description|codemod|testing|ruff|flake8|eslint"
    r"|tests? for|add tests?|packages?)\b"
)
GENERIC = frozenset(
    words.stem(word)
    for word in """
    fixed fixes fix correct again error errors bug regression issue crash prevent handle handling support improve better
    properly should would could when with without from into that this make allow ensure using used after before instead
    behavior behaviour case cases test tests code function method option options value values remove refactor simplify
    update change changes more some only also logic cleanup clean move rename rewrite implement introduce missing wrong
    broken edge work works working show return call back default public client server
    """.split()
)
MOST_FIXES, MOST_TOPICS, MOST_TURNS, MOST_ENTRIES = 5, 5, 5, 5


def repeated_fixes(view: View) -> Iterator[Finding]:
    """What was worked on again and again: changes whose subjects share a topic beside the feature."""
    own = [c for c in view.told if _is_change(c) and _is_own(view, c)][:120]
    topics = {c.sha: _topic(c.subject) - view.wanted for c in own}
    counts = Counter(topic for topic_set in topics.values() for topic in topic_set)
    by_topic: dict[frozenset[str], frozenset[str]] = {}
    for topic, count in counts.items():
        if 2 <= count <= 5:
            members = frozenset(c.sha for c in own if topic in topics[c.sha])
            by_topic[members] = by_topic.get(members, frozenset()) | {topic}
    ranked = []
    for members, shared in by_topic.items():
        same = [c for c in own if c.sha in members and (len(topics[c.sha]) > 1 or c.is_fix)]
        if len(same) < 2:
            continue
        fixes = sum(c.is_fix for c in same)
        if fixes < 2 and len(shared) < 2 and not (fixes and _is_name(shared, same)):
            continue
        about = sum(min(1.0, view.relevance(c.subject)) for c in same) / len(same)
        if about < 0.4 and not all(_small_at_home(view, c) for c in same):
            continue
        ranked.append((0.3 * len(shared) + 0.2 * fixes + about + 0.2 * (len(same) > 2), same))
    ranked.sort(key=lambda item: (-item[0], item[1][0].sha))
    told: set[str] = set()
    n = 0
    for worth, same in ranked:
        if n >= MOST_TOPICS or sum(c.sha in told for c in same) * 2 >= len(same):
            continue
        n += 1
        told.update(c.sha for c in same)
        fixed = sum(c.is_fix for c in same)
        head = f"fixed {fixed} times, last {same[0].date}" if fixed == len(same) else f"changed {len(same)} times"
        yield Finding(
            rule="repeated_fixes",
            kind="again",
            text=f"{head}: "
            + "; ".join(f"{c.date[:4]} {phrases.quote(phrases.subject(c.subject), 75)}" for c in same[:4]),
            sources=tuple(f"commit:{c.sha[:9]}" for c in same[:4]),
            reason="changes whose subjects are about the same thing",
            score=min(0.95, 0.65 + 0.12 * worth),
        )


def _is_change(commit: Commit) -> bool:
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
    for commit in view.told:
        about = view.relevance(commit.subject)
        subject = phrases.subject(commit.subject)
        if not TURN.search(subject) or not _is_change(commit):
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
            text=f"{date[:4]}: {phrases.quote(phrases.subject(commit.subject), 100)}" + (f": {why}" if why else ""),
            sources=(f"commit:{commit.sha[:9]}",),
            reason="a change of mind about the feature",
            score=0.6 + 0.15 * min(1.0, about) + (0.05 if why else 0.0),
        )


def fixes(view: View) -> Iterator[Finding]:
    """The latest fixes of the feature, with what their authors wrote of the cause."""
    n = 0
    told = {source for finding in repeated_fixes(view) for source in finding.sources}
    for commit in view.told:
        about = view.relevance(commit.subject)
        if (
            not commit.is_fix
            or not _is_change(commit)
            or f"commit:{commit.sha[:9]}" in told
            or (about < 0.5 and not _small_at_home(view, commit))
        ):
            continue
        n += 1
        why = phrases.plain(phrases.sentence(commit.body, 130)) if _is_prose(commit.body) else ""
        yield Finding(
            rule="fixes",
            kind="fix",
            text=phrases.quote(phrases.subject(commit.subject), 100) + (f": {why}" if why else ""),
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


def changelog(view: View) -> Iterator[Finding]:
    """Fixes and changes of mind that the changelog tells of the feature, newest first; no commit's subject again."""
    n = 0
    subjects = [words.stems_of(c.subject) for c in view.told if view.relevance(c.subject) >= 0.5]
    for path in sorted(p for p in view.services.tree.files if CHANGELOG.search(p))[:3]:
        lines = view.services.tree.lines(path) or []
        for number, line in enumerate(lines, 1):
            if n >= MOST_ENTRIES:
                return
            if not BULLET.match(line):
                continue
            said, end = phrases.paragraph(lines, number)
            if view.relevance(said) < 1 or CHORE.search(said):
                continue
            said = re.sub(r"^[-*+]\s+", "", said)
            turned = TURN.search(said)
            if not (turned or FIX.search(said)) or not phrases.provable(said):
                continue
            held = words.stems_of(said)
            if any(len(held & subject) >= 0.7 * len(subject) for subject in subjects):
                continue
            n += 1
            yield Finding(
                rule="changelog",
                kind="turned" if turned else "fix",
                text=phrases.quote(said, 170),
                sources=(str(Ref("lines", path, number, end)),),
                reason="the changelog tells of a change of mind" if turned else "the changelog tells of a fix",
                score=(0.68 if turned else 0.55) - 0.02 * n,
            )
