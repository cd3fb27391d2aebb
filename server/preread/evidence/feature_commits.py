"""The commits that are about a feature, and how facts describe them."""

import re
from collections.abc import Sequence

from preread.evidence import quoting
from preread.evidence.view import View
from preread.index import gitlog
from preread.index.gitlog import Commit
from preread.roles import role_of

MAX_FILES = 40  # files changed by a commit about one feature
SMALL = 6  # files changed by a revert that is about one of them
MAX_SUBJECT = 120  # characters: a longer one is a paragraph
MAX_NAMES = 2  # source files named
NEAR = 0.5  # of a subject's words, if the commit changed the feature's first files
ID = re.compile(r"\b[0-9a-f]{7,40}\b")
CODE = frozenset({"source", "test", "support"})
# How subjects of releases and dependency updates begin.
CHORE = re.compile(
    r"(?i)^\W*(?:(?:chore|build)\([^)]*deps|bump\b|(?:pre-?)?release\b|prepare\b.*\brelease"
    r"|(?:update|upgrade)\b.*\bdependenc|(?:version |v)?\d+(?:\.\d+)+\S*$)"
)


def about(view: View) -> list[Commit]:
    """The code changes whose subject is about the feature, newest first."""
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
    if view.relevance.has_feature(commit.subject) or _reverts_its_file(view, commit):
        return True
    return commit.sha in touched and _is_near(view, commit)


def _reverts_its_file(view: View, commit: Commit) -> bool:
    """Whether a small revert changed a file named after the feature, whatever its subject says.

    A test counts only if nothing but tests changed: what is reverted often has tests of much else.
    """
    code = [path for path in commit.files if role_of(path) in CODE]
    changed = [path for path in code if role_of(path) == "source"] or code
    is_small = commit.is_revert and len(code) <= SMALL
    return is_small and any(view.relevance.has_feature(path.rpartition("/")[2]) for path in changed)


def _is_near(view: View, commit: Commit) -> bool:
    """Whether a subject has some of the feature's words and the changed files have the others."""
    some = view.relevance.stems_in(commit.subject) & view.relevance.feature
    code_paths = [path for path in commit.files if role_of(path) in CODE]
    whole = bool(some) and view.relevance.has_feature(commit.subject, *code_paths)
    return whole or view.relevance.of(commit.subject) >= NEAR


def source(commit: Commit) -> str:
    return f"commit:{commit.sha[:9]}"


def subject(commit: Commit) -> str:
    """A commit's subject as a quote; empty if it is too long or too short."""
    return quoting.whole(commit.subject, MAX_SUBJECT)


def is_tested(commit: Commit) -> bool:
    """Whether a commit changed code together with its tests."""
    roles = set(map(role_of, commit.files))
    return len(commit.files) <= MAX_FILES and {"source", "test"} <= roles


def files(commit: Commit) -> str:
    """What a commit changed: sources by name, the number of test files, and whether documents."""
    roles = [(path, role_of(path)) for path in commit.files]
    sources = [path for path, role in roles if role == "source"]
    tests = [path for path, role in roles if role in {"test", "support"}]
    has_docs = any(role == "doc" and "/" in path for path, role in roles)
    more = len(sources) - MAX_NAMES
    parts = (
        *(quoting.shortest_path(path, sources) for path in sources[:MAX_NAMES]),
        f"{more} more" if more > 0 else "",
        _tests(sources, tests) if tests else "",
        "docs" if has_docs else "",
    )
    return ", ".join(filter(None, parts))


def _tests(sources: Sequence[str], tests: Sequence[str]) -> str:
    if len(tests) > 1:
        return f"{len(tests)} test files"
    stems = [path.rpartition("/")[2].partition(".")[0].lower() for path in (*sources, *tests)]
    return "its test" if len(stems) == 2 and stems[0] in stems[1] else "1 test file"


def follows(later: Commit, earlier: Commit) -> bool:
    """Whether a commit names an earlier one by its id, or shares its issue."""
    if later.at <= earlier.at:
        return False
    if not set(later.issues).isdisjoint(earlier.issues):
        return True
    return any(earlier.sha.startswith(cut) for cut in ID.findall(later.body))


def reverts(later: Commit, earlier: Commit) -> bool:
    """Whether a commit says that it reverts another, by id or subject."""
    if not later.is_revert or later.at < earlier.at:
        return False
    ids = [cut for cut in gitlog.REVERTS_COMMIT.findall(later.body) if cut]
    return any(map(earlier.sha.startswith, ids)) or f'"{earlier.subject}"' in later.subject
