"""Commits from `git log`: fixes, reverts, and the files they changed."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

Log = Callable[..., bytes]  # the output of `git log` with these arguments

MAX_COMMITS = 400  # read for subjects and files
MAX_MENTIONING = 150  # whose messages are read
RECORD, FIELD = "\x1e", "\x1f"
PLAIN = ("--no-color", "--relative", "--no-ext-diff", "--no-textconv")  # whatever is configured
FIX = re.compile(
    r"\b(fix(e[sd])?|bug(fix)?|hotfix|regression|repair(s|ed)?|correct(s|ed)?|workaround"
    r"|crash(es)?)\b",
    re.IGNORECASE,
)
NOISE = re.compile(
    r"\b(typos?|grammar|spelling|lint(er|ing)?|comments?|docstrings?|docs?|documentation"
    r"|docblocks?|(java|php|go|rust)docs?|readme"
    r"|whitespace|formatting|changelog|ci|mypy|phpstan|phpunit|psalm|rubocop|clippy|go(lint|fmt"
    r"|vet)|fix(e[sd])? tests?"
    r"|findbugs|spotbugs|(?-i:CS)|code ?style|visibility|intelli[sc]en[sc]e|flaky|error ?prone"
    r"|checkstyle|mutants?)\b"
    r"|^\W*(code |minor |small )?clean(ed|ing)?[ -]?ups?\b|^\W*(document(ed|s|ing)?|mention"
    r"|clarify)\b"
    r"|\b(go|cargo|npm|eslint|ruff|clippy|rubocop) (--)?fix\b|--fix\b"
    r"|^\W*run (\w+ ){0,3}fix(es)?\b",
    re.IGNORECASE,
)
# Types of conventional commits that are no fixes.
OTHER_TYPE = re.compile(r"(?i)(?:chore|build|ci|style|docs?|tests?|refactor)(?:\([^)]*\))?!?:")
REVERT = re.compile(
    r'^([\w-]+(\([^)]*\))?!?:\s+)?(Revert(?:ed|s)?|Back out|Reapply)\b|\breverts? (commit|"|#)',
    re.IGNORECASE,
)
REVERTS_COMMIT = re.compile(r"^This reverts commit\s*([0-9a-f]{7,40})?", re.MULTILINE)
# The body of a squashed commit lists messages, and one of them may revert another.
SQUASHED = re.compile(r"^\s*\* ", re.MULTILINE)
BOT = re.compile(
    r"\[bot\]|dependabot|renovate|pre-commit-ci|github-actions|weblate|crowdin", re.IGNORECASE
)
ISSUE = re.compile(r"(?<![\w&])#(\d{1,6})\b")


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, as far as evidence needs it. `files` are relative to the project's root."""

    sha: str
    subject: str
    body: str
    date: str  # YYYY-MM-DD, the author date, which survives a rebase
    author: str
    files: tuple[str, ...] = ()
    at: int = 0  # the same date in seconds since the epoch

    @property
    def is_revert(self) -> bool:
        return bool(
            REVERT.search(self.subject)
            or (REVERTS_COMMIT.search(self.body) and not SQUASHED.search(self.body))
        )

    @property
    def is_fix(self) -> bool:
        noise = NOISE.search(self.subject) or OTHER_TYPE.match(self.subject)
        return bool(FIX.search(self.subject)) and not noise and not self.is_revert

    @property
    def issues(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(ISSUE.findall(f"{self.subject}\n{self.body}")))


def records(log: Log, *arguments: str) -> Iterator[tuple[Commit, str]]:
    """The commits of `git log`, newest first, each with what is printed after its message."""
    layout = "--format=%x1e%H%x1f%as%x1f%at%x1f%an%x1f%s%x1f%b%x1f"
    output = log(*PLAIN, "--no-renames", layout, *arguments)
    for record in output.decode("utf-8", "replace").split(RECORD)[1:]:
        fields = record.split(FIELD)
        if len(fields) == 7:
            sha, date, at, author, subject, body, rest = fields
            yield (
                Commit(sha, " ".join(subject.split()), body.strip(), date, author, at=int(at)),
                rest,
            )


def _latest(log: Log, most: int, *arguments: str) -> Iterator[tuple[Commit, str]]:
    """The latest commits, without merges and bots."""
    for commit, rest in records(log, f"-n{most}", "--no-merges", *arguments):
        if not BOT.search(commit.author):
            yield commit, rest


def _with_files(found: Iterable[tuple[Commit, str]]) -> list[Commit]:
    return [replace(commit, files=tuple(filter(None, rest.split("\n")))) for commit, rest in found]


def commits_of(log: Log, paths: Sequence[str]) -> list[Commit]:
    """The latest commits that touched any of these files, newest first, each with all its files;
    without merges and bots.
    """
    if not paths:
        return []
    return _with_files(_latest(log, MAX_COMMITS, "--name-only", "--full-diff", "--", *paths))


def one(log: Log, sha: str) -> Commit | None:
    """The commit with this id, merges included, without its files; None if there is none.

    What a message names may have been rebased away, or be beyond a shallow clone's edge.
    """
    found = records(log, "-n1", "--no-patch", "--ignore-missing", f"{sha}^{{commit}}", "--")
    return next((commit for commit, _ in found if commit.sha.startswith(sha)), None)


def mentioning(log: Log, patterns: Sequence[str]) -> list[Commit]:
    """The latest commits whose messages contain any of these, newest first; without bots."""
    if not patterns:
        return []
    greps = [f"--grep={pattern}" for pattern in patterns]
    return _with_files(_latest(log, MAX_MENTIONING, "-i", "-F", *greps, "--name-only", "--", "."))


def churn(log: Log) -> dict[str, int]:
    """How many of the latest commits changed each file."""
    found = records(log, f"-n{MAX_COMMITS}", "--no-merges", "--name-only", "--", ".")
    return Counter(path for commit in _with_files(found) for path in commit.files)
