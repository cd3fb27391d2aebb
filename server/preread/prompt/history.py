"""The feature's commits for the prompt: the message, and the two lines that show the change best.

The headless builder has no git, so what it can quote from a commit has to be in its prompt.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from preread.index.gitlog import Commit
from preread.models import Evidence
from preread.prompt.patches import Hunk, Patch, patches_in
from preread.roles import role_of
from preread.services import Services

RULES = ("reverts", "history")  # whose findings name commits, most telling first
MAX_COMMITS = 8
MAX_LINE = 140  # characters of a changed line; a longer one is not shown
MIN_LINE = 8
MAX_PAIRS = 400  # pairs of lines compared in one commit
ALIKE = 0.6  # from this similarity on, a line was changed rather than replaced
# Lines of a message that say nothing about the change.
FORMAL = re.compile(
    r"(?i)^(?:[\w-]+-by|pr-url|change-id|refs?|closes|fixes|resolves):.*$", re.MULTILINE
)
# Lines of code that say little about what the change is for.
PLAIN = re.compile(r"^(?:import\b|from\b|use\b|package\b|[#*/]|\"\"\"|[\W_]*$)")
TELLING = re.compile(r"\b(?:if|return|raise|throw|assert|while|except|catch|else|not)\b|[=<>!]=|\d")
# Two lines with the same tokens differ only in their layout.
TOKENS = re.compile(r"\w+|[<>=!+*/%&|^~?:-]+")
SHA = re.compile(r"commit:([0-9a-f]{7,40})")


class CommitLead(NamedTuple):
    """One commit as the prompt shows it; `removed` and `added` may be empty."""

    source: str
    date: str
    subject: str
    body: str
    path: str
    removed: str
    added: str


def commits(services: Services, evidence: Evidence) -> list[CommitLead]:
    """The commits that the findings name, each with its most telling change."""
    shas = _named(evidence)[:MAX_COMMITS]
    if not shas or not services.tree.is_git:
        return []
    patches = patches_in(lambda *rest: services.tree.git("log", *rest).out, shas)
    found: dict[str, list[Patch]] = {}
    for patch in patches:
        found.setdefault(patch.commit.sha, []).append(patch)
    return [_lead(own[0].commit, own, evidence.words) for own in found.values()]


def _named(evidence: Evidence) -> list[str]:
    findings = sorted(
        (one for one in evidence.findings if one.rule in RULES),
        key=lambda one: (RULES.index(one.rule), -one.score),
    )
    shas = (match[1] for one in findings for match in map(SHA.fullmatch, one.sources) if match)
    return list(dict.fromkeys(shas))


def _lead(commit: Commit, patches: Sequence[Patch], words: Iterable[str]) -> CommitLead:
    wanted = re.compile("|".join(map(re.escape, words)) or "(?!)", re.IGNORECASE)
    changes = (
        (_score(removed, added, wanted), -number, patch.path, removed, added)
        for patch in patches
        if role_of(patch.path) == "source"
        for number, hunk in enumerate(patch.hunks)
        for removed, added in _changes(hunk)
    )
    best = max((change for _, change in zip(range(MAX_PAIRS), changes, strict=False)), default=None)
    path, removed, added = best[2:] if best is not None else ("", "", "")
    body = " ".join(FORMAL.sub("", commit.body).split())
    return CommitLead(
        f"commit:{commit.sha[:9]}", commit.date, commit.subject, body, path, removed, added
    )


def _changes(hunk: Hunk) -> Iterator[tuple[str, str]]:
    """The changed lines of a hunk, as pairs of old and new; "" for a line just added or removed."""
    removed, added = (list(filter(_is_code, rows)) for rows in (hunk.removed, hunk.added))
    for new in added:
        similar = ((SequenceMatcher(None, old, new).ratio(), old) for old in removed[:8])
        similarity, old = max(similar, default=(0.0, ""))
        yield (old if similarity >= ALIKE else "", new)
    if not added:
        yield from ((old, "") for old in removed)


def _is_code(line: str) -> bool:
    text = line.strip()
    return MIN_LINE <= len(text) <= MAX_LINE and not PLAIN.match(text)


def _score(removed: str, added: str, wanted: re.Pattern[str]) -> float:
    """How telling a change is: old and new line, a condition or value, the request's words."""
    both = f"{removed} {added}"
    is_pair = bool(removed and added)
    if is_pair and TOKENS.findall(removed) == TOKENS.findall(added):
        return 0.0
    return 2 * is_pair + bool(TELLING.search(both)) + bool(wanted.search(both))
