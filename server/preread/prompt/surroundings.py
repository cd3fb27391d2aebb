"""What the project's own files say about how its tests reach and enter the application. Few files, plain rules."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from preread.models import Evidence
from preread.project.tree import Tree
from preread.services import Services

MOST_FILES, MOST_LINES, MOST_VALUE = 12, 2000, 200
VALUE = r"""((?:"[^"\n]*"|'[^'\n]*'|`[^`\n]*`|[^,}"'`\n])+)"""  # an expression, to the comma or bracket that ends it
RUNNER = r"(?:^|/)(?:playwright|cypress|wdio|nightwatch|codecept)[\w.-]*\.(?:[cm]?[jt]s|json)$"
# File names, and the line in them that gives the address.
ADDRESSES = (
    (re.compile(RUNNER), re.compile(rf"""(?i)["']?\bbase_?url["']?\s*:\s*{VALUE}""")),
    (
        re.compile(r"(?:^|/)(?:pytest\.ini|pyproject\.toml|setup\.cfg|tox\.ini)$"),
        re.compile(rf"^\s*base_url\s*=\s*{VALUE}"),
    ),
    (
        re.compile(r"(?:^|/)\.?env\.(?:example|sample|template|dist)$"),
        re.compile(r"^\s*(?:export\s+)?(?:\w+_)?BASE_URL\s*=\s*(\S+)"),
    ),
)
ENTRANCES = re.compile(
    r"(?:^|/)(?:[\w-]+\.setup\.[cm]?[jt]s|global-?setup\.[cm]?[jt]s|conftest\.py)$|(?:^|/)cypress/support/[\w./-]+$"
)
STRATEGIES = tuple(
    re.compile(rf"^.*?({words}.*)")
    for words in (
        r"\bstorageState\b",
        r"\bcy\.session\(",
        r"\bhttpCredentials\b",
        r"\bforce_(?:login|authenticate)\(",
    )
)
COMMENT = re.compile(r"\s*(?://|#|\*|/\*|;)")


def base_url(services: Services, evidence: Evidence) -> str:
    """Where the tests find the application, as their settings write it, with its place; empty when nothing says so."""
    for names, pattern in ADDRESSES:
        for path in _nearest(services.tree, names, evidence):
            for number, line in _lines(services.tree, path):
                if (match := pattern.search(line)) and "@" not in match[
                    1
                ]:  # no names and passwords of an address
                    return f"{_bare(match[1])} ({path}:{number})"
    return ""


def auth_strategy(services: Services, evidence: Evidence) -> str:
    """How the tests log in, as the line that says so, with its place; empty when none of the known ways is there."""
    names = re.compile(f"{RUNNER}|{ENTRANCES.pattern}")
    paths = [*_nearest(services.tree, names, evidence), *(ranked.path for ranked in evidence.tests)]
    for pattern in STRATEGIES:
        for path in dict.fromkeys(paths):
            for number, line in _lines(services.tree, path):
                if match := pattern.search(line):
                    return f"{_bare(match[1])} ({path}:{number})"
    return ""


def test_folders(evidence: Evidence) -> list[str]:
    """The folders of the feature's tests, best first, without those inside others of them."""
    folders = [os.path.dirname(ranked.path) for ranked in evidence.tests]  # noqa: PTH120 - posix, as evidence has them
    outer = [
        f for f in dict.fromkeys(folders) if not any(f.startswith(f"{other}/") for other in folders)
    ]
    return [folder or "." for folder in outer]


def _nearest(tree: Tree, names: re.Pattern[str], evidence: Evidence) -> list[str]:
    """The files of these names, those that share most folders with the feature's tests first."""
    tests = [PurePosixPath(ranked.path).parts[:-1] for ranked in evidence.tests]

    def distance(path: str) -> tuple[int, int, str]:
        folders = PurePosixPath(path).parts[:-1]
        return -max((_shared(folders, test) for test in tests), default=0), len(folders), path

    return sorted(filter(names.search, tree.files), key=distance)[:MOST_FILES]


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many folders two paths have in common, from the root."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


def _lines(tree: Tree, path: str) -> Iterator[tuple[int, str]]:
    lines: Iterable[str] = (tree.lines(path) or ())[:MOST_LINES]
    return ((n, line[:MOST_LINES]) for n, line in enumerate(lines, 1) if not COMMENT.match(line))


def _bare(value: str) -> str:
    """A value without the marks around a plain text, and not longer than a line of the prompt."""
    value = value.strip().rstrip(",;").strip()
    plain = re.fullmatch(r"""(["'`])([^"'`]*)\1""", value)
    return (plain[2] if plain else value)[:MOST_VALUE]
