"""What was repaired and turned round: one topic again and again, single fixes, changes of mind."""

import re
from collections import Counter
from collections.abc import Iterator

from preread.evidence import phrases, words
from preread.evidence.changelog import changelog
from preread.evidence.history import Commit
from preread.evidence.lineage import lineage
from preread.evidence.nearness import nearness
from preread.evidence.reworked import reworked
from preread.evidence.subjects import (
    TITLE,
    TURN,
    because,
    code_of,
    compact,
    holds_name,
    is_change,
    is_gone,
    is_moved,
    is_named,
    only_tests,
    says,
    short,
    stands,
    tells,
    topic_of,
    turned,
    without_others,
    without_twins,
)
from preread.evidence.view import View, once
from preread.languages import own_role
from preread.models import Finding

ADDITION = re.compile(
    r"(?i)(?:add(?:s|ed|ing)?|provid|implement|introduc|creat|support|new|initial|instrument"
    r"|allow|expos|updat|associat|map|includ)\w*\b"
)
OWN, BESIDE = 0.4, 0.2  # how near a title is to the feature that is about it; that is told with others of its topic
MOST_FIXES, MOST_TOPICS, MOST_TURNS = 5, 3, 5
MOST_OWN, MOST_TOLD_OF, RARE = 120, 4, 6
LONG_AGO = 7 * 366 * 86_400  # seconds before the newest of the files' changes
SPELL = 7 * 86_400  # seconds within which changes are one piece of work, if no fix followed another


@once
def repeated_fixes(view: View) -> Iterator[Finding]:
    """What was worked on again and again: changes whose subjects share a topic beside the feature."""
    measure = nearness(view)
    changes = [
        c for c in without_twins(view.told) if is_change(c) and says(c) and not only_tests(c) and stands(view, c)
    ]
    own = [c for c in changes if _is_own(view, c)][:MOST_OWN]
    topics = {c.sha: topic_of(c.subject) - view.wanted for c in changes}
    near = {c.sha: measure.of(without_others(view, c.subject)) for c in changes}
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
        second, first = sorted(near[c.sha] for c in same)[-2:]
        about = (first + second) / 2
        if (about < OWN or second < 0.2) and not all(_at_home(view, c) and near[c.sha] > 0 for c in same):
            continue
        if (
            rare or len(shared) > 1
        ) and not view.whole_project:  # what else of the files' past is about it, though it does not name the feature
            more = [c for c in changes if c not in same and shared <= topics[c.sha] and len(code_of(c)) <= 6]
            beside = {path for c in same for path in code_of(c) if own_role(path) == "source"}
            more = [c for c in more if near[c.sha] >= BESIDE and not beside.isdisjoint(c.files)]
            same = sorted([*same, *more[: max(0, MOST_TOLD_OF - len(same))]], key=lambda c: c.date, reverse=True)
        if 2 * sum(near[c.sha] >= OWN or _at_home(view, c) for c in same) <= len(same):
            continue  # it is another thing's topic
        fixes = sum(c.is_fix for c in same)
        if _is_one_piece(same, fixes) or (not fixes and view.told[0].at - max(c.at for c in same) > LONG_AGO):
            continue
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
            text=f"{head}: " + "; ".join(f"{c.date[:4]} {phrases.quote(short(c), TITLE)}" for c in shown),
            sources=tuple(f"commit:{c.sha[:9]}" for c in shown),
            reason="changes whose subjects are about the same thing",
            score=min(0.95, 0.65 + 0.12 * worth),
        )


def _is_one_piece(commits: list[Commit], fixes: int) -> bool:
    """Whether commits add things or are one piece of work: nothing was worked on again."""
    if sum(ADDITION.match(phrases.subject(c.subject)) is None for c in commits) < 2:
        return True
    if not fixes and not any(map(turned, commits)):
        return True
    return fixes < 2 and max(c.at for c in commits) - min(c.at for c in commits) < SPELL


def _is_told_again(commits: list[Commit], shared: frozenset[str], rare: bool) -> bool:
    """Whether what commits share is a topic: two words, two fixes, or a rare word with a fix or a change of mind."""
    fixes = sum(c.is_fix for c in commits)
    if fixes >= 2 or len(shared) >= 2:
        return True
    turns = any(map(turned, commits))
    return bool((fixes and _is_name(shared, commits)) or (rare and (fixes or turns)))


def _is_own(view: View, commit: Commit) -> bool:
    return (
        view.relevance(commit.subject) >= 0.5
        or (view.relevance(commit.subject) > 0 and len(code_of(commit)) <= 6)
        or _at_home(view, commit)
    )


def _at_home(view: View, commit: Commit) -> bool:
    """Whether a commit changed little else than the feature's own files, or those that its description spells out."""
    code = code_of(commit)
    spelled = sum(path in _spelled(view) for path in code)
    return _small_at_home(view, commit) or (len(code) <= 4 and 2 * spelled >= len(code) > 0)


@once
def _spelled(view: View) -> list[str]:
    """The first files that are called like several words of the description: `selectionpolicies`."""
    said = re.split(r"[\W_]+", view.request.description.lower())
    runs = {"".join(said[i : i + n]) for n in (2, 3) for i in range(len(said) - n + 1)}
    return [file.path for file in view.sources[:3] if compact(file.path.rpartition("/")[2].partition(".")[0]) in runs]


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


def _small_at_home(view: View, commit: Commit) -> bool:
    """Whether a commit changed little else than the feature's own files."""
    code = code_of(commit)
    home = sum(view.relevance(path) >= 1 for path in code)
    small = len(code) <= 4 and 2 * home >= len(code) > 0
    return small or (len(code) <= 6 and _homes(view).get(commit.sha, 0.0) >= 0.5)


def _homes(view: View) -> dict[str, float]:
    """How near the functions are that commits changed, worked out once."""
    if "homes" not in view.memo:
        view.memo["homes"] = lineage(view)[0].home()
    found: dict[str, float] = view.memo["homes"]
    return found


def turned_round(view: View) -> Iterator[Finding]:
    """Changes of mind: what was dropped, switched, put back or done instead, as the commits' subjects say."""
    ranked = []
    told = {source for finding in changelog(view) for source in finding.sources}
    for commit in without_twins(view.told):
        about = view.relevance(commit.subject)
        subject = phrases.subject(commit.subject)
        if not TURN.search(subject) or not is_change(commit) or f"commit:{commit.sha[:9]}" in told:
            continue
        if about < 0.5 and not (holds_name(view, commit.subject) or _small_at_home(view, commit)):
            continue
        if not view.whole_project and (only_tests(commit) or not stands(view, commit)):
            continue
        why = because(commit)
        if not (view.whole_project or is_named(view, commit) or why or _drops(view, commit)):
            continue
        if (not why and is_moved(view, commit)) or is_gone(view, commit.subject):
            continue
        ranked.append((about, commit.date, commit))
    ranked.sort(key=lambda item: (-min(1.0, item[0]), item[1]))
    for about, date, commit in ranked[:MOST_TURNS]:
        why = because(commit)
        yield Finding(
            rule="turned_round",
            kind="turned",
            text=f"{date[:4]}: {phrases.quote(short(commit), TITLE)}" + (f": {why}" if why else ""),
            sources=(f"commit:{commit.sha[:9]}",),
            reason="a change of mind about the feature",
            score=0.6 + 0.15 * min(1.0, about) + (0.05 if why else 0.0),
        )


def _drops(view: View, commit: Commit) -> bool:
    """Whether a subject names what its commit took out of the feature's files, as code is spelled."""
    named = {name.lower() for name in words.IDENTIFIER.findall(commit.subject) if re.search(r"_|[a-z][A-Z]", name)}
    gone = "\n".join(line for p in view.patches if p.commit.sha == commit.sha for line in p.removed).lower()
    return any(name in gone for name in named)


def fixes(view: View) -> Iterator[Finding]:
    """The latest fixes of the feature with what their authors wrote of the cause, the others on one line."""
    told = {
        source for rule in (repeated_fixes, changelog, reworked) for finding in rule(view) for source in finding.sources
    }
    plain, n = [], 0
    for commit in without_twins(view.told):
        about = view.relevance(commit.subject)
        if (
            not commit.is_fix
            or not (is_change(commit) and says(commit))
            or f"commit:{commit.sha[:9]}" in told
            or (about < 0.5 and not _small_at_home(view, commit))
            or only_tests(commit)
            or not stands(view, commit)
        ):
            continue
        why = because(commit)
        if not why and tells(view, commit.subject):
            plain.append(commit)
        elif not why:
            continue
        elif n < MOST_FIXES:
            n += 1
            yield Finding(
                rule="fixes",
                kind="fix",
                text=f"{commit.date[:4]} {phrases.quote(short(commit), TITLE)}: {why}",
                sources=(f"commit:{commit.sha[:9]}",),
                reason="a fix that touched the feature's files",
                score=0.5 + 0.3 * min(1.0, about),
            )
    if plain:
        yield Finding(
            rule="fixes",
            kind="fix",
            text="; ".join(f"{c.date[:4]} {phrases.quote(short(c), TITLE)}" for c in plain[:MOST_TOLD_OF]),
            sources=tuple(f"commit:{c.sha[:9]}" for c in plain[:MOST_TOLD_OF]),
            reason="fixes that touched the feature's files",
            score=0.5,
        )
