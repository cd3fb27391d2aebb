"""Subjects: what a commit's message tells: whether it changed what the code does, whether it turned round, and why."""

import re

from preread.evidence import phrases
from preread.evidence.history import CHORE, NOISE, Commit

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


def is_change(commit: Commit) -> bool:
    """Whether a commit changed what the code does, as far as its subject tells."""
    return not (commit.is_revert or NOISE.search(commit.subject) or CHORE.search(commit.subject))


def turned(commit: Commit) -> bool:
    """Whether a subject tells of a change of mind."""
    return TURN.search(phrases.subject(commit.subject)) is not None


def short(commit: Commit) -> str:
    """A commit's subject without its prefix and the number of its review."""
    return LINKED.sub("", phrases.subject(commit.subject))


def because(commit: Commit) -> str:
    """The first sentence that a commit's author wrote of it beside the subject, of those who wrote any."""
    first = commit.body.strip().partition("\n\n")[0]
    return phrases.plain(phrases.sentence(first, 130)) if _is_prose(first) else ""


def _is_prose(first: str) -> bool:
    return len(first) > 25 and not re.match(
        r"(?i)[*#<-]|co-authored|signed-off|https?:|closes|fixes|resolves|refs?\b|bumps|\(cherry|this reverts",
        first,
    )
