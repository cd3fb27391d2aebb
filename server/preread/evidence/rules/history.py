"""The commits about the feature: earlier changes and fixes, newest first."""

from collections.abc import Iterator, Sequence

from preread.evidence import feature_commits
from preread.evidence.feature_commits import source, subject
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.index.gitlog import Commit

MAX_COMMITS, MAX_BEFORE = 10, 2
# The score of a commit: for the feature's whole name in its subject, for other words there, for a
# fix, for a change of code together with its tests, and for a recent one.
NAMED, WORDS, FIX, TESTED, RECENT = 0.3, 0.15, 0.15, 0.2, 0.2
CHAINED = 0.25  # more for one that fixes or reverts an earlier one
MAX_SHARING = 4  # commits of one issue: an issue with more is an umbrella


def find(view: View) -> Iterator[Found]:
    """The most useful commits, each with the earlier ones that it follows or reverts."""
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


RULE = Rule(
    name="history",
    file="failures.md",
    heading="Related commits, newest first",
    weight=0.12,
    find=find,
    example="2026-07 `Fix fish completion (#3126)`: shell_completion.py, its test",
)
