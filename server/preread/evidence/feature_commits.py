"""The commits that are about a feature, and how facts tell of them."""

import re
from collections.abc import Sequence

from preread.evidence import quoting
from preread.evidence.view import View
from preread.index import gitlog
from preread.index.gitlog import Commit
from preread.languages import role_of

MAX_FILES = 40  # that a commit about one feature changes
MAX_SUBJECT = 120  # characters: a longer one is a paragraph
MAX_NAMES = 2  # of source files that are named
NEAR = 0.5  # of a subject, for a commit that changed the feature's first files
ID = re.compile(r"\b[0-9a-f]{7,40}\b")
CODE = frozenset({"source", "test", "support"})
# Releases and versions of what the project depends on, as their subjects begin.
CHORE = re.compile(
    r"(?i)^\W*(?:(?:chore|build)\([^)]*deps|bump\b|(?:pre-?)?release\b|prepare\b.*\brelease"
    r"|(?:update|upgrade)\b.*\bdependenc|(?:version |v)?\d+(?:\.\d+)+\S*$)"
)


def about(view: View) -> list[Commit]:
    """The commits whose subject is about the feature and that changed code, newest first."""
    feature = view.request.feature
    spelled = {feature.replace("-", joint) for joint in ("-", " ", "_", "")}
    named = [] if view.whole_project else gitlog.mentioning(view.analyses.log, sorted(spelled))
    known = {commit.sha: commit for commit in (*view.commits, *named)}
    found = [commit for commit in known.values() if _is_about(view, commit)]
    return sorted(found, key=lambda commit: -commit.at)


def _is_about(view: View, commit: Commit) -> bool:
    if len(commit.files) > MAX_FILES or CHORE.search(commit.subject):
        return False
    if not any(role_of(path) in CODE for path in commit.files):
        return False
    if view.whole_project:
        return commit.is_fix
    touched = {commit.sha for commit in view.commits}
    if view.relevance.has_feature(commit.subject):
        return True
    return commit.sha in touched and _is_near(view, commit)


def _is_near(view: View, commit: Commit) -> bool:
    """Whether a subject has some of the feature's words, and the files that changed the others."""
    some = view.relevance.stems_in(commit.subject) & view.relevance.feature
    code_paths = [path for path in commit.files if role_of(path) in CODE]
    whole = bool(some) and view.relevance.has_feature(commit.subject, *code_paths)
    return whole or view.relevance.of(commit.subject) >= NEAR


def source(commit: Commit) -> str:
    return f"commit:{commit.sha[:9]}"


def subject(commit: Commit) -> str:
    """A commit's subject as a quote; empty where it is too long or too short to be one."""
    return quoting.whole(commit.subject, MAX_SUBJECT)


def is_tested(commit: Commit) -> bool:
    """Whether a commit of some files changed code together with its tests."""
    roles = set(map(role_of, commit.files))
    return len(commit.files) <= MAX_FILES and {"source", "test"} <= roles


def files(commit: Commit) -> str:
    """What a commit changed: its sources by name, how many tests, and whether documents."""
    sources = [path for path in commit.files if role_of(path) == "source"]
    tests = [path for path in commit.files if role_of(path) in {"test", "support"}]
    parts = [quoting.shortest_path(path, sources) for path in sources[:MAX_NAMES]]
    if len(sources) > MAX_NAMES:
        parts.append(f"{len(sources) - MAX_NAMES} more")
    if tests:
        parts.append(_tests(sources, tests))
    if any(role_of(path) == "doc" and "/" in path for path in commit.files):
        parts.append("docs")
    return ", ".join(parts)


def _tests(sources: Sequence[str], tests: Sequence[str]) -> str:
    if len(tests) > 1:
        return f"{len(tests)} tests"
    stems = [path.rpartition("/")[2].partition(".")[0].lower() for path in (*sources, *tests)]
    return "its test" if len(stems) == 2 and stems[0] in stems[1] else "1 test"


def follows(later: Commit, earlier: Commit) -> bool:
    """Whether a commit names an earlier one by its id, or shares its issue."""
    if later.at <= earlier.at:
        return False
    if not set(later.issues).isdisjoint(earlier.issues):
        return True
    return any(earlier.sha.startswith(cut) for cut in ID.findall(later.body))


def takes_back(later: Commit, earlier: Commit) -> bool:
    """Whether a commit says that it is the revert of another, by its id or its subject."""
    if not later.is_revert or later.at < earlier.at:
        return False
    ids = [cut for cut in gitlog.REVERTS_COMMIT.findall(later.body) if cut]
    return any(map(earlier.sha.startswith, ids)) or f'"{earlier.subject}"' in later.subject
