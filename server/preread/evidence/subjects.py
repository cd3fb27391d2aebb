"""Subjects: what a commit's message tells: whether it changed what the code does, whether it turned round, and why."""

import re
from collections.abc import Iterable

from preread.evidence import phrases, words
from preread.evidence.history import CHORE, NOISE, Commit
from preread.evidence.nearness import nearness
from preread.evidence.view import View, once

TURN = re.compile(
    r"(?i)^(drop|remove|disable|stop|switch|swap|hide|undo|restore|bring back|add back|put back|do not|don['’]?t)\b"
    r"|\b(no longer|add(?:ed)? back|taken? out|put back|in favou?r of|renamed? (?:to|from)"
    r"|(?:was|were|been|now) (?:removed|deprecated|disabled)|default (?:to|from|is|of)|set default"
    r"|(?:no|not) any ?more|back to|again|warning instead|instead of (?:an? )?(?:error|warning|raising|failing))\b"
)
LINKED = re.compile(
    r"(?i)(?:[,;.]?\s*[(,]?(?:(?:fix(?:es)?|closes|resolves|refs?|see)\s+)?"
    r"(?:\[?#\d+\]?(?:\(\S+\))?|:?\{?(?:pr|issue|ref)\}?:?`\d+`|Pull #\d+)\)?)+\.?$"
)


EMPTY = re.compile(
    r"(?i)https?://\S+|#\d+|\b(?:fix(?:e[sd]|ing)?|issues?|bugs?|patch|hotfix|tweaks?|follow.?up|update[sd]?|improve\w*|some|more"
    r"|small|minor|stuff|things?|the|an?|of|for|in|it|this|and|again|review|feedback|regression|problems?|errors?)\b"
)
HOT = 0.5  # of a definition whose name tells that a title is about the feature


def is_change(commit: Commit) -> bool:
    """Whether a commit changed what the code does, as far as its subject tells."""
    return not (commit.is_revert or NOISE.search(commit.subject) or CHORE.search(commit.subject))


def turned(commit: Commit) -> bool:
    """Whether a subject tells of a change of mind."""
    return TURN.search(phrases.subject(commit.subject)) is not None


def says(commit: Commit) -> bool:
    """Whether a subject says what was changed: `Fix patch` and `Fix issue <address>` do not."""
    return len(words.IDENTIFIER.findall(EMPTY.sub(" ", short(commit)))) > 1


def names(view: View) -> frozenset[str]:
    """Names of the feature's definitions, and those that its description spells out: no plain words."""
    return _names(view)[0]


@once
def _names(view: View) -> list[frozenset[str]]:
    hot = {hot.symbol.name for hot in view.symbols if hot.score >= HOT and view.is_telling(hot)}
    return [view.spelled | {name for name in hot if "_" in name.strip("_") or re.search(r"[a-z][A-Z]", name)}]


def is_named(view: View, commit: Commit) -> bool:
    """Whether a subject holds the feature's name, or that of one of its definitions."""
    subject = phrases.subject(commit.subject)
    return nearness(view).named_in(subject) or not names(view).isdisjoint(words.IDENTIFIER.findall(subject))


def without_twins(commits: Iterable[Commit]) -> list[Commit]:
    """The commits without those that were picked onto another branch: of several with one subject the first."""
    return list({short(commit).lower(): commit for commit in reversed(list(commits))}.values())[::-1]


def short(commit: Commit) -> str:
    """A commit's subject without its prefix and the number of its review."""
    return short_of(commit.subject)


def short_of(subject: str) -> str:
    """A subject without its prefix and the number of its review."""
    return LINKED.sub("", phrases.subject(subject))


def because(commit: Commit) -> str:
    """The first sentence that a commit's author wrote of it beside the subject, of those who wrote any."""
    first = re.sub(r"This reverts commit [0-9a-f]+[.,]?", "", commit.body).strip().partition("\n\n")[0]
    return phrases.plain(phrases.sentence(first, 130)) if _is_prose(first) else ""


def _is_prose(first: str) -> bool:
    return len(first) > 25 and not re.match(
        r"(?i)[*#<-]|co-authored|signed-off|https?:|closes|fixes|resolves|refs?\b|bumps|\(cherry|this reverts",
        first,
    )
