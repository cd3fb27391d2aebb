"""Repeated: what was worked on more than once, told with the file and the words that its commits share."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import athome, phrases
from preread.evidence.nearness import nearness
from preread.evidence.subjects import (
    LINKED,
    code_of,
    compact,
    is_change,
    is_named,
    only_tests,
    says,
    short,
    stands,
    title,
    topic_of,
    turned,
    without_others,
    without_twins,
)
from preread.evidence.view import View, once
from preread.index import words
from preread.index.gitlog import Commit
from preread.models import Finding
from preread.syntax.languages import own_role

ADDITION = re.compile(
    r"(?i)(?:add(?:s|ed|ing)?|provid|implement|introduc|creat|support|new|initial|instrument"
    r"|allow|expos|updat|associat|map|includ)\w*\b"
)
OWN, BESIDE = (
    0.4,
    0.2,
)  # how near a title is to the feature that is about it; that is told with others of its topic
MOST_TOPICS, MOST_OWN, MOST_TOLD_OF, MOST_WORDS, FEW = 3, 120, 4, 2, 6
LONG_AGO = 7 * 366 * 86_400  # seconds before the newest of the files' changes
SPELL = 7 * 86_400  # seconds within which changes are one piece of work, if no fix followed another


ISSUE = re.compile(r"\b[A-Z][A-Z0-9]+-\d+\b|#\d+")


class Topic(NamedTuple):
    """Commits that share words, the newest first, and the file that all of them changed; "" for several files."""

    commits: list[Commit]
    stems: frozenset[str]
    file: str
    worth: float


@once
def repeated_fixes(view: View) -> Iterator[Finding]:
    """What was worked on again and again: changes whose subjects share a topic beside the feature, and their files."""
    told: set[str] = set()
    n = 0
    for topic in sorted(
        _topics(view), key=lambda topic: (-topic.worth, topic.commits[0].sha, sorted(topic.stems))
    ):
        if n >= MOST_TOPICS or sum(c.sha in told for c in topic.commits) * 2 >= len(topic.commits):
            continue
        n += 1
        shown = [c for c in topic.commits if c.sha not in told][:MOST_TOLD_OF]
        told.update(c.sha for c in shown)
        how = "fixed" if all(c.is_fix for c in shown) else "changed"
        where = f" in {code(topic.file)}" if phrases.provable(topic.file) else ""
        yield Finding(
            rule="repeated_fixes",
            kind="again",
            text=f"{how} more than once{where} ({', '.join(_words(shown, topic.stems)[:MOST_WORDS])}): "
            + "; ".join(f"{c.date[:4]} {title(c)}" for c in shown),
            sources=tuple(f"commit:{c.sha[:9]}" for c in shown),
            reason="changes of the same files whose subjects are about the same thing",
            score=min(0.95, 0.65 + 0.12 * topic.worth),
        )


def _topics(view: View) -> Iterator[Topic]:
    measure = nearness(view)
    changes = [
        c
        for c in without_twins(view.told)
        if is_change(c) and says(c) and not only_tests(c) and stands(view, c)
    ]
    own = [c for c in changes if athome.is_own(view, c)][:MOST_OWN]
    topics = {c.sha: _topic_of(view, c) for c in changes}
    near = {c.sha: measure.of(without_others(view, c.subject)) for c in changes}
    everywhere = Counter(topic for c in changes for topic in topics[c.sha])
    found = []
    for members, shared in _by_topic(own, topics).items():
        same = [c for c in own if c.sha in members and (len(topics[c.sha]) > 1 or c.is_fix)]
        rare = min(everywhere[topic] for topic in shared) <= FEW
        if (
            (rare or len(shared) > 1)
            and not view.whole_project
            and _is_about(view, same, shared, near, rare)
        ):
            # what else of the files' past is about it, though it does not name the feature
            more = [
                c
                for c in changes
                if c not in same and shared <= topics[c.sha] and len(code_of(c)) <= 6
            ]
            beside = {path for c in same for path in code_of(c) if own_role(path) == "source"}
            more = [c for c in more if near[c.sha] >= BESIDE and not beside.isdisjoint(c.files)]
            same = sorted(
                [*same, *more[: max(0, MOST_TOLD_OF - len(same))]],
                key=lambda c: c.date,
                reverse=True,
            )
        whole = _each_once(same)
        file, same = ("", whole) if view.whole_project else _in_one_place(view, whole)
        still = frozenset.intersection(*(topics[c.sha] for c in same)) if same else shared
        if not _is_about(view, same, still, near, rare):
            file, same, still = (
                "",
                _of_one_name(view, whole, shared),
                shared,
            )  # in several files, by one name
        if _is_about(view, same, still, near, rare):
            found.append((same, still, rare, file))
    gone = (
        athome.gone(view, {c.sha: c for same, *_ in found for c in same}.values())
        if found
        else set()
    )
    for before, shared, rare, file in found:
        same = [c for c in before if c.sha not in gone or view.told[0].at - c.at <= LONG_AGO]
        if all(c.sha in gone for c in same) or not _is_about(view, same, shared, near, rare):
            continue
        ranked, fixes = sorted(near[c.sha] for c in same), sum(c.is_fix for c in same)
        worth = 0.2 * len(shared) + 0.2 * fixes + 0.75 * sum(ranked[-2:]) + 0.2 * (len(same) > 2)
        yield Topic(same, shared, file, worth)


def _topic_of(view: View, commit: Commit) -> frozenset[str]:
    """The stems of what a subject is about beside the feature, however its name is put together."""
    found = topic_of(_bare(commit)) - view.wanted
    return frozenset(stem for stem in found if not view.joined or view.joined not in compact(stem))


def _bare(commit: Commit) -> str:
    """A subject without the part of the project that it begins with and the keys of issues."""
    return re.sub(r"^[\w./-]+:\s", "", ISSUE.sub(" ", short(commit)).strip())


def _by_topic(
    own: list[Commit], topics: dict[str, frozenset[str]]
) -> dict[frozenset[str], frozenset[str]]:
    """Groups of commits that share a topic → all that they share."""
    counts = Counter(topic for c in own for topic in topics[c.sha])
    found: dict[frozenset[str], frozenset[str]] = {}
    for topic, count in counts.items():
        if 2 <= count <= 5:
            members = frozenset(c.sha for c in own if topic in topics[c.sha])
            found[members] = found.get(members, frozenset()) | {topic}
    return found


def _each_once(commits: list[Commit]) -> list[Commit]:
    """The commits without those of an issue that a newer one names, too."""
    told: set[str] = set()
    kept = []
    for commit in commits:
        named = {*ISSUE.findall(LINKED.sub("", commit.subject))}
        if named.isdisjoint(told):
            kept.append(commit)
        told |= named
    return kept


def _in_one_place(view: View, commits: list[Commit]) -> tuple[str, list[Commit]]:
    """The name of the file that most of these commits changed, and those of them that did; else those that changed
    files which are called like the feature. In a file that is not the feature's own, only those that name it."""
    paths: dict[str, set[str]] = defaultdict(set)
    changed: dict[str, set[str]] = defaultdict(set)
    for commit in commits:
        for path in code_of(commit):
            if own_role(path) == "source" or view.relevance(path) >= 1:
                paths[name := path.rpartition("/")[2]].add(path)
                changed[name].add(commit.sha)

    def rank(name: str) -> tuple[int, bool, float, str]:
        own = max(map(view.relevance, paths[name]))
        return (
            len(changed[name]),
            any(own_role(path) == "source" for path in paths[name]),
            own,
            name,
        )

    best = max(changed, key=rank, default="")
    if len(changed[best]) > 1:
        own = any(view.relevance(path) > 0 for path in paths[best])
        these = [c for c in commits if c.sha in changed[best]]
        return best, [c for c in these if own or is_named(view, c) or athome.is_at_home(view, c)]
    return "", [c for c in commits if any(view.relevance(path) >= 1 for path in code_of(c))]


def _of_one_name(view: View, commits: list[Commit], shared: frozenset[str]) -> list[Commit]:
    """Those commits that are the feature's, if one name is whole in all their subjects."""
    these = [c for c in commits if is_named(view, c) or athome.is_at_home(view, c)]
    held = [
        {words.stem(name.lower().strip("_$")) for name in words.IDENTIFIER.findall(_bare(c))}
        for c in these
    ]
    whole = shared.intersection(*held) if held else frozenset[str]()
    return these if any(_is_name(frozenset({stem}), these) for stem in whole) else []


def _is_about(
    view: View, commits: list[Commit], shared: frozenset[str], near: dict[str, float], rare: bool
) -> bool:
    """Whether commits are about one thing of the feature that was worked on again."""
    if len(commits) < 2 or not _is_told_again(commits, shared, rare):
        return False
    second, first = sorted(near[c.sha] for c in commits)[-2:]
    if (first + second < 2 * OWN or second < 0.2) and not all(
        athome.is_at_home(view, c) and near[c.sha] > 0 for c in commits
    ):
        return False
    if 2 * sum(near[c.sha] >= OWN or athome.is_at_home(view, c) for c in commits) <= len(commits):
        return False  # it is another thing's topic
    fixes = sum(c.is_fix for c in commits)
    old = not fixes and view.told[0].at - max(c.at for c in commits) > LONG_AGO
    return not old and not _is_one_piece(commits, fixes)


def _is_one_piece(commits: list[Commit], fixes: int) -> bool:
    """Whether commits add things or are one piece of work: nothing was worked on again."""
    if sum(ADDITION.match(phrases.subject(c.subject)) is None for c in commits) < 2:
        return True
    if not fixes and not any(map(turned, commits)):
        return True
    return fixes < 2 and max(c.at for c in commits) - min(c.at for c in commits) < SPELL


def _is_told_again(commits: list[Commit], shared: frozenset[str], rare: bool) -> bool:
    """Whether what commits share is a topic: two words, or a name or a rare word with fixes or changes of mind."""
    fixes = sum(c.is_fix for c in commits)
    if len(shared) != 1:
        return bool(shared)
    again = fixes > 1 or (rare and (fixes or any(map(turned, commits))))
    return bool((again or (fixes and _is_name(shared, commits))) and _words(commits, shared))


def _is_name(shared: frozenset[str], commits: list[Commit]) -> bool:
    """Whether the one shared word is a name in most subjects: spelled as code, with capitals, or with an underscore."""
    (stem,) = shared
    named = [
        any(
            stem in {*words.stems(found), words.stem(found.lower())}
            and (re.search(r"[A-Z_]", found[1:]) or (found[0].isupper() and at))
            for at, found in enumerate(
                words.IDENTIFIER.findall(re.sub(r"^\W*\w+\W+", "x ", c.subject))
            )
        )
        or re.search(rf"[`\"'][^`\"']*{re.escape(stem)}[^`\"']*[`\"']", c.subject.lower())
        for c in commits
    ]
    return 2 * sum(map(bool, named)) > len(named)


def _words(commits: list[Commit], shared: frozenset[str]) -> list[str]:
    """The shared words as they are spelled, names that all subjects hold first; none that only stand in other names."""
    held = [
        {words.stem(name.lower().strip("_$")): name for name in words.IDENTIFIER.findall(short(c))}
        for c in commits
    ]
    counts = Counter(whole for names in held for whole in names)
    said = [
        held[0][whole]
        for whole, count in counts.items()
        if count == len(commits) and whole in shared
    ]
    some = [stem for stem in shared if 1 < counts[stem] < len(commits)]
    if not said and not some and len(shared) > 1:
        some = list(shared)
    said += [_part(held, stem) for stem in some]
    return sorted(said, key=lambda word: (-len(word), word))


def _part(held: list[dict[str, str]], stem: str) -> str:
    """One word of names and sentences as it is mostly spelled."""
    found = (part for names in held for name in names.values() for part in words.parts(name))
    return Counter(part for part in found if words.stem(part) == stem).most_common(1)[0][0]
