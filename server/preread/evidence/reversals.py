"""Reversals: commits taken back, values changed and changed back, sleeps replaced."""

import re
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.lineage import lineage
from preread.evidence.reworked import NEAR, VALUE
from preread.evidence.view import View
from preread.models import Finding

SLEEP = re.compile(r"(\w+\.)*(waitForTimeout|sleep|setTimeout)\([^)]*\)")


def reverts(view: View) -> Iterator[Finding]:
    """What was tried and taken back, with the reason if one was given."""
    n = 0
    for commit in view.commits:
        if not commit.is_revert or n >= 5:
            continue
        about = view.relevance(commit.subject, commit.body)
        home = sum(view.relevance(path) >= 1 for path in commit.files)
        if about < 0.5 and not (len(commit.files) <= 8 and 2 * home >= len(commit.files) > 0):
            continue
        n += 1
        original = re.search(r"reverts commit ([0-9a-f]{7,40})", commit.body)
        body = re.sub(r"This reverts commit [0-9a-f]+[.,]?", "", commit.body).strip()
        why = (
            phrases.plain(phrases.clip(body, 150))
            if len(body) > 20 and not re.match(r"(?i)co-authored|signed-off|closes|https?:", body)
            else ""
        )
        title = phrases.subject(commit.subject)
        cites = [f"commit:{commit.sha[:9]}"]
        if original and view.services.tree.git("cat-file", "-e", f"{original[1]}^{{commit}}").status == 0:
            cites.append(f"commit:{original[1][:9]}")
        yield Finding(
            rule="reverts",
            kind="reverted",
            text=f"{phrases.quote(title, 100)} was taken back" + (f": {why}" if why else ""),
            sources=tuple(cites),
            reason="a revert that touched the feature's files",
            score=0.8 + 0.15 * min(1.0, about),
        )


def back_and_forth(view: View) -> Iterator[Finding]:
    """Values that were changed and changed back: A → B → A."""
    (past,) = lineage(view)
    told: set[str] = set()
    for near, story in ((step.near, story) for step in past.steps for story in step.stories):
        match = VALUE.match(story.lines[-1])
        if match is None or len(story.lines) < 3 or story.lines[-1] != story.lines[-3] or len(told) >= 4:
            continue
        name = re.findall(r"[\w.]+", re.sub(r":[^=:]+=\s*$", "", match[1]))[-1]  # without the type of `name: type =`
        between = VALUE.match(story.lines[-2])
        if name in told or between is None or len(name) < 4 or not (view.relevance(name) or near >= NEAR):
            continue
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
    """Sleeps that a commit took out of the feature's tests, with the wait that it put there."""
    n = 0
    for patch in view.patches:
        if not any(file.path == patch.path and file.role != "source" for file in view.tests):
            continue
        gone = next((m[0] for line in patch.removed if (m := SLEEP.search(line))), "")
        new = next(
            (
                line.strip()
                for line in patch.added
                if re.search(r"(?i)wait|poll|until|expect\(|toBe|clock|freeze|timers", line)
            ),
            "",
        )
        if not gone or any(SLEEP.search(line) for line in patch.added) or n >= 3:
            continue
        n += 1
        yield Finding(
            rule="replaced_sleeps",
            kind="reverted",
            text=f"do not wait by {phrases.quote(gone, 60)}"
            + (f": replaced by {phrases.quote(new.rstrip(';'), 80)}" if new else ": taken out"),
            sources=(f"commit:{patch.commit.sha[:9]}",),
            reason="a sleep that was replaced",
            score=0.85,
        )
