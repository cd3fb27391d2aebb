"""What no test holds: the sources that prove it, few and short."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from preread.evidence.view import FileView, View
from preread.languages import language_of
from preread.models import Finding
from preread.sources import Ref

MOST_GLOBS = 3
# A test of another language cannot be expected to name a symbol of this one, but may well show its messages.
KIN = ({"JavaScript", "TypeScript", "TSX", "Vue", "Svelte"}, {"Java", "Kotlin"}, {"C", "C++"})
TEST_FOLDER = re.compile(
    r"(?i)(unit|integration|e2e|functional)?[-_]?(__)?(tests?|testing|specs?|e2e|cypress|playwright)(__)?"
)
TEST_NAMES = (
    "test_*.py",
    "*_test.py",
    "*.spec.ts",
    "*.spec.tsx",
    "*.test.ts",
    "*.test.tsx",
    "*.test.js",
    "*.spec.js",
    "*_test.go",
    "*_spec.rb",
    "*Test.java",
)


@lru_cache(maxsize=16)
def test_globs(paths: tuple[str, ...]) -> list[str]:
    """Few globs that together match every one of these test files."""
    left, globs = list(paths), []
    tops: dict[str, int] = {}
    for path in left:
        folders = path.split("/")[:-1]
        depth = next((depth for depth, name in enumerate(folders[:3], 1) if _is_of_tests(name)), 0)
        if depth:
            tops["/".join(folders[:depth])] = tops.get("/".join(folders[:depth]), 0) + 1
    for top, _ in sorted(tops.items(), key=lambda item: -item[1]):
        if any(path.startswith(f"{top}/") for path in left):
            globs.append(f"{top}/**")
            left = [path for path in left if not path.startswith(f"{top}/")]
    for name in TEST_NAMES:
        if any(_is_named(path, name) for path in left):
            globs.append(f"**/{name}")
            left = [path for path in left if not _is_named(path, name)]
    return globs + left


@lru_cache(maxsize=16)
def _cited(paths: tuple[str, ...], near: tuple[str, ...]) -> list[str]:
    """The globs that a fact names: those for the tests near the feature, by their folders or by how they are called."""
    globs = test_globs(paths)
    if len(globs) > MOST_GLOBS:
        suffixes = {path.rpartition(".")[2] for path in near}
        named = [f"**/{name}" for name in TEST_NAMES if name.rpartition(".")[2] in suffixes]
        globs = [glob for glob in named if any(_is_named(path, glob[3:]) for path in near)] or globs
    held = [glob for glob in globs if any(path == glob or _is_under(path, glob) for path in near)]
    return (held or globs)[:2]


def _is_under(path: str, glob: str) -> bool:
    return path.startswith(glob[:-2]) if glob.endswith("/**") else _is_named(path, glob.rpartition("/")[2])


@lru_cache(maxsize=1024)
def _is_of_tests(folder: str) -> bool:
    return bool(TEST_FOLDER.fullmatch(folder))


def _is_named(path: str, pattern: str) -> bool:
    return fnmatchcase(path.rpartition("/")[2], pattern)


def tests_for(view: View, file: FileView) -> list[str]:
    """The project's tests that could name this file's symbols."""
    language = language_of(file.path)
    mine = language.name if language else ""
    kin = next((group for group in KIN if mine in group), {mine})
    return [p for p in view.test_paths if (other := language_of(p)) is not None and other.name in kin]


def absent(view: View, literal: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Sources for that none of these tests holds a text, all of which are read; none when one does."""
    if not paths or '"' in literal or "`" in literal or "\n" in literal:
        return ()
    globs = _cited(tuple(paths), tuple(file.path for file in view.tests[:3] if file.role == "test"))
    if not globs or any(set("~,") & set(glob) for glob in globs):
        return ()
    matched = {p for glob in globs for p in view.services.tree.matching(glob)}
    return () if view.holds(literal, sorted(matched.union(paths))) else proof(globs, literal)


def proof(globs: Sequence[str], literal: str) -> tuple[str, ...]:
    return tuple(str(Ref("absent", glob, name=literal)) for glob in globs)


def absent_shortly(view: View, literal: str, paths: Sequence[str], least: int = 12) -> tuple[str, ...]:
    """Sources for that no test holds a text, by as few of its first words as no test holds."""
    parts = literal.split(" ")
    for n in range(2, len(parts)):
        short = " ".join(parts[:n])
        if len(short) >= least and (found := absent(view, short, paths)):
            return found
        if len(short) > 40:
            break
    return absent(view, literal, paths)


def gap(rule: str, text: str, sources: Sequence[str], reason: str, score: float) -> Finding:
    return Finding(
        rule=rule, kind="gap", text=text, sources=tuple(dict.fromkeys(sources)), reason=reason, score=round(score, 3)
    )
