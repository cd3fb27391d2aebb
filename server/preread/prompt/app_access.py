"""Whether a project has pages, and how its tests reach them and log in, found by patterns."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from preread.models import Evidence
from preread.project.tree import Tree
from preread.services import Services

MAX_FILES, MAX_LINES, MAX_VALUE = 12, 2000, 200
# An expression, up to the comma or bracket that ends it.
VALUE = r"""((?:"[^"\n]*"|'[^'\n]*'|`[^`\n]*`|[^,}"'`\n])+)"""
RUNNER = r"(?:^|/)(?:playwright|cypress|wdio|nightwatch|codecept)[\w.-]*\.(?:[cm]?[jt]s|json)$"
# Names of files, and the line in them that has the address.
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
SETUP_FILES = re.compile(
    r"(?:^|/)(?:[\w-]+\.setup\.[cm]?[jt]s|global-?setup\.[cm]?[jt]s|conftest\.py)$"
    r"|(?:^|/)cypress/support/[\w./-]+$"
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
PAGES = re.compile(r"\.(?:tsx|jsx|vue|svelte|astro|erb|cshtml|razor|blade\.php|twig)$")
COMMENT = re.compile(r"\s*(?://|#|\*|/\*|;)")


def base_url(services: Services, evidence: Evidence) -> str:
    """The application's address in the tests' configuration, with its place; empty if unknown."""
    for names, pattern in ADDRESSES:
        for path in _nearest(services.tree, names, evidence):
            for number, line in _lines(services.tree, path):
                match = pattern.search(line)
                if match and "@" not in match[1]:  # an address may have a user and password
                    return f"{_bare(match[1])} ({path}:{number})"
    return ""


def auth_strategy(services: Services, evidence: Evidence) -> str:
    """The line that shows how the tests log in, with its place; empty if unknown."""
    names = re.compile(f"{RUNNER}|{SETUP_FILES.pattern}")
    paths = [*_nearest(services.tree, names, evidence), *(ranked.path for ranked in evidence.tests)]
    for pattern in STRATEGIES:
        for path in dict.fromkeys(paths):
            for number, line in _lines(services.tree, path):
                if match := pattern.search(line):
                    return f"{_bare(match[1])} ({path}:{number})"
    return ""


def has_pages(services: Services, evidence: Evidence) -> bool:
    """Whether the project is tested in a browser, or the feature has pages or components."""
    if any(PAGES.search(ranked.path) for ranked in (*evidence.files, *evidence.tests)):
        return True
    return any(re.search(RUNNER, path) for path in services.tree.files)


def test_folders(evidence: Evidence) -> list[str]:
    """The folders of the feature's tests, best first; a folder covers those inside it."""
    folders = [os.path.dirname(ranked.path) for ranked in evidence.tests]  # noqa: PTH120 - posix
    outer = [
        f for f in dict.fromkeys(folders) if not any(f.startswith(f"{other}/") for other in folders)
    ]
    return [folder or "." for folder in outer]


def _nearest(tree: Tree, names: re.Pattern[str], evidence: Evidence) -> list[str]:
    """The files with these names, nearest to the feature's tests first."""
    tests = [PurePosixPath(ranked.path).parts[:-1] for ranked in evidence.tests]

    def distance(path: str) -> tuple[int, int, str]:
        folders = PurePosixPath(path).parts[:-1]
        return -max((_shared(folders, test) for test in tests), default=0), len(folders), path

    return sorted(filter(names.search, tree.files), key=distance)[:MAX_FILES]


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many leading folders two paths share."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


def _lines(tree: Tree, path: str) -> Iterator[tuple[int, str]]:
    lines: Iterable[str] = (tree.lines(path) or ())[:MAX_LINES]
    return ((n, line[:MAX_LINES]) for n, line in enumerate(lines, 1) if not COMMENT.match(line))


def _bare(value: str) -> str:
    """A value without its quotes, cut to the length of a line in the prompt."""
    value = value.strip().rstrip(",;").strip()
    plain = re.fullmatch(r"""(["'`])([^"'`]*)\1""", value)
    return (plain[2] if plain else value)[:MAX_VALUE]
