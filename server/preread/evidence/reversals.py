"""Reversals: commits taken back, values changed and changed back, sleeps replaced."""

import re
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.lineage import FILES, lineage
from preread.evidence.nearness import nearness
from preread.evidence.reworked import NEAR, SOON, VALUE
from preread.evidence.subjects import (
    LINKED,
    because,
    code_of,
    is_change,
    is_named,
    quoted,
    says,
    short,
    short_of,
    stands,
    title,
    topic_of,
)
from preread.evidence.view import View
from preread.index import gitlog
from preread.index.gitlog import CHORE, Commit
from preread.models import Finding

TAKEN = re.compile(
    r'(?i)(?:[\w-]+(?:\([^)]*\))?!?:\s+)?revert:?\s+"(.+)["…]'
)  # with the title of what is taken back
REAPPLIED = re.compile(
    r'(?i)(?:re-?apply|re-?land)\b|revert:?\s+"'
)  # a title of what was put in again
MERGE = re.compile(r"Merge (?:pull request|branch|remote)\b")  # says only where something came from
AGAIN = re.compile(r'(?i)re-?apply|re-?land|revert:?\s+"revert')
MOST_FILES = (
    8  # that a revert without the feature's name changes when it is about the feature's own
)
WAIT = re.compile(r"(?i)wait|poll|until|expect\(|toBe|clock|freeze|timers")
SLEEP = re.compile(r"(\w+\.)*(waitForTimeout|sleep|setTimeout)\([^)]*\)")


def reverts(view: View) -> Iterator[Finding]:
    """What was tried and taken back and is still so, with the reason if one was given."""
    n, own = 0, {file.path for file in view.sources[:FILES]}
    for at, commit in enumerate(view.told):
        match = TAKEN.match(commit.subject)
        if not commit.is_revert or n >= 5 or REAPPLIED.match(match[1] if match else short(commit)):
            continue
        files, why = code_of(commit), because(commit)
        home = sum(path in own or view.relevance(path) >= 1 for path in files)
        if not home:
            continue
        tried, original = _tried(view, commit)
        small = 2 * home >= len(files) and len(files) <= MOST_FILES
        named = is_named(view, commit) or (tried and nearness(view).named_in(tried))
        if not named and not (why and small and _is_about(view, commit, why)):
            continue
        if not (says(commit) and stands(view, commit)) or (not tried and '"' in commit.subject):
            continue
        if CHORE.search(tried) or _is_back(tried, view.told[:at]):
            continue
        n += 1
        what = quoted(tried or LINKED.sub("", commit.subject))
        said = f"{original.date[:7] if original else ''} {what} was taken back{_after(original, commit)}".lstrip()
        anew = _anew(tried, commit, view.told[:at])
        again = f"; {anew.date[:7]} {title(anew)}" if anew else ""
        yield Finding(
            rule="reverts",
            kind="reverted",
            text=(said if tried else f"{commit.date[:4]}: {what}")
            + (f": {why}" if why else "")
            + again,
            sources=tuple(f"commit:{one.sha[:9]}" for one in (commit, original, anew) if one),
            reason="a revert that touched the feature's files",
            score=0.8 + 0.15 * min(1.0, view.relevance(commit.subject)),
        )


def _after(original: Commit | None, revert: Commit) -> str:
    """How long after something was put in it was taken back, in words; when, if that is not known."""
    if original is None:
        return f" in {revert.date[:4]}"
    days = (revert.at - original.at) / 86_400
    if original.date == revert.date:
        return " the same day"
    soon = " the next day" if days < 1.5 else f" {round(days)} days later"
    return soon if 0 <= days <= SOON else f" in {revert.date[:7]}"


def _anew(title: str, revert: Commit, later: list[Commit]) -> Commit | None:
    """The next change of the same files about what a revert took back."""
    code, tried = {*code_of(revert)}, topic_of(title)
    for commit in reversed(later):
        topic = topic_of(commit.subject)
        if (
            is_change(commit)
            and 2 * len(topic & tried) > len(topic)
            and not code.isdisjoint(code_of(commit))
        ):
            return commit
    return None


def _is_about(view: View, commit: Commit, why: str) -> bool:
    """Whether a small revert is the feature's by a file's name, by its reason or by the lines that it changed."""
    if any(view.relevance(path) >= 1 for path in commit.files):
        return True
    patches = [patch for patch in view.patches if patch.commit.sha == commit.sha]
    return nearness(view).named_in(
        why, *(line for patch in patches for line in (*patch.removed, *patch.added))
    )


def _tried(view: View, commit: Commit) -> tuple[str, Commit | None]:
    """The title of what a revert took back, and that commit if it is known; the whole title where the revert's is cut,
    and what was merged instead of the title of a merge."""
    match, named = (
        TAKEN.match(commit.subject),
        re.search(r"reverts commit ([0-9a-f]{7,40})", commit.body),
    )
    original = gitlog.one(view.kept.log, named[1]) if named else None
    title = "" if match is None else original.subject if original and "…" in match[0] else match[1]
    if MERGE.match(title):
        title = original.body.partition("\n")[0].strip() if original else ""
    return short_of(title), original


def _is_back(title: str, later: list[Commit]) -> bool:
    """Whether a later commit put in again what was taken back, as its title says."""
    return bool(title) and any(
        title in c.subject and (not c.is_revert or AGAIN.match(c.subject)) for c in later
    )


def back_and_forth(view: View) -> Iterator[Finding]:
    """Values that were changed and changed back: A → B → A."""
    (past,) = lineage(view)
    told: set[str] = set()
    for near, story in ((step.near, story) for step in past.steps for story in step.stories):
        match = VALUE.match(story.lines[-1])
        if (
            match is None
            or len(story.lines) < 3
            or story.lines[-1] != story.lines[-3]
            or len(told) >= 4
        ):
            continue
        name = re.findall(r"[\w.]+", re.sub(r":[^=:]+=\s*$", "", match[1]))[
            -1
        ]  # without the type of `name: type =`
        between = VALUE.match(story.lines[-2])
        if (
            name in told
            or between is None
            or len(name) < 4
            or not (view.relevance(name) or near >= NEAR)
        ):
            continue
        if not any(story.lines[-1] in " ".join(file.text.split()) for file in view.sources[:FILES]):
            continue  # it has gone since
        told.add(name)
        latest, earlier = story.commits[-1], story.commits[-2]
        yield Finding(
            rule="back_and_forth",
            kind="reverted",
            text=f"{code(name)} went from {match[2]} to {between[2]} and back: "
            + phrases.quote(phrases.subject(latest.subject), 90),
            sources=(f"commit:{latest.sha[:9]}", f"commit:{earlier.sha[:9]}"),
            reason="a value changed and changed back",
            score=0.9,
        )


def replaced_sleeps(view: View) -> Iterator[Finding]:
    """Sleeps that a commit took out of the feature's tests for good, with the wait that it put there."""
    n = 0
    for patch in view.patches:
        if not any(file.path == patch.path and file.role != "source" for file in view.tests):
            continue
        found = (
            (m[0], hunk)
            for hunk in patch.hunks
            for line in hunk.removed
            if (m := SLEEP.search(line))
        )
        gone, hunk = next(found, ("", None))
        new = next((line.strip() for line in hunk.added if WAIT.search(line)), "") if hunk else ""
        if not new or n >= 3 or any(gone in file.text for file in view.tests):
            continue
        if any(SLEEP.search(line) for line in patch.added):
            continue
        n += 1
        yield Finding(
            rule="replaced_sleeps",
            kind="reverted",
            text=f"do not wait by {phrases.quote(gone, 60)}: replaced by {phrases.quote(new.rstrip(';'), 80)}",
            sources=(f"commit:{patch.commit.sha[:9]}",),
            reason="a sleep that was replaced",
            score=0.85,
        )
