"""Cases: a commit's message → the sources and the tests it changed, against the tree and the
history before it.

    python bench/retrieval/cases.py [--repo NAME]   how many there are, and the manifest's digest

All of it follows from the manifest. A case's tree is its commit's first parent. A subject that an
earlier commit had too (a backport, a second attempt) is no case, so that the history before a case
never holds its own message.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kinds import SOURCE, TEST, kind_of
from repositories import Clone, Manifest, manifest
from texts import clean, places_of, subject_key, telling_words

MOST_SOURCES, MOST_FILES = 6, 40
FEWEST_SOURCES = 10  # in the tree: with fewer there is nothing to find
BOT = re.compile(
    r"\[bot\]|\bbot\b|dependabot|renovate|pre-commit-ci|github[- ]actions|weblate|crowdin|transifex"
    r"|pyup|snyk|mergify|translat",
    re.IGNORECASE,
)
OUT = re.compile(
    r"^(re-?)?(revert|re-?land|re-?apply|back ?out|merge|backport|cherry[- ]pick)\b"
    r"|\brevert(s|ed|ing)? |\bback-?port|^\[PR #"
    r"|^(style|ci|docs?|release|publish|version|wip|fixup!|squash!)\b(\([^)]*\))?!?:?(\s|$)"
    r"|^(chore|build|fix)\((deps|release)"
    r"|^v?\d+\.\d+|^\W*(bump|prepare|release|version|upgrade)\b|\bversion bump|\bdependenc(y|ies)\b"
    r"|\b(typos?|spelling|white ?space|prettier|eslint|linters?|linting|lint|clippy"
    r"|gofmt|gofumpt|golangci|rustfmt|isort|pyupgrade|flake8"
    r"|pre-commit|reformat(ted|ting)?|copyright|licen[cs]e headers?|changelog|readme|translations?"
    r"|i18n strings)\b",
    re.IGNORECASE,
)
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)


class Case(NamedTuple):
    """One task: its words, where it is asked, and what the answer is."""

    commit: str
    parent: str
    subject: str
    body: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    hunks: dict[
        str, list[tuple[int, int]]
    ]  # lines of the parent that the commit changed, by source
    fresh: int = 0  # sources that the commit added; counted for issues only


class _Commit(NamedTuple):
    sha: str
    parents: list[str]
    author: str
    subject: str
    body: str


def _log(clone: Clone) -> list[_Commit]:
    """Every commit but merges, each after all its ancestors."""
    text = clone.git(
        "log",
        "--no-merges",
        "--topo-order",
        "--format=%x1e%H%x1f%P%x1f%an%x1f%s%x1f%b",
        clone.entry.commit,
    )
    rows = (record.split("\x1f") for record in text.split("\x1e")[1:])
    found = [
        _Commit(row[0], row[1].split(), row[2], " ".join(row[3].split()), row[4])
        for row in rows
        if len(row) == 5
    ]
    return found[::-1]


def _first_of_their_subject(commits: list[_Commit]) -> dict[str, _Commit]:
    seen: set[str] = set()
    found = {}
    for commit in commits:
        key = subject_key(commit.subject)
        if key not in seen and commit.parents:
            found[commit.sha] = commit
        seen.add(key)
    return found


def _is_task(commit: _Commit) -> bool:
    return not (
        BOT.search(commit.author)
        or OUT.search(commit.subject)
        or "This reverts commit" in commit.body
        or "cherry picked from" in commit.body
    )


def _changed(clone: Clone, commit: _Commit) -> dict[str, str]:
    """Path → A, M or D, renames as both."""
    names = clone.git(
        "diff-tree", "-r", "-z", "--no-renames", "--name-status", commit.parents[0], commit.sha
    ).split("\0")
    return dict(zip(names[1::2], names[0::2], strict=False))


def _hunks(clone: Clone, commit: _Commit, paths: list[str]) -> dict[str, list[tuple[int, int]]]:
    """What changed in these files besides white space; a file without such a change is left out."""
    text = clone.git(
        "diff", "-w", "--ignore-blank-lines", "-U0", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv",
        "--src-prefix=a/", "--dst-prefix=b/", commit.parents[0], commit.sha, "--", *(f":(literal){p}" for p in paths),
    )  # fmt: skip
    found: dict[str, list[tuple[int, int]]] = {}
    for part in re.split(r"^diff --git ", text, flags=re.MULTILINE)[1:]:
        path = next(
            (p for p in paths if part.startswith((f"a/{p} b/{p}\n", f'"a/{p}" "b/{p}"\n'))), None
        )
        spans = [(int(m[1]), int(m[1]) + max(int(m[2] or 1), 1) - 1) for m in HUNK.finditer(part)]
        if path is not None and spans:
            found[path] = spans
    return found


def _case(clone: Clone, commit: _Commit) -> Case | None:
    changed = _changed(clone, commit)
    sources = [path for path in changed if kind_of(path) == SOURCE]
    tests = [path for path in changed if kind_of(path) == TEST]
    if not 1 <= len(sources) <= MOST_SOURCES or len(changed) > MOST_FILES:
        return None
    files = {file.path for file in clone.files(commit.parents[0])}
    there = sorted(path for path in (*sources, *tests) if path in files)
    if (
        not set(there).intersection(sources)
        or sum(kind_of(path) == SOURCE for path in files) < FEWEST_SOURCES
    ):
        return None
    hunks = _hunks(clone, commit, there)
    gold = tuple(path for path in there if path in hunks and path in sources)
    places = places_of(sorted({*files, *changed}))
    subject, body = clean(commit.subject, places), clean(commit.body, places)
    if not gold or telling_words(subject) < 3:
        return None
    own_tests = tuple(path for path in there if path in hunks and path in tests)
    return Case(
        commit.sha,
        commit.parents[0],
        subject,
        body,
        gold,
        own_tests,
        {path: hunks[path] for path in gold},
    )


def _drawn(commits: list[_Commit], seed: str) -> Iterator[_Commit]:
    yield from sorted(
        commits, key=lambda commit: hashlib.sha256(f"{seed} {commit.sha}".encode()).digest()
    )


def cases_of(clone: Clone, plan: Manifest) -> list[Case]:
    """The repository's cases, each after those it could build on."""
    log = _log(clone)
    first = _first_of_their_subject(log)
    newest = clone.git(
        "rev-list", "--no-merges", "-n", str(plan.window), clone.entry.commit
    ).split()
    candidates = [first[sha] for sha in newest if sha in first and _is_task(first[sha])]
    found: dict[str, Case] = {}
    for commit in _drawn(candidates, plan.seed):
        if len(found) == plan.cases:
            break
        case = _case(clone, commit)
        if case is not None:
            found[commit.sha] = case
    return [found[commit.sha] for commit in log if commit.sha in found]


def digest_of(cases: list[Case]) -> str:
    """What the manifest knows a list of cases by."""
    text = json.dumps([case[:6] for case in cases], ensure_ascii=True)
    return f"{len(cases)}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clones", type=Path, default=Path.home() / ".cache" / "preread-bench")
    parser.add_argument(
        "--source",
        default="",
        help="where clones come from instead of the URL, like /mirrors/{slug}",
    )
    parser.add_argument("--repo", action="append")
    parser.add_argument("--show", action="store_true", help="print the cases too")
    options = parser.parse_args()
    plan = manifest()
    for entry in plan.entries:
        if options.repo and entry.name not in options.repo:
            continue
        cases = cases_of(Clone.of(entry, options.clones, options.source), plan)
        note = (
            ""
            if digest_of(cases) == entry.digest
            else f"   the manifest has {entry.digest or 'none'}"
        )
        print(f"{entry.name:<30} {digest_of(cases)}{note}", flush=True)
        for case in cases if options.show else ():
            print(
                f"  {case.commit[:10]} {case.subject}\n    {case.body[:300]!r}\n    {case.sources} "
                f"{case.tests}"
            )


if __name__ == "__main__":
    main()
