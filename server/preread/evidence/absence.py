"""Prove that no test mentions a text, with globs that cover every test."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preread.evidence.view import View
from preread.index import words
from preread.project.tree import glob_pattern
from preread.sources import Ref

MAX_GLOBS = 3  # globs in the proof of one fact
MAX_TRIED = 60  # globs, the widest first
MAX_READ = 60_000_000  # bytes of tests; with more, no absence is claimed
ODD = re.compile(r"[~,`\"*?()<>]")  # characters of paths that a glob or source cannot contain
DELETED = bytes(c for c in range(128) if not chr(c).isalnum())
# Files next to tests that may be their inputs or expected outputs.
INPUTS = re.compile(
    r"(?:^|/)t/|test|spec|e2e|fixture|snap|mock|stub|cassette|golden|example|feature|cypress"
    r"|playwright",
    re.IGNORECASE,
)
FOR_TESTS = frozenset(
    "test tests testing spec specs e2e step steps stories".split()
)  # words of paths
DOCTEST = re.compile(r"\s*(?:>>>|\.\.\.|iex>|///|//!)")  # source lines that run as tests
DOCTESTED = re.compile(r">>>|^```\s*rust|testcode", re.MULTILINE)  # of documents
UNIT_TESTS = re.compile(r"\s*(?:#\[cfg\(.*\btest\b|unittest\b)")  # from here on, of Rust or D


class _Texts(NamedTuple):
    """The letters and digits of all files that exist only for tests."""

    squashed: bytes
    large: tuple[str, ...]  # files too large to keep in memory


def absent(view: View, literal: str, *spellings: str) -> tuple[str, ...]:
    """Sources proving that no test mentions a text in any spelling; empty if one may."""
    globs = view.once(_globs)
    if not globs or ODD.search(literal.replace("(", "").replace(")", "")) or "\n" in literal:
        return ()
    texts = view.once(_texts)
    tree = view.services.tree
    for text in (literal, *spellings):
        if texts is None or _squash(text.encode()) in texts.squashed:
            return ()
        if tree.containing(text, texts.large) is not None or _is_in_sources(view, text):
            return ()
    matched = [path for glob in globs for path in tree.matching(glob)]
    if tree.containing(literal, matched) is not None:
        return ()
    return tuple(str(Ref("absent", glob, name=literal)) for glob in globs)


# -- the globs


def _globs(view: View) -> tuple[str, ...]:
    """Few globs that together match every test and what supports them, and no other source."""
    left = set(view.paths_of("test", "support"))
    sources, found = view.paths_of("source"), list[str]()
    while left and len(found) < MAX_GLOBS:
        counts = Counter(glob for path in left for glob in _globs_of(path))
        tried = (glob for glob, _ in counts.most_common(MAX_TRIED) if not ODD.search(_plain(glob)))
        best = next((glob for glob in tried if not _matches(glob, sources)), "")
        if not best:
            return ()
        found.append(best)
        left = {path for path in left if not _matches(best, [path])}
    return () if left else tuple(found)


def _plain(glob: str) -> str:
    return glob.replace("*", "")


def _matches(glob: str, paths: Sequence[str]) -> bool:
    pattern = glob_pattern(glob)
    return any(pattern.fullmatch(path) for path in paths)


def _globs_of(path: str) -> Iterator[str]:
    """By a folder on the way, wherever one of this name is, or by how the file is called."""
    *folders, name = path.split("/")
    for depth, folder in enumerate(folders, 1):
        yield "/".join(folders[:depth]) + "/**"
        yield f"**/{folder}/**"
    stem, *endings = name.split(".")
    ending = "." + ".".join(endings)
    yield f"**/{name}"
    if len(endings) > 1:  # cart.test.ts
        yield f"**/*{ending}"
        yield f"**/*.{endings[0]}.{endings[1][:2]}*"
    for mark in "_-":
        if mark in stem:  # test_cart.py, cart_test.go
            yield f"**/{stem.partition(mark)[0]}{mark}*{ending}"
            yield f"**/*{mark}{stem.rpartition(mark)[2]}{ending}"
    for hump in re.findall(r"[A-Z][a-z]+", stem):  # CartTest.java, TestBase.java
        yield f"**/*{hump}*{ending}"


# -- the texts


def _texts(view: View) -> _Texts | None:
    """Everything that tests are made of; None if it is too much to read."""
    tree = view.services.tree
    tests, others = set(view.paths_of("test", "support")), set(view.paths_of("source"))
    paths = [p for p in tree.files if p in tests or (p not in others and INPUTS.search(p))]
    if sum(tree.files[path].st_size for path in paths) > MAX_READ:
        return None
    read = {path: tree.data(path) for path in paths}
    squashed = b"\0".join(_squash(data) for data in read.values() if data is not None)
    return _Texts(squashed, tuple(path for path, data in read.items() if data is None))


def _squash(data: bytes) -> bytes:
    """Without letter case and what is between words: `dry_run`, `--dry-run` and `DryRun` alike."""
    return data.lower().translate(None, DELETED)


def _is_in_sources(view: View, text: str) -> bool:
    """Whether tests inside sources or documents have it: unit tests beside the code, doctests."""
    longest = max(words.IDENTIFIER.findall(text), key=len, default="")
    tests = view.once(_tests_in_sources)
    for path in view.candidates(longest, ("source",)):
        if text not in view.any_file(path).text:
            continue
        if path not in tests:  # one file is asked for each of a feature's names and messages
            tests[path] = "\n".join(_test_lines(view, path))
        if _is_for_tests(path) or text in tests[path]:
            return True
    documents = (view.any_file(path).text for path in view.candidates(longest, ("doc",)))
    return any(text in found and DOCTESTED.search(found) for found in documents)


def _tests_in_sources(_view: View) -> dict[str, str]:
    """By path, the lines of a source that are tests; filled with what is asked for."""
    return {}


def _is_for_tests(path: str) -> bool:
    return not FOR_TESTS.isdisjoint(words.parts(path))


def _test_lines(view: View, path: str) -> Iterator[str]:
    """The lines of a source that are tests."""
    file = view.any_file(path)
    spans = [(test.start, test.end) for test in file.outline.tests]
    below = False
    for number, line in enumerate(file.lines, 1):
        below = below or UNIT_TESTS.match(line) is not None
        if below or DOCTEST.match(line) or any(start <= number <= end for start, end in spans):
            yield line
