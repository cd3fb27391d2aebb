"""What was repaired and turned round: single fixes, changes of mind."""

import re
from collections.abc import Iterator

from preread.evidence import athome, phrases
from preread.evidence.changelog import changelog
from preread.evidence.repeated import repeated_fixes
from preread.evidence.reworked import reworked
from preread.evidence.subjects import (
    CODED,
    TURN,
    because,
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
    title,
    without_twins,
)
from preread.evidence.view import View
from preread.index import words
from preread.index.gitlog import Commit
from preread.models import Finding

MOST_FIXES, MOST_TURNS, MOST_TOLD_OF = 5, 5, 4
TIDY = re.compile(
    r"(?i)\bclean(?:ed|ing)?[ -]?ups?\b|\btid(?:y|ied)\b|\bonly (?:call|use)\w* of\b"
    r"|\b(?:remov|drop)\w* (?:an? |the )?(?:extra|duplicate)\b"
)
FEWEST = (
    5  # words of a title that tells by itself what was done instead of what, unless it names code
)


def turned_round(view: View) -> Iterator[Finding]:
    """Changes of mind: what was dropped, switched, put back or done instead, as the commits' subjects say."""
    ranked = []
    told = {source for finding in changelog(view) for source in finding.sources}
    for commit in without_twins(view.told):
        about = view.relevance(commit.subject)
        subject = phrases.subject(commit.subject)
        if (
            not TURN.search(subject)
            or TIDY.search(subject)
            or not is_change(commit)
            or f"commit:{commit.sha[:9]}" in told
        ):
            continue
        if about < 0.5 and not (
            holds_name(view, commit.subject) or athome.is_small_at_home(view, commit)
        ):
            continue
        if not view.whole_project and (only_tests(commit) or not stands(view, commit)):
            continue
        why = because(commit)
        if TIDY.search(why):
            continue
        if not (view.whole_project or is_named(view, commit) or why or _drops(view, commit)):
            continue
        if (not why and (is_moved(view, commit) or not _says_enough(commit))) or is_gone(
            view, commit.subject
        ):
            continue
        ranked.append((about, commit.date, commit))
    gone = athome.gone(view, [commit for *_, commit in ranked])
    ranked = [one for one in ranked if one[2].sha not in gone]
    ranked.sort(key=lambda item: (-min(1.0, item[0]), item[1]))
    for about, date, commit in ranked[:MOST_TURNS]:
        why = because(commit)
        yield Finding(
            rule="turned_round",
            kind="turned",
            text=f"{date[:4]}: {title(commit)}" + (f": {why}" if why else ""),
            sources=(f"commit:{commit.sha[:9]}",),
            reason="a change of mind about the feature",
            score=0.6 + 0.15 * min(1.0, about) + (0.05 if why else 0.0),
        )


def _says_enough(commit: Commit) -> bool:
    """Whether a title tells what was done by itself: it names code, or has a few words."""
    said = short(commit)
    return CODED.search(said) is not None or len(words.IDENTIFIER.findall(said)) >= FEWEST


def _drops(view: View, commit: Commit) -> bool:
    """Whether a subject names what its commit took out of the feature's files, as code is spelled."""
    named = {
        name.lower()
        for name in words.IDENTIFIER.findall(commit.subject)
        if re.search(r"_|[a-z][A-Z]", name)
    }
    gone = "\n".join(
        line for p in view.patches if p.commit.sha == commit.sha for line in p.removed
    ).lower()
    return any(name in gone for name in named)


def fixes(view: View) -> Iterator[Finding]:
    """The latest fixes of the feature with what their authors wrote of the cause, the others on one line."""
    told = {
        source
        for rule in (repeated_fixes, changelog, reworked)
        for finding in rule(view)
        for source in finding.sources
    }
    plain, n = [], 0
    for commit in without_twins(view.told):
        about = view.relevance(commit.subject)
        if (
            not commit.is_fix
            or not (is_change(commit) and says(commit))
            or f"commit:{commit.sha[:9]}" in told
            or (about < 0.5 and not athome.is_small_at_home(view, commit))
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
                text=f"{commit.date[:4]} {title(commit)}: {why}",
                sources=(f"commit:{commit.sha[:9]}",),
                reason="a fix that touched the feature's files",
                score=0.5 + 0.3 * min(1.0, about),
            )
    if plain:
        yield Finding(
            rule="fixes",
            kind="fix",
            text="; ".join(f"{c.date[:4]} {title(c)}" for c in plain[:MOST_TOLD_OF]),
            sources=tuple(f"commit:{c.sha[:9]}" for c in plain[:MOST_TOLD_OF]),
            reason="fixes that touched the feature's files",
            score=0.5,
        )
