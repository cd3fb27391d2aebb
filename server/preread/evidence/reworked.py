"""Reworked: what one commit put in and a later one had to change, found by the lines, whatever the subjects say."""

import re
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.effects import CONDITION
from preread.evidence.lineage import Step, Story, lineage
from preread.evidence.nearness import Nearness, nearness
from preread.evidence.repeated import repeated_fixes
from preread.evidence.subjects import (
    because,
    is_change,
    is_named,
    says,
    title,
    turned,
    without_twins,
)
from preread.evidence.view import View, once
from preread.index.gitlog import Commit
from preread.models import Finding

SOON = 60  # days within which a change of the same lines tells that the first was not enough
HASTE = 14  # the same without any sign of a repair
LONG = 365  # days after which a fix that does not name the feature is one of something else
MOST, LENGTH, LINE = 8, 3, 70  # facts, commits in one, characters of a line
NEAR, ABOUT, HOME, MOST_FUNCTIONS = 0.4, 0.4, 0.5, 3
RESHAPED = re.compile(
    r"(?i)(?:minor |small )?(?:reorder|rearrang|convert|migrat|port|mov|renam|rewrit|reformat|split|extract)\w*\b"
)
PART = 0.1  # of what a commit put in that is enough for another to be about it
VALUE = re.compile(r"^(.*?[\w\])]\s*(?::=|[=:])\s*)([\"']?[\w.+-]+[\"']?)\s*[;,)]*$")
TELLS = re.compile(rf"{CONDITION.pattern}|.{{8,}}[=(]|return\\b.{{12}}")


@once
def reworked(view: View) -> Iterator[Finding]:
    """Changes whose lines were fixed, changed soon after, or taken out."""
    measure = nearness(view)
    (past,) = lineage(view)
    steps = past.steps
    ranked = sorted(
        ((_worth(view, measure, step), step) for step in steps), key=lambda one: -one[0]
    )
    everything = [story for step in steps for story in step.stories]
    told: set[str] = set()
    n = 0
    for worth, step in ranked:
        if worth <= 0 or n >= MOST:
            return
        story = _longest(step, everything)
        commits = [
            c for c in story.commits if c in (step.first, step.again) or _goes_on(view, c, story)
        ][-LENGTH:]
        if sum(c.sha in told for c in commits) * 2 > len(commits):
            continue
        n += 1
        told.update(c.sha for c in commits)
        yield Finding(
            rule="reworked",
            kind="again",
            text=_text(commits, step)
            + (_values(story) or (_why(step) if len(commits) == 2 else "")),
            sources=tuple(f"commit:{commit.sha[:9]}" for commit in commits),
            reason="a later commit changed the lines that an earlier one put in",
            score=min(0.95, 0.4 + 0.25 * worth),
        )


def _longest(step: Step, everything: list[Story]) -> Story:
    """The longest story that goes on from the step's lines, one of values before others."""
    mine = {story.commits for story in step.stories}
    longer = [
        story for story in everything if any(story.commits[: len(one)] == one for one in mine)
    ]
    return max(
        longer,
        key=lambda story: (len(story.commits), bool(_values(story)), -sum(map(len, story.lines))),
    )


def _goes_on(view: View, commit: Commit, story: Story) -> bool:
    """Whether a further change of the same lines belongs to what is told of them."""
    return is_change(commit) and (bool(_values(story)) or (says(commit) and is_named(view, commit)))


def _worth(view: View, measure: Nearness, step: Step) -> float:
    """How much a step tells: most when it repairs soon after, near the feature, and little else is changed with it."""
    first, again = step.first, step.again
    if (
        not (is_change(first) and is_change(again))
        or len(without_twins((first, again))) < 2
        or step.hours < 0
    ):
        return 0.0
    if any(RESHAPED.match(phrases.subject(c.subject)) for c in (first, again)):
        return 0.0
    about = max(
        measure.of(c.subject) if measure.named_in(c.subject) else 0.0 for c in (first, again)
    )
    if (about < ABOUT and step.near < NEAR) or not step.nearest:
        return 0.0
    soon = max(0.0, 1 - step.days / SOON) if is_named(view, again) and step.share >= PART else 0.0
    values = any(len(story.lines) > 2 and _values(story) for story in step.stories)
    if not (values or is_named(view, first) or (is_named(view, again) and step.share >= PART)):
        return 0.0
    if not (
        values
        or again.is_fix
        or turned(again)
        or step.is_taken_out
        or (soon and step.days <= HASTE)
    ):
        return 0.0
    if step.days > LONG and not (values or is_named(view, again)):
        return 0.0
    signs = 0.4 * values + 0.5 * again.is_fix + 0.3 * turned(again) + 0.3 * first.is_fix
    told = signs + 0.3 * soon + 0.3 * min(1.0, 2 * step.share)
    return float((about + step.near) * told / step.swept**0.5)


def _text(commits: list[Commit], step: Step) -> str:
    parts = [f"{commit.date[:7]} {title(commit)}" for commit in commits]
    if len(parts) > 2:
        return "the same lines " + "; ".join(parts)
    how = "taken out" if step.is_taken_out else "fixed" if step.again.is_fix else "changed"
    days = {0: "hours later", 1: "a day later"}.get(step.days, f"{step.days} days later")
    soon = "the same day" if step.first.date == step.again.date else days
    when = soon if step.days <= SOON else step.again.date[:7]
    return f"{parts[0]}; its lines {how} {when}: {title(step.again)}"


def _why(step: Step) -> str:
    return f": {why}" if (why := because(step.again)) else _by(step)


def _by(step: Step) -> str:
    """The line that a fix put in, if it still stands: a condition before others, a short one before a long one."""
    lines = (re.sub(r"\s*[{;,:]+$", "", line) for line in step.put if step.again.is_fix)
    fit = [
        one
        for one in lines
        if 12 <= len(one) <= LINE and phrases.balanced(one) and TELLS.match(one)
    ]
    best = min(fit, key=lambda one: (not CONDITION.match(one), len(one)), default="")
    return f", by {phrases.quote(best, LINE)}" if best else ""


def _values(story: Story) -> str:
    """What value a line had, one after the other; nothing for lines of another kind."""
    found = [VALUE.match(line) for line in story.lines[-LENGTH:]]
    values = [match[2] for match in found if match]
    if (
        len(values) < len(found)
        or len({match[1] for match in found if match}) > 1
        or len(story.lines[-1]) > LINE + 20
    ):
        return ""
    return f": {phrases.quote(story.lines[-1].rstrip(';,'), LINE + 20)}, before that " + ", ".join(
        values[-2::-1]
    )


def fixed_functions(view: View) -> Iterator[Finding]:
    """Functions of the feature whose lines of today were fixed more than once."""
    (past,) = lineage(view)
    measure = nearness(view)
    home = past.home()
    told = {source for finding in reworked(view) for source in finding.sources}
    topics = {source for finding in repeated_fixes(view) for source in finding.sources}
    ranked = []
    for passage, commits in past.functions:
        fixes = [
            c
            for c in without_twins(commits)
            if is_change(c) and c.is_fix and says(c) and c.sha in home
        ]
        new = sum(f"commit:{commit.sha[:9]}" not in told for commit in fixes)
        others = [commit for commit in fixes if f"commit:{commit.sha[:9]}" not in topics]
        own = max(view.relevance(passage.symbol.name), view.relevance(passage.file.path)) >= HOME
        own = (
            own
            or measure.is_about(passage.symbol.name)
            or any(is_named(view, commit) for commit in fixes)
        )
        if len(fixes) > 1 and new and passage.near >= HOME and own:
            ranked.append(
                (passage.near * new, passage, (others if len(others) > 1 else fixes)[-LENGTH:])
            )
    ranked.sort(key=lambda one: -one[0])
    for worth, passage, fixes in ranked[:MOST_FUNCTIONS]:
        name = passage.symbol.name
        said = "; ".join(f"{commit.date[:4]} {title(commit)}" for commit in fixes)
        yield Finding(
            rule="fixed_functions",
            kind="again",
            text=f"{code(name) if phrases.provable(name) else name} was fixed more than once: {said}",
            sources=(
                *(f"commit:{commit.sha[:9]}" for commit in fixes),
                passage.file.cite(passage.symbol.start, passage.symbol.end),
            ),
            reason="fixes whose lines stand in one function",
            score=min(0.95, 0.5 + 0.1 * worth),
        )
