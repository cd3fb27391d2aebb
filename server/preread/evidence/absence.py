"""Prove that no test mentions a text, with globs that cover every test."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preread.dossier.sources import Ref
from preread.evidence.view import View
from preread.index import words
from preread.project.globs import glob_pattern

MAX_GLOBS = 3  # globs in the proof of one fact
MAX_TRIED = 60  # globs, the widest first
MAX_SOURCES = 100  # with all words of a text; if more have them, no absence is claimed
MAX_READ = 60_000_000  # bytes of tests; with more, no absence is claimed
ODD = re.compile(r"[~,`\"*?()<>]")  # characters of paths that a glob or source cannot contain
DELETED = bytes(c for c in range(128) if not chr(c).isalnum())
# Files next to tests that may be their inputs or expected outputs.
INPUTS = re.compile(
    r"(?:^|/)t/|test|spec|e2e|fixture|snap|mock|stub|cassette|golden|example|feature|cypress"
    r"|playwright",
    re.IGNORECASE,
)
FOR_TESTS = frozenset({"test", "tests", "testing"})  # words in the names of what tests use
FOLDERS = FOR_TESTS | {"spec", "specs", "e2e", "step", "steps", "stories"}
DOCTESTED = re.compile(r">>>|^```\s*rust|testcode", re.MULTILINE)  # of documents


class _Texts(NamedTuple):
    """The letters and digits of all files that exist only for tests."""

    squashed: bytes
    large: tuple[str, ...]  # files too large to keep in memory


def absent(view: View, literal: str, *spellings: str) -> tuple[str, ...]:
    """Sources proving that no test mentions a text in any spelling; empty if one may."""
    globs = view.once(_globs)
    if not globs or ODD.search(literal.replace("(", "").replace(")", "")) or "\n" in literal:
        return ()
    if any(_may_be_in_tests(view, text) for text in (literal, *spellings)):
        return ()
    return tuple(str(Ref("absent", glob, name=literal)) for glob in globs)


def _may_be_in_tests(view: View, text: str) -> bool:
    texts = view.once(_texts)
    return (
        texts is None
        or _squash(text.encode()) in texts.squashed
        or view.services.tree.containing(text, texts.large) is not None
        or _may_be_in_sources(view, text)
    )


# -- the globs


def _globs(view: View) -> tuple[str, ...]:
    """Few globs that together match every test and what supports them, and no other source."""
    left = view.paths_of("test", "support")
    sources, found = view.paths_of("source"), list[str]()
    while left and len(found) < MAX_GLOBS:
        counts = Counter(glob for path in left for glob in _globs_of(path))
        tried = [glob for glob, _ in counts.most_common(MAX_TRIED)]
        best = next((glob for glob in tried if _is_sound(glob, sources)), "")
        if not best:
            return ()
        found.append(best)
        matches = glob_pattern(best).fullmatch
        left = [path for path in left if not matches(path)]
    return () if left else tuple(found)


def _is_sound(glob: str, sources: Sequence[str]) -> bool:
    """Whether a glob can be written in a source and matches no file that is not for tests."""
    matches = glob_pattern(glob).fullmatch
    return not ODD.search(glob.replace("*", "")) and not any(map(matches, sources))


def _globs_of(path: str) -> Iterator[str]:
    """Globs by a folder of the path, by a folder of that name anywhere, or by the file's name."""
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
    tree, paths = view.services.tree, _paths(view)
    if sum(tree.files[path].st_size for path in paths) > MAX_READ:
        return None
    read = {path: tree.data(path) for path in paths}
    squashed = b"\0".join(_squash(data) for data in read.values() if data is not None)
    return _Texts(squashed, tuple(path for path, data in read.items() if data is None))


def _paths(view: View) -> list[str]:
    """The tests, what supports them, and files that may be their inputs or expected outputs."""
    tree, sources = view.services.tree, set(view.paths_of("source"))
    tests = set(view.paths_of("test", "support"))
    tests.update(*map(tree.matching, view.once(_globs)))
    return [p for p in tree.files if p in tests or (p not in sources and INPUTS.search(p))]


def _squash(data: bytes) -> bytes:
    """Only letters and digits, in lower case: `dry_run`, `--dry-run` and `DryRun` are equal."""
    return data.lower().translate(None, DELETED)


def _may_be_in_sources(view: View, text: str) -> bool:
    """Whether tests inside sources or documents may have it: unit tests beside code, doctests."""
    paths = view.candidates(text, ("source",))
    found = (file for file in map(view.any_file, paths) if text in file.text)
    if len(paths) > MAX_SOURCES or any(is_for_tests(f.path) or text in f.tests_text for f in found):
        return True
    documents = (view.any_file(path).text for path in view.candidates(text, ("doc",)))
    return any(text in found and DOCTESTED.search(found) for found in documents)


def is_for_tests(path: str) -> bool:
    """Whether a source exists only for tests, as `src/test_helpers/client.rs` does."""
    folder, _, name = path.rpartition("/")
    return not (FOLDERS.isdisjoint(words.parts(folder)) and FOR_TESTS.isdisjoint(words.parts(name)))
