"""Changes of the feature that were reverted, with the reason if the commit gives one."""

import re
from collections.abc import Iterator

from preread.evidence import feature_commits, quoting
from preread.evidence.feature_commits import source, subject
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.index import gitlog
from preread.index.gitlog import Commit

MAX_FACTS = 5
SECONDS = 86_400  # of a day
# What a revert's body has besides its reason: git's own sentence, and trailers.
FORMAL = re.compile(r"(?i)^this reverts commit\b.*|^[\w-]+-by: .*|^[\w-]+: \S+$", re.MULTILINE)


def find(view: View) -> Iterator[Found]:
    """The reverts that are still in force, newest first."""
    commits = view.once(feature_commits.about)
    reverts = [(one, _original(view, one)) for one in commits if one.is_revert]
    latest: dict[str, tuple[Commit, Commit]] = {}
    for revert, original in reverts:
        if original is not None and subject(original) and not _is_back(revert, original, commits):
            latest.setdefault(original.subject, (revert, original))
    for revert, original in list(latest.values())[:MAX_FACTS]:
        yield _fact(view, revert, original)


def _fact(view: View, revert: Commit, original: Commit) -> Found:
    why = _reason(revert)
    text = f"{original.date[:7]} {subject(original)} was reverted {_after(original, revert)}"
    score = 0.5 + 0.3 * view.relevance.of(original.subject) + 0.2 * bool(why)
    return Found(text + (f": {why}" if why else ""), (source(revert), source(original)), score)


def _original(view: View, revert: Commit) -> Commit | None:
    """The commit that a revert names by its id; None if that is a revert itself."""
    named = gitlog.REVERTS_COMMIT.search(revert.body)
    found = gitlog.one(view.analyses.log, named[1]) if named is not None and named[1] else None
    return found if found is not None and not found.is_revert else None


def _is_back(revert: Commit, original: Commit, commits: list[Commit]) -> bool:
    """Whether the change was made again later: the revert reverted, or the subject repeated."""
    if any(feature_commits.reverts(one, revert) for one in commits):
        return True
    same = [one for one in commits if original.subject in one.subject and not one.is_revert]
    return any(one.at > revert.at for one in same)


def _after(original: Commit, revert: Commit) -> str:
    """How long after a change it was reverted."""
    days = round((revert.at - original.at) / SECONDS)
    if not 0 <= days < 365:
        return f"in {revert.date[:7]}"
    return "the same day" if not days else "1 day later" if days == 1 else f"{days} days later"


def _reason(revert: Commit) -> str:
    """The first sentence of a revert's body that is not git's own, quoted."""
    sentences = quoting.sentences(FORMAL.sub("", revert.body))
    first = sentences[0] if sentences else ""
    return "" if gitlog.REVERT.search(first) else quoting.whole(first)


RULE = Rule(
    name="reverts",
    file="anti-patterns.md",
    heading="Reverted",
    weight=0.08,
    find=find,
    example="2026-04 `Retry a charge` was reverted 3 days later: `It charged twice.`",
)
