"""The commits about the feature: earlier changes and fixes, newest first."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from preread.evidence import feature_commits
from preread.evidence.feature_commits import source, subject
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.index import gitlog
from preread.index.gitlog import Commit, Patch

MAX_COMMITS, MAX_BEFORE = 10, 2
MAX_REWRITES, MAX_FILES = 3, 3
# The score of a commit: for the feature's whole name in its subject, for other words there, for a
# fix, for a change of code together with its tests, and for a recent one.
NAMED, WORDS, FIX, TESTED, RECENT = 0.3, 0.15, 0.15, 0.2, 0.2
CHAINED = 0.25  # more for one that fixes or reverts an earlier one
MIN_LINES, MIN_LENGTH = 4, 15  # of lines that only one definition has, and their characters
MAX_SHARING = 4  # commits of one issue: an issue with more is an umbrella
REWRITES = "Other fixes of the same lines, newest first"


def find(view: View) -> Iterator[Found]:
    """Commits by their words, then fixes of the main definitions under other words."""
    found = [one for one in view.once(feature_commits.about) if subject(one)]
    scores = {one.sha: _score(view, one, n / len(found)) for n, one in enumerate(found)}
    best = sorted(found, key=lambda one: -scores[one.sha])[:MAX_COMMITS]
    reported: set[str] = set()
    for commit in sorted(best, key=lambda one: -one.at):
        if commit.subject not in reported:
            before = _before(commit, found)
            reported.update(one.subject for one in (commit, *before))
            score = scores[commit.sha] + CHAINED * bool(before)
            yield _fact(commit, before, min(1.0, score))
    yield from _rewrites(view, set(scores))


def _score(view: View, commit: Commit, age: float) -> float:
    """How useful a commit is to a reader: relevant ones first, then fixes, then new ones."""
    return (
        NAMED * view.relevance.has_feature(commit.subject)
        + WORDS * view.relevance.of(commit.subject)
        + FIX * commit.is_fix
        + TESTED * feature_commits.is_tested(commit)
        + RECENT * (1 - age)
    )


def _before(commit: Commit, found: Sequence[Commit]) -> list[Commit]:
    """The commit that this one reverts, else those that it follows up, newest first."""
    back = [one for one in found if feature_commits.reverts(commit, one)]
    if back:
        return back[:1]
    earlier = [one for one in found if feature_commits.follows(commit, one)]
    earlier = [one for one in earlier if one.subject != commit.subject]
    return earlier[:MAX_BEFORE] if len(earlier) <= MAX_SHARING else []


def _fact(commit: Commit, before: Sequence[Commit], score: float) -> Found:
    if before and feature_commits.reverts(commit, before[0]):
        first = before[0]  # whose subject the revert's repeats
        text = f"{_described(first)}; reverted {commit.date[:7]}"
    else:
        follows = (f"follows {one.date[:7]} {subject(one)}" for one in before)
        text = "; ".join((_described(commit), *follows))
    return Found(text, tuple(map(source, (commit, *before))), score)


def _described(commit: Commit) -> str:
    return f"{commit.date[:7]} {subject(commit)}: {feature_commits.files(commit)}"


class _Rewrite(NamedTuple):
    """A commit whose lines a main definition still has."""

    commit: Commit
    name: str
    lines: int


def _rewrites(view: View, reported: set[str]) -> Iterator[Found]:
    """Fixes whose subjects do not mention the feature, but whose lines are in its definitions."""
    fixes = {one.sha for one in view.commits if one.is_fix and feature_commits.is_tested(one)}
    paths = list(dict.fromkeys(one.file.path for one in view.mains))[:MAX_FILES]
    owners = _owners(view, paths)
    found: dict[str, _Rewrite] = {}
    for patch in gitlog.patches_of(view.analyses.log, paths) if owners else ():
        name, lines = _most_rewritten(patch, owners)
        is_new = patch.commit.sha in fixes - reported and subject(patch.commit)
        if is_new and name and lines >= MIN_LINES:
            found.setdefault(patch.commit.sha, _Rewrite(patch.commit, name, lines))
    for one in list(found.values())[:MAX_REWRITES]:
        text = f"{one.commit.date[:7]} {subject(one.commit)}: {one.lines} lines of {one.name}"
        score = 0.3 * min(1.0, one.lines / 20) + 0.2 * one.commit.is_fix
        yield Found(text, (source(one.commit),), score, REWRITES)


def _most_rewritten(patch: Patch, owners: Mapping[tuple[str, str], str]) -> tuple[str, int]:
    """The definition that has most of a patch's added lines, and how many; empty if none has."""
    lines = ((patch.path, line.strip()) for line in dict.fromkeys(patch.added))
    counts = Counter(owners[line] for line in lines if line in owners)
    return counts.most_common(1)[0] if counts else ("", 0)


def _owners(view: View, paths: Sequence[str]) -> dict[tuple[str, str], str]:
    """The lines that only one main definition has, with its name."""
    owners: dict[tuple[str, str], str] = {}
    for one in view.mains:
        if one.file.path not in paths or one.symbol.kind == "class":
            continue
        for number in range(one.symbol.start, min(one.symbol.end, len(one.file.lines)) + 1):
            line = one.file.lines[number - 1].strip()
            if len(line) >= MIN_LENGTH:
                known = owners.setdefault((one.file.path, line), one.symbol.name)
                if known != one.symbol.name:
                    owners[one.file.path, line] = ""
    return owners


RULE = Rule(
    name="history",
    file="failures.md",
    heading="Related commits, newest first",
    weight=0.12,
    find=find,
    example="2026-07 `Fix fish completion (#3126)`: shell_completion.py, its test",
)
