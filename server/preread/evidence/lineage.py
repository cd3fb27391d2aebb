"""Lineage: which commits put in and changed the same line of the feature's files, followed by the line's own text."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from preread.evidence.passages import Passage, passages
from preread.evidence.view import FileView, View, once
from preread.index.gitlog import CHORE, NOISE, Commit, Hunk, Patch

FILES, FEW = 3, 4  # files that are read, functions that a change of one thing touches
LARGE = 150  # lines that a commit takes out of a file when it is about all of it
MOST_PAIRS = 2_000  # of lines taken out and put in at one place, to see which came of which
TELLING = re.compile(
    r"^(?!#|//|/\*|\*|--|<!--|import\b|use\b|from\b|@)(?=.{8}).*\w\W+\w"
)  # code of more than a word
WORD = re.compile(r"\w+")
ALIKE = 0.3  # of two lines' words that are the same when one came of the other
AT_HOME = 0.5  # how near a line of a file is that is the feature's own by its name


class Story(NamedTuple):
    """The commits that one line was put in and changed by, and how it read after each; "" when it was taken out."""

    commits: tuple[Commit, ...]
    lines: tuple[str, ...]

    def then(self, commit: Commit, line: str) -> "Story":
        return Story((*self.commits, commit), (*self.lines, line))


@dataclass
class Step:
    """What one commit changed of what another had put in: the stories of these lines up to then."""

    stories: list[Story] = field(default_factory=list)
    put: list[str] = field(
        default_factory=list
    )  # lines of the second beside these that still stand near the feature
    nearest: float = 0.0  # of the lines to the feature
    known: int = 0  # how many of the lines are near at all
    share: float = 0.0  # of what the first put in that the second changed
    swept: int = 1  # commits whose lines the second changed

    @property
    def first(self) -> Commit:
        return self.stories[0].commits[-2]

    @property
    def again(self) -> Commit:
        return self.stories[0].commits[-1]

    @property
    def near(self) -> float:
        """How near the changed lines are to the feature, 0 to 1."""
        return self.nearest * (0.5 + 0.5 * self.known / len(self.stories))

    @property
    def hours(self) -> float:
        """From when the first was written to when the second was."""
        return (self.again.at - self.first.at) / 3600

    @property
    def days(self) -> int:
        return round(self.hours / 24)

    @property
    def is_taken_out(self) -> bool:
        """Whether most of what was put in went without anything in its place."""
        return self.share >= 0.5 and 2 * sum(not story.lines[-1] for story in self.stories) > len(
            self.stories
        )


class _File:
    """One file's lines with their stories, as far as its patches tell."""

    def __init__(
        self, near: dict[str, float], home: float, found: dict[tuple[str, str], Step]
    ) -> None:
        self.near, self.home, self.found = near, home, found
        self.told: dict[str, list[Story]] = defaultdict(list)

    def take(self, patch: Patch) -> None:
        wide = sum(len(hunk.removed) for hunk in patch.hunks) > LARGE
        spells = bool(
            wide or NOISE.search(patch.commit.subject) or CHORE.search(patch.commit.subject)
        )
        for hunk in patch.hunks:
            self._take(patch.commit, hunk, spells)

    def _take(self, commit: Commit, hunk: Hunk, spells: bool) -> None:
        """A hunk's lines; those that are only moved or spelled otherwise keep their stories."""
        old, new = (
            list(dict.fromkeys(" ".join(line.split()) for line in s))
            for s in (hunk.removed, hunk.added)
        )
        goes_on: dict[str, Story] = {}
        here = max((self.near.get(line, 0.0) for line in new), default=0.0)
        wraps = commit.is_fix and len(new) > len(
            old
        )  # a line that only moves is put under a condition
        for line in old:
            before = self.told.pop(line, [])
            if len(before) != 1 or not TELLING.match(line):
                continue  # of several lines that read the same, nobody knows which went
            (story,) = before
            now = (
                line
                if line in new
                else _successor(line, new)
                if len(old) * len(new) <= MOST_PAIRS
                else ""
            )
            if (now == line and not wraps) or (now and spells):
                goes_on[now] = Story(story.commits, (*story.lines[:-1], now))
            elif story.commits[-1].sha != commit.sha:
                goes_on[now] = longer = story.then(commit, now)
                step = self.found.setdefault((story.commits[-1].sha, commit.sha), Step())
                step.stories.append(longer)
                step.put += [
                    one for one in new if one in self.near and one not in old and TELLING.match(one)
                ]
                near = max(self.home, here, self.near.get(line, 0.0))
                step.nearest, step.known = max(step.nearest, near), step.known + (near > 0)
        for line in new:
            self.told[line].append(goes_on.get(line) or Story((commit,), (line,)))


@lru_cache(maxsize=5_000)
def _words(line: str) -> frozenset[str]:
    return frozenset(WORD.findall(line))


def _successor(line: str, new: list[str]) -> str:
    """The line that took another's place: the one that shares most words with it."""
    words = _words(line)
    best, most = "", ALIKE
    for other in new:
        theirs = _words(other)
        share = len(words & theirs) / (len(words | theirs) or 1)
        if share > most:
            best, most = other, share
    return best


class Lineage(NamedTuple):
    """What commits to the feature's first files changed of what others had put in, and who changed each function."""

    steps: list[Step]
    functions: list[tuple[Passage, list[Commit]]]  # the nearest first, commits the oldest first

    def home(self) -> dict[str, float]:
        """How near to the feature the functions are that commits changed, of those that changed few."""
        spread = Counter(commit.sha for _, commits in self.functions for commit in commits)
        near: dict[str, float] = {}
        for passage, commits in self.functions:
            for commit in commits:
                if spread[commit.sha] <= FEW:
                    near[commit.sha] = max(near.get(commit.sha, 0.0), passage.near)
        return near


@once
def lineage(view: View) -> list[Lineage]:
    """The past of the feature's lines; one, kept for all who ask."""
    near = _near(view)
    found: dict[tuple[str, str], Step] = {}
    files = {
        file.path: _File(near[file.path], AT_HOME if view.relevance(file.path) >= 1 else 0.0, found)
        for file in _first(view).values()
    }
    put, order = Counter[str](), dict[str, int]()
    for patch in reversed(view.patches):
        if patch.path in files:
            files[patch.path].take(patch)
            order.setdefault(patch.commit.sha, len(order))
            put[patch.commit.sha] += sum(len(hunk.added) for hunk in patch.hunks)
    swept = Counter(again for _, again in found)
    for (first, again), step in found.items():
        step.share, step.swept = len(step.stories) / max(1, put[first]), swept[again]
    return [Lineage(list(found.values()), list(_functions(view, files, order)))]


def _functions(
    view: View, files: dict[str, _File], order: dict[str, int]
) -> Iterator[tuple[Passage, list[Commit]]]:
    """The functions of the feature's passages with the commits that their lines of today were put in and changed by."""
    seen: set[tuple[str, int]] = set()
    often = {
        path: Counter(" ".join(line.split()) for line in file.lines)
        for path, file in _first(view).items()
    }
    for passage in passages(view):
        path, symbol = passage.file.path, passage.symbol
        if path in files and (path, symbol.start) not in seen:
            seen.add((path, symbol.start))
            folded = (
                " ".join(line.split()) for line in passage.file.lines[symbol.start - 1 : symbol.end]
            )
            own_lines = (line for line in folded if often[path][line] == 1 and TELLING.match(line))
            stories = [files[path].told.get(line, []) for line in own_lines]
            commits = {c.sha: c for own in stories if len(own) == 1 for c in own[0].commits}
            yield passage, sorted(commits.values(), key=lambda commit: order[commit.sha])


def _first(view: View) -> dict[str, FileView]:
    return {file.path: file for file in view.sources[:FILES]}


def _near(view: View) -> dict[str, dict[str, float]]:
    """How near the lines of the feature's passages are, by file and text, of those that no other line reads like."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for file in _first(view).values():
        folded = [" ".join(line.split()) for line in file.lines]
        often = Counter(folded)
        for passage in passages(view):
            if passage.file is file:
                for line in folded[passage.start - 1 : passage.end]:
                    if often[line] == 1:
                        found[file.path][line] = passage.near
    return found
